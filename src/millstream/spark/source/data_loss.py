"""The answer to records that are gone before a query has read them: `failOnDataLoss`. Pure.

A loss is found when a micro-batch is planned, or when its range is read. The rules are the same: `fail` ends the query;
`earliest` goes on with the first record that is left, though it may have been read before; `latest` goes on at the end
of the log; `skip` goes on behind what is gone and reads no offset twice.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Final, NamedTuple

from millstream.errors import ConfigError
from millstream.model import Offset, TopicPartition, Uuid
from millstream.streams.runtime.errors import DataLoss

_WAY_OUT: Final = "Set failOnDataLoss=earliest, latest or skip to go on"


class DataLossPolicy(Enum):
    """The place where a query goes on when records are gone."""

    FAIL = "fail"
    EARLIEST = "earliest"
    LATEST = "latest"
    SKIP = "skip"


def parse_data_loss(text: str) -> DataLossPolicy:
    """`true` and `false` are those of Spark's connector. Raises ConfigError."""
    word = text.strip().lower()
    try:
        return _OF_SPARK.get(word) or DataLossPolicy(word)
    except ValueError:
        raise ConfigError(
            f"failOnDataLoss must be true or fail, false or earliest, latest, or skip, not {text!r}"
        ) from None


_OF_SPARK: Final = {"true": DataLossPolicy.FAIL, "false": DataLossPolicy.EARLIEST}


class LogBounds(NamedTuple):
    """The first offset that is in a log, and the next one that will be written."""

    first: Offset
    end: Offset


class Loss(NamedTuple):
    """`records` is how many offsets are gone, None where that cannot be known;
    `next_offset` is where the query goes on.
    """

    partition: TopicPartition
    what: str
    records: int | None
    next_offset: Offset


def position_loss(
    partition: TopicPartition, position: Offset, log: LogBounds, policy: DataLossPolicy
) -> Loss | None:
    """Returns the loss where the next offset to read is not in the log, None where it is.

    Raises DataLoss if the policy is to fail.
    """
    if log.first <= position <= log.end:
        return None
    is_latest = policy is DataLossPolicy.LATEST
    if position < log.first:
        what = (
            f"offsets {position} to {log.first} of {partition} are not in the log, which holds {log.first} to {log.end}: "
            "retention or a delete was faster than the query"
        )
        resumed = log.end if is_latest else log.first
        loss = Loss(partition, what, log.first - position, resumed)
    else:
        what = f"{partition} was read up to offset {position} and now ends at {log.end}: it was deleted or cut"
        resumed = log.first if policy is DataLossPolicy.EARLIEST else log.end
        loss = Loss(partition, what, None, resumed)
    return allowed(loss, policy)


def range_loss(
    partition: TopicPartition, start: Offset, end: Offset, log: LogBounds, policy: DataLossPolicy
) -> Loss | None:
    """The same for a range whose end is in the checkpoint.

    `next_offset` is where reading it goes on, and `end` if nothing of it is read.
    """
    if start > end:  # planned when the log had been cut
        return position_loss(partition, start, LogBounds(log.first, end), policy)
    if start == end or (log.first <= start and end <= log.end):
        return None
    left_start = max(start, log.first)
    is_nothing_left = policy is DataLossPolicy.LATEST or left_start >= end or left_start >= log.end
    lost = max(0, min(end, log.first) - start) + max(0, end - max(start, log.end))
    loss = Loss(
        partition,
        f"offsets {start} to {end} of {partition} are not all in the log, which holds {log.first} to {log.end}: retention or a delete "
        "was faster than the query",
        lost,
        end if is_nothing_left else left_start,
    )
    return allowed(loss, policy)


def made_anew(former: Mapping[str, str], ids: Mapping[str, Uuid]) -> set[str]:
    """The topics that have another id than they had: what was read of them is not what is there."""
    return {name for name, id_ in former.items() if name in ids and str(ids[name]) != id_}


def recreation_loss(
    partition: TopicPartition, former_id: str, new_id: str, log: LogBounds, policy: DataLossPolicy
) -> Loss:
    """A topic that was deleted and created anew: what was unread of the old one is gone, and offsets of it
    mean nothing in the new one.
    """
    what = f"topic {partition.topic} was deleted and created anew (id {former_id}, now {new_id})"
    resumed = log.end if policy is DataLossPolicy.LATEST else log.first
    return allowed(Loss(partition, what, None, resumed), policy)


def allowed(loss: Loss, policy: DataLossPolicy) -> Loss:
    """Raises DataLoss if the policy is to fail."""
    if policy is DataLossPolicy.FAIL:
        raise DataLoss(f"{loss.what}. {_WAY_OUT}, or start with a new checkpoint")
    return loss
