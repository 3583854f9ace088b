"""The trace of a record: every node that it came to, with what each was given and what it gave, as a tree."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from millstream.streams.processor import Headers

_LOGGER = logging.getLogger("millstream.streams.trace")


@dataclass(frozen=True, slots=True)
class TracedRow:
    """One row as a node was given it."""

    key: object
    value: object
    timestamp: int
    headers: Headers = ()

    def __str__(self) -> str:
        headers = f" headers {dict(self.headers)!r}" if self.headers else ""
        return f"{self.key!r}: {self.value!r} @{self.timestamp}{headers}"


@dataclass(slots=True)
class TraceStep:
    """One visit of a node: the row that came in, and the visits of its children that followed.

    `error`: what the node, or a sink below it, raised. `is_last`: the node has no children.
    """

    node: str
    row: TracedRow
    is_last: bool
    steps: list[TraceStep] = field(default_factory=list)
    error: str | None = None

    @property
    def gave(self) -> dict[str, list[TracedRow]]:
        """The rows that the node gave while the record was traced, by child."""
        given: dict[str, list[TracedRow]] = {}
        for step in self.steps:
            given.setdefault(step.node, []).append(step.row)
        return given

    def lines(self, depth: int = 0) -> Iterator[str]:
        """Yields the visit and those below it, each a line, indented by depth."""
        end = ""
        if self.error is not None:
            end = f" ! {self.error}"
        elif not self.steps and not self.is_last:
            end = " -> nothing"
        yield f"{'  ' * depth}{self.node}  {self.row}{end}"
        for step in self.steps:
            yield from step.lines(depth + 1)


@dataclass(slots=True)
class RecordTrace:
    """The way of one record through a sub-topology.

    `str` is an indented tree, a line for each node that was visited.
    """

    task_id: str
    topic: str
    partition: int
    offset: int
    root: TraceStep | None = None

    def __str__(self) -> str:
        place = f"{self.topic}-{self.partition} offset {self.offset} (task {self.task_id})"
        return "\n".join((place, *(() if self.root is None else self.root.lines(1))))

    def visits(self) -> list[TraceStep]:
        """Returns every visit of a node, in order."""
        found: list[TraceStep] = []
        waiting = [] if self.root is None else [self.root]
        while waiting:
            step = waiting.pop()
            found.append(step)
            waiting.extend(reversed(step.steps))
        return found

    def visit(self, node: str) -> TraceStep:
        """Returns the first visit of a node. Raises LookupError where the record never came to it."""
        for step in self.visits():
            if step.node == node:
                return step
        raise LookupError(f"the record did not come to {node}; its trace is\n{self}")


OnTrace = Callable[[RecordTrace], object]
"""Called with each trace when its record is through, or has failed."""


def log_trace(trace: RecordTrace) -> None:
    """Logs a trace on one line, to the logger `millstream.streams.trace`."""
    _LOGGER.info("%s", str(trace).replace("\n", " | "))
