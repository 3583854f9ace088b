"""Limits what a micro-batch reads, and shares it among partitions.

Rows of a DataFrame are shared in proportion to what lies there, as Spark's Kafka connector does, and all partitions are
then read up to the same time: Spark's watermark is the largest time of all rows so far, behind which what a partition
has left would be late. The topics of a task are read up to the same time. A join would otherwise meet a sparse topic
hours before the dense one that it belongs to, and take the records of the dense one for late when they come.

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


def in_slices(
    start: Offsets,
    available: Offsets,
    records_max: int | None,
    times_at: TimesAt,
    offsets_after: OffsetsAfter,
) -> dict[TopicPartition, Offset]:
    """`in_proportion`, but all partitions are read no further than to the same time.

    A slice of less than half of `records_max` is planned once more, with each partition's share by what the slice has
    of it. Without that, a partition that is far behind the others would catch up by its own small share only.
    """
    limits = in_proportion(start, available, records_max)
    end = time_slice(start, available, limits, times_at, offsets_after)
    taken = _backlog(start, end)
    total = sum(taken.values())
    if records_max is None or not 0 < 2 * total <= records_max or end == limits:
        return end
    wider = advanced(start, available)
    for tp in _backlog(start, wider):
        share = max(1, records_max * taken.get(tp, 0) // total)
        wider[tp] = Offset(min(wider[tp], start.get(tp, 0) + share))
    other = time_slice(start, available, wider, times_at, offsets_after)
    return other if sum(_backlog(start, other).values()) > total else end


def time_slice(
    start: Offsets,
    available: Offsets,
    limits: Offsets,
    times_at: TimesAt,
    offsets_after: OffsetsAfter,
) -> dict[TopicPartition, Offset]:
    """The ends of a slice of time within `limits`: no record of it is later than its time, and what is left
    of each partition begins later.

    Its time is the least that a limit leaves a partition to reach. The first record beyond it ends each partition, the
    slowest, too: where the records of a partition are out of order, those that are left are late by no more than that.
    """
    full = advanced(start, available)
    cut = [tp for tp, limit in limits.items() if limit < full[tp]]
    if not cut or len(_backlog(start, full)) == 1:
        return dict(limits)
    begin = {tp: start.get(tp, Offset(0)) for tp in limits}
    times = times_at(
        {
            tp: Sample(Offset(max(begin[tp], limits[tp] - SAMPLE_OFFSETS)), limits[tp], full[tp])
            for tp in cut
        }
    )
    end = _read_to(times, begin, limits, offsets_after)
    if _backlog(begin, end) or not times:
        return end
    # Every partition begins with a record out of order, which is later than what comes behind it. That is what each has reached.
    heads = times_at({tp: Sample(begin[tp], Offset(begin[tp] + 1), full[tp]) for tp in cut})
    times = {tp: max(time, heads.get(tp, time)) for tp, time in times.items()}
    return _read_to(times, begin, limits, offsets_after)


def _read_to(
    times: Mapping[TopicPartition, int],
    begin: Offsets,
    limits: Offsets,
    offsets_after: OffsetsAfter,
) -> dict[TopicPartition, Offset]:
    """`limits`, but before the first record that is later than the least of the times, if there are any."""
    if not times:
        return dict(limits)
    time = min(times.values())
    wanted = {tp: Later(time, begin[tp], limits[tp]) for tp in _backlog(begin, limits)}
    return {**limits, **offsets_after(wanted)}


def in_time(
    start: Offsets,
    available: Offsets,
    records_max: int | None,
    times_at: TimesAt,
    offsets_after: OffsetsAfter,
    *,
    is_one_slice: bool = False,
) -> dict[TopicPartition, Offset]:
    """`fair_shares`, but the partitions of equal number are read no further than to the same time; with
    `is_one_slice` all of them.
    """
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
    """The same, with the first record of every partition that has one: its time says that
    it is not what others wait for.
    """
    return {
        tp: Offset(start[tp] + 1) if offset == start.get(tp) and available[tp] > offset else offset
        for tp, offset in end.items()
    }


def fair_shares(
    start: Offsets, available: Offsets, records_max: int | None
) -> dict[TopicPartition, Offset]:
    """The end offsets of a micro-batch of at most `records_max` records: a fair share for each partition.

    The share is max-min fair: partitions with a small backlog are read to their end, and what they leave is shared by
    the others. Every partition with a backlog gets at least one record, whatever the limit.
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
    """Returns the partitions that are read to the same time, by their number; under 0 all of them
    where they are one slice.
    """
    numbers: dict[int, list[TopicPartition]] = {}
    for partition in backlog:
        numbers.setdefault(0 if is_one_slice else partition.partition, []).append(partition)
    return numbers
