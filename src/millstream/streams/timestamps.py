"""Timestamp extractors: which time a record has, in milliseconds. A negative result drops the record.

An extractor is any function `(record, partition_time) -> int`; the ones here are Kafka Streams' own. Reads no clock:
the task says what time it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Protocol

from millstream.streams.errors import StreamsError


@dataclass(slots=True)
class ConsumedRecord:
    """A record as read from its topic, before it has a time of its own.

    `timestamp` is the one in the log, -1 without one. `wall_clock_ms` is the task's clock when the record was read.
    """

    topic: str
    partition: int
    offset: int
    timestamp: int
    key: Any  # Any: user types
    value: Any  # Any: user types
    headers: tuple[tuple[str, bytes | None], ...] = ()
    wall_clock_ms: int = 0


class TimestampExtractor(Protocol):
    """`partition_time` is the largest timestamp seen in the partition so far, -1 at first."""

    def __call__(self, record: ConsumedRecord, partition_time: int, /) -> int: ...


def fail_on_invalid(record: ConsumedRecord, _partition_time: int) -> int:
    """Returns the record's own timestamp; a negative one stops the task (the default)."""
    if record.timestamp < 0:
        raise StreamsError(
            f"{record.topic}-{record.partition} offset {record.offset} has no valid timestamp "
            f"({record.timestamp}): the producer is too old, or choose another timestamp extractor"
        )
    return record.timestamp


def log_and_skip(record: ConsumedRecord, _partition_time: int) -> int:
    """Returns the record's own timestamp; a record with a negative one is dropped."""
    return record.timestamp


def use_partition_time(record: ConsumedRecord, partition_time: int) -> int:
    """Returns the record's own timestamp, or the partition time where it is negative."""
    if record.timestamp >= 0:
        return record.timestamp
    if partition_time < 0:
        raise StreamsError(
            f"{record.topic}-{record.partition} offset {record.offset} has no valid timestamp "
            "and no record before it has one"
        )
    return partition_time


def wallclock(record: ConsumedRecord, _partition_time: int) -> int:
    """Returns the time at which the task reads the record, whatever the record says: processing time."""
    return record.wall_clock_ms


OWN_TIMESTAMP: Final = (fail_on_invalid, log_and_skip, use_partition_time)
"""Extractors that leave records alone whose own timestamp is not negative."""
