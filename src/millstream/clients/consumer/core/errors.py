"""Errors of a consumer besides those of the broker: wrong use, interrupted calls, positions that cannot be kept."""

from __future__ import annotations

from millstream.clients.core.values import OffsetAndMetadata
from millstream.errors import CorruptMessage, KafkaError, MillstreamError, OffsetOutOfRange
from millstream.model import TopicPartition


class WakeupError(MillstreamError):
    """`wakeup()` ended a call that was waiting. Nothing is lost: call it again."""


class CommitFailed(KafkaError):
    """The group went on without this member: the member that has its partitions now reads these records again."""


class NoOffsetForPartition(OffsetOutOfRange):
    """A partition without a committed offset, and auto_offset_reset is none."""


class LogTruncation(OffsetOutOfRange):
    """The log was cut below the position, by an unclean election, and auto_offset_reset is none (KIP-320).

    What lay between `diverging.offset` and `offset` was read, and is gone or replaced. Seek to say where to go on.
    """

    def __init__(
        self,
        topic_partition: TopicPartition,
        offset: int,
        diverging: OffsetAndMetadata | None,
    ) -> None:
        """`diverging` is where the leader's log and ours part; None when the leader does not know."""
        known = f"differs from offset {diverging.offset} on" if diverging else "is another one"
        super().__init__(
            f"{topic_partition}: the log {known}, while the position is {offset}, and auto_offset_reset is none;"
            " seek to where to go on"
        )
        self.topic_partition = topic_partition
        self.offset = offset
        self.diverging = diverging


class TopicDeleted(MillstreamError):
    """The topic that a call is about was deleted meanwhile. One that was made anew under its name is another topic."""


class CorruptBatch(CorruptMessage):
    """A batch that cannot be read. The position stays before it; seek to `next_offset` to go on behind it."""

    def __init__(
        self, topic_partition: TopicPartition, offset: int, next_offset: int, why: str
    ) -> None:
        super().__init__(
            f"{topic_partition}: the batch at offset {offset} is broken ({why});"
            f" seek to {next_offset} to go on behind it"
        )
        self.topic_partition = topic_partition
        self.offset = offset
        self.next_offset = next_offset
