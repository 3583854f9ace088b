"""Finds where the log of a follower leaves that of its leader: the leader says it, the follower cuts there."""

from __future__ import annotations

from millstream.errors import OffsetOutOfRange
from millstream.log.leader_epochs import UNKNOWN_EPOCH, EpochEnd
from millstream.log.partition_log import PartitionLog
from millstream.model import TopicPartition
from millstream.replication.fetch_position import FetchPosition
from millstream.runtime import Instant


def diverging_end(
    partition: TopicPartition, end: EpochEnd, position: FetchPosition
) -> EpochEnd | None:
    """Returns what a leader answers to a reader whose last record is not in its log; None where it is.

    `end` is where the leader's log has the end of the epoch of that record. Raises OffsetOutOfRange
    where it knows none so early.
    """
    if end == UNKNOWN_EPOCH:
        raise OffsetOutOfRange(
            f"{partition} knows no leader epoch up to {position.last_fetched_epoch}"
        )
    if end.epoch < position.last_fetched_epoch or end.end_offset < position.offset:
        return end
    return None


def truncation_offset(diverging: EpochEnd, own: EpochEnd, log_end: int) -> int:
    """Returns where to cut a log that diverges from its leader's (KIP-101, KIP-279).

    `diverging`: the largest epoch the leader knows of those up to ours, and where it ends there. `own`: the
    same epoch, or the next lower one that this log knows, and its end here. Where the epoch is unknown here,
    the next fetch asks with a lower one.
    """
    if own == UNKNOWN_EPOCH:
        return min(diverging.end_offset, log_end)
    if own.epoch != diverging.epoch:
        return min(own.end_offset, log_end)
    return min(own.end_offset, diverging.end_offset, log_end)


def divergence_offset(log: PartitionLog, diverging: EpochEnd) -> int:
    """Returns the offset up to which this log may be the leader's, after it has said that they diverge."""
    end_offset = log.log_end_offset
    own = log.leader_epochs.end_offset(diverging.epoch, end_offset)
    return truncation_offset(diverging, own, end_offset)


def truncate(log: PartitionLog, offset: int, now: Instant) -> None:
    """Cuts the log and its epochs. Raises KafkaStorageError. Waits for the disk."""
    log.truncate_to(offset, now)
    drop_empty_epochs(log)


def drop_empty_epochs(log: PartitionLog) -> None:
    """Forgets an epoch that has no record, begun at the end of the log: it would be asked with again and again."""
    log.leader_epochs.truncate_from_end(log.log_end_offset)
