"""Watermarks out of records: a function of the log and of where micro-batches end, however the records come to the driver."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from millstream.clients import ConsumerRecord
from millstream.model import Offset, TopicPartition
from millstream.runtime.interfaces import Instant
from millstream.spark.source.event_time.assigners import PunctuatedWatermarks
from millstream.spark.source.event_time.options import EventTimeOptions, WatermarkMode
from millstream.spark.source.event_time.planner import BatchBounds, MicroBatchPlanner
from millstream.spark.source.event_time.watermarks import EventTime
from millstream.spark.source.record_scan import RecordQuestions

MARKS = st.lists(st.one_of(st.none(), st.integers(-50, 500)), max_size=15)
"""What each record of a partition brings."""
CUTS = st.lists(st.integers(0, 15), max_size=4)
OPTIONS = EventTimeOptions(mode=WatermarkMode.PUNCTUATED, function="m:f")
HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))

Log = Mapping[TopicPartition, Sequence[int | None]]


def mark(record: ConsumerRecord) -> int | None:
    return None if record.value is None else int(record.value)


def rows_of(marks: Sequence[int | None]) -> pa.RecordBatch:
    count = len(marks)
    values = [None if each is None else str(each).encode() for each in marks]
    return pa.RecordBatch.from_pydict(
        {
            "key": pa.array([None] * count, pa.binary()),
            "value": pa.array(values, pa.binary()),
            "offset": pa.array(range(count), pa.int64()),
            "timestamp": pa.array([10**12] * count, pa.int64()),
            "headers": pa.array([[]] * count, HEADERS),
            "timestampType": pa.array([0] * count, pa.int32()),
            "leaderEpoch": pa.array([0] * count, pa.int32()),
        }
    )


def times_of(
    log: Log,
    start: Mapping[TopicPartition, Offset],
    end: Mapping[TopicPartition, Offset],
    cuts: Any,
) -> dict[TopicPartition, int]:
    """What records of a micro-batch tell that come in pieces."""
    questions, times = RecordQuestions(None, PunctuatedWatermarks("m:f", mark)), {}
    for tp, marks in log.items():
        rows = rows_of(marks)
        inner = {start[tp] + cut for cut in cuts if start[tp] + cut < end[tp]}
        places = sorted({start[tp], end[tp], *inner})
        found = [
            time
            for first, last in pairwise(places)
            if (time := questions.asked(tp, rows.slice(first, last - first)).time) is not None
        ]
        if found:
            times[tp] = max(found)
    return times


def refuse_to_walk(_ranges: Any) -> Any:
    raise AssertionError("heads of batches are not looked at")


def expected(log: Log, end: Mapping[TopicPartition, Offset], before: int | None) -> EventTime:
    """The definition: the least over the partitions of the largest so far, and never less than before."""
    seen = {
        tp: [each for each in marks[: end[tp]] if each is not None] for tp, marks in log.items()
    }
    latest = {tp: max(found) for tp, found in seen.items() if found}
    if latest.keys() != log.keys():
        return EventTime(before, latest)
    least = min(latest.values())
    return EventTime(least if before is None else max(least, before), latest)


@given(
    st.lists(MARKS, min_size=1, max_size=4), st.lists(st.integers(1, 6), max_size=12), CUTS, CUTS
)
def test_the_watermark_follows_from_the_offsets_and_the_log(
    marks: list[list[int | None]], steps: list[int], cuts: list[int], other_cuts: list[int]
) -> None:
    log = {TopicPartition("t", number): mine for number, mine in enumerate(marks)}
    available = {tp: Offset(len(mine)) for tp, mine in log.items()}
    position, state = dict.fromkeys(log, Offset(0)), EventTime()
    for number, step in enumerate(steps):
        wanted = {tp: Offset(min(at + step, available[tp])) for tp, at in position.items()}
        backlog = BatchBounds(position, wanted, available, available)
        # Another start of the query plans the same, whenever it does and in whatever pieces it reads.
        states = []
        for now_ms, pieces in ((number, cuts), (10**6, other_cuts)):
            planner = MicroBatchPlanner(OPTIONS)
            planned = planner.planned(backlog, refuse_to_walk, Instant(now_ms, now_ms))
            told = times_of(log, position, planned.end, pieces)
            states.append(planner.event_time(state, planned, told))
        assert states[0] == states[1] == expected(log, wanted, state.watermark)
        position, state = wanted, states[0]
