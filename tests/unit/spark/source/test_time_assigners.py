"""Times that only records tell: those of a header, and the watermarks that a function of the user returns."""

from __future__ import annotations

import pickle
from typing import Any

import pyarrow as pa
import pytest

from millstream.clients import ConsumerRecord
from millstream.model import Offset, TopicPartition
from millstream.runtime.interfaces import Instant
from millstream.spark.source.end_of_stream import EndOfStreamOptions
from millstream.spark.source.event_time.assigners import (
    HeaderTimes,
    PunctuatedWatermarks,
    WatermarkFailed,
    assigner_of,
)
from millstream.spark.source.event_time.options import EventTimeOptions, WatermarkMode
from millstream.spark.source.event_time.planner import BatchBounds, MicroBatchPlanner
from millstream.spark.source.event_time.watermarks import EventTime
from millstream.spark.source.options import SourceOptions, parse_source_options
from millstream.spark.source.record_scan import Answers, RecordQuestions, questions_of

A, B = TopicPartition("t", 0), TopicPartition("t", 1)
NEEDED = {"bootstrap.servers": "localhost:9092", "subscribe": "t"}


def mark(record: ConsumerRecord) -> int | None:
    """A record whose key is mark brings the number in its value."""
    return int(record.value or b"") if record.key == b"mark" else None


def is_end(record: ConsumerRecord) -> bool:
    return record.key == b"end"


HERE = f"{__name__}:mark"


def rows_of(*records: tuple[bytes, bytes], at: bytes = b"5") -> pa.RecordBatch:
    """Keys and values at offsets from 3, each with a header."""
    count = len(records)
    headers = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
    return pa.RecordBatch.from_pydict(
        {
            "key": pa.array([key for key, _ in records], pa.binary()),
            "value": pa.array([value for _, value in records], pa.binary()),
            "offset": pa.array(range(3, 3 + count), pa.int64()),
            "timestamp": pa.array([1] * count, pa.int64()),
            "headers": pa.array([[{"key": "at", "value": at}]] * count, headers),
            "timestampType": pa.array([0] * count, pa.int32()),
            "leaderEpoch": pa.array([0] * count, pa.int32()),
        }
    )


def parsed(**given: str) -> SourceOptions:
    return parse_source_options(NEEDED | given)


def test_the_largest_watermark_of_a_function_is_that_of_its_rows() -> None:
    assigner = PunctuatedWatermarks(HERE, mark)
    marks = rows_of((b"mark", b"40"), (b"x", b"99"), (b"mark", b"30"))
    assert assigner.latest(A, marks) == 40
    assert assigner.latest(A, rows_of((b"x", b"99"))) is None
    assert assigner.latest(A, rows_of()) is None


def test_the_largest_time_of_a_header_is_that_of_its_rows() -> None:
    rows = rows_of((b"x", b""), (b"y", b""), at=b"70")
    assert HeaderTimes("at").latest(A, rows) == 70
    assert HeaderTimes("at").latest(A, rows.slice(0, 0)) is None


@pytest.mark.parametrize("answer", [True, 1.5, "5", 253_402_300_800_000])
def test_a_function_answers_with_a_time_or_none(answer: object) -> None:
    assigner = PunctuatedWatermarks("m:f", lambda _: answer)
    with pytest.raises(WatermarkFailed, match="m:f does not say which watermark t-1 offset 3"):
        assigner.latest(B, rows_of((b"x", b"")))


def test_a_function_that_raises_is_one_sentence_that_names_the_record() -> None:
    with pytest.raises(WatermarkFailed) as failed:
        PunctuatedWatermarks("m:f", mark).latest(A, rows_of((b"x", b""), (b"mark", b"so\non")))
    sentence = str(failed.value)
    assert "t-0 offset 4 brings: it raised ValueError: invalid literal" in sentence
    assert (
        "must return milliseconds since 1970 as a whole number, of the years 1 to 9999, or None"
        in sentence
    )
    assert "\n" not in sentence
    assert str(pickle.loads(pickle.dumps(failed.value))) == sentence  # as Spark hands it on


def test_records_are_read_where_the_heads_of_batches_do_not_have_their_times() -> None:
    assert assigner_of(parsed(watermark="periodic").event_time) is None
    assert assigner_of(parsed(eventTimeHeader="at").event_time) is None
    header = parsed(watermark="periodic", eventTimeHeader="at").event_time
    assert assigner_of(header) == HeaderTimes("at")
    both = {"watermark": "punctuated", "watermarkFunction": HERE, "eventTimeHeader": "at"}
    assert assigner_of(parsed(**both).event_time) == PunctuatedWatermarks(HERE, mark)
    assert not questions_of(parsed(watermark="periodic"))


def test_only_what_is_asked_for_is_read() -> None:
    header = questions_of(parsed(watermark="periodic", eventTimeHeader="at"))
    assert set(header.columns) == {"headers"}
    ending = questions_of(parsed(endOfStream=f"{__name__}:is_end"))
    assert set(ending.columns) == {"headers", "timestampType", "leaderEpoch"}


def test_the_time_of_a_record_behind_the_end_of_its_partition_does_not_count() -> None:
    ends = EndOfStreamOptions("m:f"), is_end
    rows = rows_of((b"mark", b"40"), (b"end", b""), (b"mark", b"90"))
    both = RecordQuestions(ends, PunctuatedWatermarks(HERE, mark))
    assert both.asked(A, rows) == Answers(Offset(4), 40)
    assert both.asked(A, rows.slice(1)) == Answers(Offset(4), None)
    assert both.asked(A, rows.slice(2)) == Answers(None, 90)
    assert RecordQuestions(ends, None).asked(A, rows) == Answers(Offset(4), None)


def no_walk(_ranges: Any) -> Any:
    raise AssertionError("the heads of batches are of no use")


def test_times_of_records_go_before_those_of_heads() -> None:
    options = EventTimeOptions(mode=WatermarkMode.PERIODIC, header="at", disorder_max_ms=10)
    start, end = dict.fromkeys((A, B), Offset(0)), {A: Offset(2), B: Offset(1)}
    planner = MicroBatchPlanner(options)
    planned = planner.planned(BatchBounds(start, end, end, end), no_walk, Instant(0, 0))
    assert planned.end == end
    first = planner.event_time(EventTime(), planned, {A: 90})
    assert first == EventTime(None, {A: 90})
    assert planner.event_time(first, planned, {B: 50}) == EventTime(40, {A: 90, B: 50})
