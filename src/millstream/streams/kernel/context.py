"""What operators may know of the records they are processing, and where they count what they drop."""

from __future__ import annotations

from collections.abc import Sequence

from millstream.streams.config import StreamsConfig
from millstream.streams.options import RecordContext


class TaskContext:
    """One per task. `offsets` are those of the run being processed; a row's ordinal finds its own."""

    __slots__ = (
        "config",
        "dropped_records",
        "node",
        "offsets",
        "partition",
        "stream_time",
        "topic",
        "wall_clock_ms",
    )

    def __init__(self, config: StreamsConfig, partition: int) -> None:
        self.config = config
        self.partition = partition
        self.topic: str | None = None
        self.offsets: Sequence[int] = ()
        self.stream_time = -1
        self.wall_clock_ms = 0
        self.dropped_records = 0
        self.node = ""

    def record_context(
        self, ordinal: int, timestamp: int, headers: tuple[tuple[str, bytes | None], ...]
    ) -> RecordContext:
        """The origin of the row with this ordinal."""
        return RecordContext(self.topic, self.partition, self.offsets[ordinal], timestamp, headers)
