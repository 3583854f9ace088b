"""Timestamp extractors: which time a record has. A negative result drops the record (S16)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from millstream.streams.errors import StreamsError


@dataclass(slots=True)
class ConsumedRecord:
    """A record as read from its topic, before it has a time of its own."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    key: object
    value: object


class TimestampExtractor(Protocol):
    """`partition_time` is the largest timestamp seen in the partition so far, -1 at first."""

    def __call__(self, record: ConsumedRecord, partition_time: int, /) -> int: ...


def fail_on_invalid(record: ConsumedRecord, _partition_time: int) -> int:
    """The record's own timestamp; a negative one stops the task (the default)."""
    if record.timestamp < 0:
        raise StreamsError(
            f"{record.topic}-{record.partition} offset {record.offset} has no valid timestamp "
            f"({record.timestamp}): the producer is too old, or choose another timestamp extractor"
        )
    return record.timestamp


def log_and_skip(record: ConsumedRecord, _partition_time: int) -> int:
    """The record's own timestamp; a record with a negative one is dropped."""
    return record.timestamp


def use_partition_time(record: ConsumedRecord, partition_time: int) -> int:
    """The record's own timestamp, or the partition time where it is negative."""
    if record.timestamp >= 0:
        return record.timestamp
    if partition_time < 0:
        raise StreamsError(
            f"{record.topic}-{record.partition} offset {record.offset} has no valid timestamp "
            "and no record before it has one"
        )
    return partition_time
