"""The context of an operator: facts that are fixed, the records being processed, and what it may do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from millstream.streams.config import StreamsConfig
from millstream.streams.dropped_records import DropReason, Lateness
from millstream.streams.handlers import ErrorContext, OutgoingRecord
from millstream.streams.kernel.columns.batch import Batch, Headers
from millstream.streams.kernel.counts import TaskCounts
from millstream.streams.kernel.current_run import CurrentRun
from millstream.streams.kernel.schedule import EmitInterval, Schedule
from millstream.streams.metrics import StreamsMetrics
from millstream.streams.options import RecordContext
from millstream.streams.topology.operators import AsyncCaller, AsyncCalls


@dataclass(frozen=True, slots=True)
class TaskFacts:
    """The facts that do not change while a task runs. `state_dir` is asked for only by processors that write files."""

    config: StreamsConfig
    task_id: str
    is_global: bool
    """Whether the task fills global stores."""
    metrics: StreamsMetrics
    state_dir: Callable[[], str | None]


@dataclass(slots=True)
class TaskParts:
    """The parts of a task that its operators share."""

    facts: TaskFacts
    current: CurrentRun
    counts: TaskCounts
    schedule: Schedule
    closers: list[Callable[[], object]] = field(default_factory=list)
    """Called when the task is closed."""
    async_caller: AsyncCaller | None = None
    emit_intervals: dict[str, EmitInterval] = field(default_factory=dict)
    """Of joins, whose two sides share one, by the name of what they share."""


class NodesBelow(Protocol):
    """The ways of a row outside of `process`: what its node makes of it goes on, or it fails for good."""

    def send_on(self, node: str, given: Batch, made: Batch, /) -> None:
        """Sends what the node makes of a row to its children."""

    def give_up(
        self, node: str, row: Batch, error: Exception, letter: OutgoingRecord | None, /
    ) -> None:
        """Has a row fail; it goes where dead letters of the node go, if it has some."""


class NodeContext:
    """Of the operators of one node in one task."""

    __slots__ = ("_parts", "below", "config", "counts", "current", "facts", "node", "schedule")

    def __init__(self, node: str, parts: TaskParts, below: NodesBelow) -> None:
        self.node = node
        self.below = below
        self.facts = parts.facts
        self.config = parts.facts.config
        self.current = parts.current
        self.counts = parts.counts
        self.schedule = parts.schedule
        self._parts = parts

    def drop(
        self,
        reason: DropReason,
        row: tuple[int, int],
        *,
        records: int = 1,
        late: Lateness | None = None,
    ) -> None:
        """Counts records as dropped. `row` is the ordinal and the timestamp of the first of them."""
        self.counts.dropped.add(self.node, reason, row, records=records, late=late)

    def without(self, reason: DropReason, batch: Batch, kept: Sequence[bool]) -> Batch:
        """Returns the rows that are kept; the others are counted as dropped."""
        rows = batch.where(kept)
        gone = len(batch) - len(rows)
        if gone:
            first = next(row for row, keep in enumerate(kept) if not keep)
            self.drop(reason, (batch.ordinals[first], batch.timestamps[first]), records=gone)
        return rows

    def only_newest(self, batch: Batch) -> Batch:
        """Returns the rows that are the newest versions of theirs; the others are counted as dropped."""
        if batch.newest is None:
            return batch
        return self.without(DropReason.NOT_NEWEST, batch, batch.newest)

    def error_context(self, ordinal: int, timestamp: int, headers: Headers) -> ErrorContext:
        """Returns the place of the row with this ordinal, for a handler of errors."""
        place = self.current.record_context(ordinal, timestamp, headers)
        return error_context(self.node, self.facts.task_id, place)

    def emit_interval(self, shared: str) -> EmitInterval:
        """Returns the pace of a join, whose other side shares it by this name."""
        interval_ms = self.config.join_emit_interval_ms
        return self._parts.emit_intervals.setdefault(shared, EmitInterval(interval_ms))

    def call_at_end(self, close: Callable[[], object]) -> None:
        """Has this called when the task is closed."""
        self._parts.closers.append(close)

    def open_caller(self, calls: AsyncCalls) -> AsyncCaller:
        """Returns what calls async functions for the task, which is made once and closed with it."""
        parts = self._parts
        if parts.async_caller is None:
            parts.async_caller = calls.open(self.facts.task_id)
            self.call_at_end(parts.async_caller.close)
        return parts.async_caller


def error_context(node: str, task_id: str, place: RecordContext) -> ErrorContext:
    """Returns the place of a record at a node, for a handler of errors."""
    return ErrorContext(
        place.topic,
        place.partition,
        place.offset,
        place.headers,
        node,
        task_id,
        place.timestamp,
        place.source_raw_key,
        place.source_raw_value,
    )
