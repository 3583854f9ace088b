"""What operators may know of the records they are processing, and where they count what they drop."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Sized
from typing import TypeVar

from millstream.streams.config import StreamsConfig
from millstream.streams.kernel.emit_interval import EmitInterval
from millstream.streams.kernel.punctuation import PunctuationQueue, Punctuations
from millstream.streams.options import RecordContext
from millstream.streams.processor import PunctuationType

SizedT = TypeVar("SizedT", bound=Sized)


class TaskContext:
    """One per task. `offsets` are those of the run being processed; a row's ordinal finds its own.

    `node` is the node whose operator is being made. `closers` are called when the task is closed.
    """

    __slots__ = (
        "closers",
        "commit_requested",
        "config",
        "dropped_records",
        "emit_intervals",
        "node",
        "offsets",
        "partition",
        "punctuations",
        "record_headers",
        "record_timestamp",
        "stream_time",
        "task_id",
        "topic",
        "wall_clock_ms",
    )

    def __init__(self, config: StreamsConfig, partition: int, task_id: str) -> None:
        self.config = config
        self.partition = partition
        self.topic: str | None = None
        self.offsets: Sequence[int] = ()
        self.stream_time = -1
        self.wall_clock_ms = 0
        self.dropped_records = 0
        self.node = ""
        self.task_id = task_id
        self.record_timestamp = 0
        self.record_headers: tuple[tuple[str, bytes | None], ...] = ()
        self.commit_requested = False
        self.emit_intervals: dict[str, EmitInterval] = {}
        """Of joins, whose two sides share one, by the name of what they share."""
        self.closers: list[Callable[[], object]] = []
        self.punctuations: Punctuations = {kind: PunctuationQueue() for kind in PunctuationType}

    def counted(self, batch: SizedT, kept: SizedT) -> SizedT:
        """`kept`, after counting as dropped what `batch` had more."""
        self.dropped_records += len(batch) - len(kept)
        return kept

    def record_context(
        self, ordinal: int, timestamp: int, headers: tuple[tuple[str, bytes | None], ...]
    ) -> RecordContext:
        """The origin of the row with this ordinal."""
        return RecordContext(self.topic, self.partition, self.offsets[ordinal], timestamp, headers)
