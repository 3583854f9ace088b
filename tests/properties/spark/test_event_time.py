"""Micro-batches of any log under any limits: everything is read once, and the watermark never goes back."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from hypothesis import given
from hypothesis import strategies as st

from millstream.clients.consumer.core.fetched import BatchSummary
from millstream.model import Offset, TopicPartition
from millstream.runtime.interfaces import Instant
from millstream.spark.admission import in_proportion
from millstream.spark.source.event_time.cutting import aligned
from millstream.spark.source.event_time.options import EventTimeOptions, WatermarkMode
from millstream.spark.source.event_time.planner import BatchBounds, MicroBatchPlanner
from millstream.spark.source.event_time.watermarks import (
    KEY,
    EventTime,
    event_time_of,
    to_document,
)

NOW_MS = 10_000
TIMES = st.one_of(st.none(), st.integers(0, 2_000), st.just(10**12))
"""Control batches have none; one record is of the far future."""
SHAPES = st.lists(st.tuples(st.integers(1, 5), st.integers(70, 500), TIMES), max_size=12)
LIMITS = st.one_of(st.none(), st.integers(1, 2_000))

Log = Mapping[TopicPartition, Sequence[BatchSummary]]


def log_of(shapes: Sequence[Sequence[tuple[int, int, int | None]]]) -> Log:
    log: dict[TopicPartition, list[BatchSummary]] = {}
    for number, batches in enumerate(shapes):
        mine, at = log.setdefault(TopicPartition("t", number), []), 0
        for count, size, time in batches:
            mine.append(BatchSummary(at, at + count - 1, size, time))
            at += count
    return log


def ends(log: Log) -> dict[TopicPartition, Offset]:
    return {tp: Offset(mine[-1].last_offset + 1 if mine else 0) for tp, mine in log.items()}


@given(st.lists(SHAPES, min_size=1, max_size=4), LIMITS, LIMITS, LIMITS, st.integers(1, 6))
def test_every_batch_is_read_once_and_the_watermark_never_goes_back(
    shapes: list[list[tuple[int, int, int | None]]],
    records_max: int | None,
    bytes_max: int | None,
    drift_max_ms: int | None,
    walked_max: int,
) -> None:
    log = log_of(shapes)
    options = EventTimeOptions(
        mode=WatermarkMode.PERIODIC,
        disorder_max_ms=100,
        idle_timeout_ms=30,
        drift_max_ms=drift_max_ms,
        bytes_max=bytes_max,
    )
    available, position = ends(log), dict.fromkeys(log, Offset(0))
    planner, event_time = MicroBatchPlanner(options), EventTime()

    def walk(
        ranges: Mapping[TopicPartition, tuple[Offset, Offset]],
    ) -> dict[TopicPartition, list[BatchSummary]]:
        found = {
            tp: [b for b in log[tp] if b.last_offset >= start and b.first_offset < end]
            for tp, (start, end) in ranges.items()
        }
        return {tp: mine[:walked_max] for tp, mine in found.items()}

    for now_ms in range(NOW_MS, NOW_MS + 60):
        backlog = BatchBounds(
            position, in_proportion(position, available, records_max), available, available
        )
        if position == available:
            break
        planned = planner.planned(backlog, walk, Instant(now_ms, now_ms))
        end, after = planned.end, planner.event_time(event_time, planned, {})
        assert end != position, "a micro-batch with a backlog reads something"
        for tp, offset in end.items():
            assert position[tp] <= offset <= available[tp]
            assert offset == position[tp] or any(offset == b.last_offset + 1 for b in log[tp])
        assert event_time_of(json.loads(json.dumps({KEY: to_document(after)}))) == after
        if event_time.watermark is not None:
            assert after.watermark is not None
            assert after.watermark >= event_time.watermark
        position, event_time = dict(end), after
    assert position == available


@given(
    st.lists(st.lists(st.integers(0, 5_000), max_size=20), min_size=1, max_size=4),
    st.integers(0, 500),
)
def test_no_partition_is_read_further_ahead_than_the_drift(
    times: list[list[int]], drift_max_ms: int
) -> None:
    log = log_of([[(1, 100, time) for time in sorted(mine)] for mine in times])
    taken = aligned(log, ends(log), drift_max_ms, NOW_MS)
    left = [
        mine[len(taken[tp])].timestamp_max for tp, mine in log.items() if mine[len(taken[tp]) :]
    ]
    read = [batch.timestamp_max for mine in taken.values() for batch in mine]
    if left:
        assert max(time or 0 for time in read) <= min(time or 0 for time in left) + drift_max_ms
    else:
        assert len(read) == sum(len(mine) for mine in times)
