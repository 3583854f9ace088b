"""Limits what a micro-batch reads, and shares it among partitions.

Rows of a DataFrame are shared in proportion to what lies there, as Spark's Kafka connector does: so the partitions of a topic
come forward in event time together, as a watermark over all of them needs it.
The topics of a task are read up to the same time. A join would otherwise meet a sparse topic hours before the dense one that it
belongs to, and take the records of the dense one for late when they come.

Pure: offsets and times come in through functions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from millstream.model import Offset, TopicPartition
from millstream.spark.offsets import Offsets, advanced

SAMPLE_OFFSETS: Final = 64
"""So many offsets before the end of a share say which time it reaches: a single record might be a late one."""


class Sample(NamedTuple):
    """Offsets from `start` to before `end`; where they hold no record, the first one before `available`."""

    start: Offset
    end: Offset
    available: Offset


class Later(NamedTuple):
    """Asks for the first record later than `time` among the offsets from `start` to before `end`."""

    time: int
    start: Offset
    end: Offset


TimesAt = Callable[[Mapping[TopicPartition, Sample]], Mapping[TopicPartition, int]]
"""The latest timestamp in each sample; left out where there is none."""
OffsetsAfter = Callable[[Mapping[TopicPartition, Later]], Mapping[TopicPartition, Offset]]
"""For each partition the offset of the record that is asked for; left out where there is none."""


def in_proportion(
    start: Offsets, available: Offsets, records_max: int | None
) -> dict[TopicPartition, Offset]:
    """Each partition with a backlog gets its share of `records_max`, and at least one record."""
    end = advanced(start, available)
    backlog = _backlog(start, end)
    total = sum(backlog.values())
    if records_max is None or total <= records_max:
        return end
    for partition, size in backlog.items():
        share = max(1, records_max * size // total)
        end[partition] = Offset(start.get(partition, Offset(0)) + share)
    return end


def in_time(
    start: Offsets,
    available: Offsets,
    records_max: int | None,
    times_at: TimesAt,
    offsets_after: OffsetsAfter,
    *,
    is_one_slice: bool = False,
) -> dict[TopicPartition, Offset]:
    """`fair_shares`, but the partitions of equal number are read no further than to the same time; with `is_one_slice` all of them."""
    full = advanced(start, available)
    end = fair_shares(start, available, records_max)
    groups = _together(_backlog(start, full), is_one_slice=is_one_slice)
    together = {n: mine for n, mine in groups.items() if len(mine) > 1}
    cut = [tp for mine in together.values() for tp in mine if end[tp] < full[tp]]
    times = times_at(
        {
            tp: Sample(Offset(max(start.get(tp, 0), end[tp] - SAMPLE_OFFSETS)), end[tp], full[tp])
            for tp in cut
        }
    )
    last: dict[int, TopicPartition] = {}
    for tp in sorted(times, key=lambda tp: (times[tp], tp)):
        last.setdefault(0 if is_one_slice else tp.partition, tp)
    others = {
        tp: Later(times[slowest], start.get(tp, Offset(0)), end[tp])
        for number, slowest in last.items()
        for tp in together[number]
        if tp != slowest
    }
    end.update(offsets_after(others))
    return end


def with_heads(start: Offsets, available: Offsets, end: Offsets) -> dict[TopicPartition, Offset]:
    """The same, with the first record of every partition that has one: its time says that it is not what others wait for."""
    return {
        tp: Offset(start[tp] + 1) if offset == start.get(tp) and available[tp] > offset else offset
        for tp, offset in end.items()
    }


def fair_shares(
    start: Offsets, available: Offsets, records_max: int | None
) -> dict[TopicPartition, Offset]:
    """The end offsets of a micro-batch of at most `records_max` records: a fair share for each partition.

    The share is max-min fair: partitions with a small backlog are read to their end, and what they leave is shared by the
    others. Every partition with a backlog gets at least one record, whatever the limit.
    """
    end = advanced(start, available)
    if records_max is None:
        return end
    backlog = _backlog(start, end)
    remaining = records_max
    for count, partition in enumerate(sorted(backlog, key=lambda p: (backlog[p], p))):
        share = max(1, min(backlog[partition], remaining // (len(backlog) - count)))
        end[partition] = Offset(start.get(partition, Offset(0)) + share)
        remaining = max(0, remaining - share)
    return end


def _backlog(start: Offsets, end: Offsets) -> dict[TopicPartition, int]:
    return {
        partition: size
        for partition in end
        if (size := end[partition] - start.get(partition, Offset(0))) > 0
    }


def _together(
    backlog: Mapping[TopicPartition, int], *, is_one_slice: bool
) -> dict[int, list[TopicPartition]]:
    """Returns the partitions that are read to the same time, by their number; under 0 all of them where they are one slice."""
    numbers: dict[int, list[TopicPartition]] = {}
    for partition in backlog:
        numbers.setdefault(0 if is_one_slice else partition.partition, []).append(partition)
    return numbers
