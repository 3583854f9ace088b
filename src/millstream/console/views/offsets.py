"""The range of offsets of a partition, as far as its leader answered."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from millstream.clients import OffsetAndTimestamp
from millstream.errors import KafkaError
from millstream.model import TopicPartition

Offsets = Mapping[TopicPartition, OffsetAndTimestamp | KafkaError]
"""An answer of `Admin.list_offsets`."""


@dataclass(frozen=True, slots=True)
class PartitionOffsets:
    """None where it is not known; `error` says why. `record_count` is end minus start.

    Compaction and transaction markers leave offsets without a record, so that count is the most there can be.
    """

    start: int | None
    end: int | None
    record_count: int | None
    error: str | None = None


UNKNOWN_RANGE = PartitionOffsets(None, None, None)


def offset_ranges(starts: Offsets, ends: Offsets) -> dict[TopicPartition, PartitionOffsets]:
    """Returns one range for each partition of `starts`."""
    return {partition: _range(starts[partition], ends.get(partition)) for partition in starts}


def known_end(offsets: Offsets, partition: TopicPartition) -> int | None:
    result = offsets.get(partition)
    return result.offset if isinstance(result, OffsetAndTimestamp) else None


def total(counts: Iterable[int | None]) -> int | None:
    """Returns the sum; None when one of them is not known: a sum of some is not the sum."""
    known = 0
    for count in counts:
        if count is None:
            return None
        known += count
    return known


def _range(
    start: OffsetAndTimestamp | KafkaError, end: OffsetAndTimestamp | KafkaError | None
) -> PartitionOffsets:
    if isinstance(start, KafkaError):
        return PartitionOffsets(None, None, None, str(start))
    if end is None or isinstance(end, KafkaError):
        return PartitionOffsets(start.offset, None, None, None if end is None else str(end))
    return PartitionOffsets(start.offset, end.offset, max(0, end.offset - start.offset))
