"""The position of a task: the input that its last commit covers.

A task with stores keeps its position in them, in the same write as their rows. A task without stores keeps it in a file of
its own, so that it does not repeat what it has written either.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from socket import gethostname

from millstream.errors import MillstreamError
from millstream.spark.coverage import Coverage
from millstream.streams.kernel.task.stream_task import StreamTask


class StoreOutOfDate(MillstreamError):
    """The stores of a task lack records that were counted elsewhere."""


@dataclass(frozen=True, slots=True)
class Position:
    """`offsets`: the next one to process, by input topic. `seen`: see `origin`, by repartition topic.

    `times`: by input topic, the largest timestamp so far; the task of the next micro-batch goes on with them.
    `changelogs`: by changelog topic, an offset that it ends behind, as long as it is the one that was written.
    """

    offsets: Mapping[str, int] = field(default_factory=dict)
    seen: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    times: Mapping[str, int] = field(default_factory=dict)
    changelogs: Mapping[str, int] = field(default_factory=dict)

    def encode(self) -> str:
        return json.dumps(asdict(self), separators=(",", ":"))

    @classmethod
    def decode(cls, text: str) -> Position:
        return cls(**json.loads(text))


def require_continuation(
    position: Position, coverage: Coverage, task_id: str, directory: str
) -> None:
    """Raises StoreOutOfDate where the stores have not counted what lies before the micro-batch.

    Stores that are ahead are good: a repeated micro-batch passes over what they have counted.
    """
    for topic, (start, _) in coverage.items():
        counted = position.offsets.get(topic)
        if counted is not None and counted < start:
            raise StoreOutOfDate(
                f"the stores of task {task_id} in {directory} on {gethostname()} have counted topic {topic} up to offset "
                f"{counted}, and this micro-batch begins at {start}: the records between were counted in another directory, "
                "by another executor with a disk of its own, or these stores are an old copy, or the checkpoint is new and retention "
                "took them. Counting on would give wrong results. Let all executors share one directory, or run one executor. "
                f"To go on, stop the query and delete {directory}/{task_id}: its stores are then restored from their changelogs"
            )


def stored_position(task: StreamTask, file: Path) -> Position | None:
    """None for a task that has never committed here."""
    if task.stores:
        markers = (task.store_marker(store) for store in task.stores)
        known = next((marker for marker in markers if marker is not None), None)
        return None if known is None else Position.decode(known)
    return Position.decode(file.read_text()) if file.exists() else None


def commit(task: StreamTask, position: Position, file: Path) -> None:
    """The stores' writes and the position, in one step that a crash cannot divide."""
    if task.stores:
        task.commit(marker=position.encode())
        return
    file.parent.mkdir(parents=True, exist_ok=True)
    written = file.with_suffix(".new")
    written.write_text(position.encode())
    written.replace(file)
