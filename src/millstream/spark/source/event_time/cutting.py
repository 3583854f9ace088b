"""Decides the end of a micro-batch in each partition: after whole batches, by bytes and by the times of records.

Pure. The batches of each partition come from their headers, from the start of the micro-batch on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from millstream.clients.consumer.core.fetched import BatchSummary
from millstream.model import Offset, TopicPartition
from millstream.spark.offsets import Offsets
from millstream.spark.source.event_time.record_times import is_time

Batches = Mapping[TopicPartition, Sequence[BatchSummary]]


def whole_batches(batches: Batches, end: Offsets) -> dict[TopicPartition, list[BatchSummary]]:
    """The batches that lie before `end`, and the first of each partition in any case."""
    return {
        tp: [each for at, each in enumerate(mine) if not at or each.last_offset < end[tp]]
        for tp, mine in batches.items()
        if mine
    }


def within_bytes(batches: Batches, bytes_max: int) -> dict[TopicPartition, list[BatchSummary]]:
    """A batch of each partition, and then in turn one more of each, as long as they fit."""
    taken = {tp: [mine[0]] for tp, mine in batches.items() if mine}
    left = bytes_max - sum(mine[0].size_bytes for mine in taken.values())
    open_ones = list(taken)
    while open_ones:
        fitting = []
        for tp in open_ones:
            at = len(taken[tp])
            if at < len(batches[tp]) and batches[tp][at].size_bytes <= left:
                taken[tp].append(batches[tp][at])
                left -= batches[tp][at].size_bytes
                fitting.append(tp)
        open_ones = fitting
    return taken


def aligned(
    batches: Batches, available: Offsets, drift_max_ms: int, now_ms: int
) -> dict[TopicPartition, list[BatchSummary]]:
    """The batches that are at most `drift_max_ms` later than where the partition is that is furthest behind.

    Only a partition with more to read is waited for, so the one that is furthest behind always goes on. A time later
    than `now_ms` counts as now: a record of the far future is read once the others have come to the present.
    """
    count = dict.fromkeys(batches, 0)
    while True:
        heads = {
            tp: head
            for tp, mine in batches.items()
            if (head := _head(mine, count[tp], available[tp], now_ms)) is not None
        }
        bound = min(heads.values(), default=now_ms) + drift_max_ms
        before = sum(count.values())
        for tp, mine in batches.items():
            while count[tp] < len(mine) and _time(mine[count[tp]], now_ms, bound) <= bound:
                count[tp] += 1
        if sum(count.values()) == before:
            return {tp: list(mine[: count[tp]]) for tp, mine in batches.items()}


def _head(batches: Sequence[BatchSummary], at: int, available: Offset, now_ms: int) -> int | None:
    """The time of the next batch that has one. Behind those that are known, that of the last; None when all is read."""
    for each in batches[at:]:
        if each.timestamp_max is not None:
            return min(each.timestamp_max, now_ms)
    if not batches or batches[-1].last_offset >= available - 1:
        return None
    known = [each.timestamp_max for each in batches if each.timestamp_max is not None]
    return min(known[-1], now_ms) if known else None


def _time(batch: BatchSummary, now_ms: int, without: int) -> int:
    return without if batch.timestamp_max is None else min(batch.timestamp_max, now_ms)


def ends_of(start: Offsets, batches: Batches) -> dict[TopicPartition, Offset]:
    """Each partition's end; one of which nothing is read stays at its start."""
    return {
        tp: Offset(batches[tp][-1].last_offset + 1) if batches.get(tp) else offset
        for tp, offset in start.items()
    }


def times_of(batches: Batches) -> dict[TopicPartition, int]:
    """The largest timestamp of each partition; left out where no batch has one.

    Of a batch whose largest is no time the others are not known, so nothing of it counts: a
    watermark that is behind loses nothing.
    """
    found = {
        tp: [
            time_ms
            for each in mine
            if (time_ms := each.timestamp_max) is not None and is_time(time_ms)
        ]
        for tp, mine in batches.items()
    }
    return {tp: max(times) for tp, times in found.items() if times}
