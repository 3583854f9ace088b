"""Watermarks out of records, by a header and by a function, against a broker, and through Spark."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable
from pyspark.sql.types import StructType

from millstream.clients import ConsumerRecord
from millstream.model import TopicPartition
from millstream.spark.data_source import MillstreamSource
from millstream.spark.source.event_time.assigners import WatermarkFailed
from millstream.spark.source.event_time.header_times import EventTimeMissing
from millstream.spark.source.stream_reader import StreamReader
from tests.integration.spark.formats.checkpoints import OffsetsOf
from tests.integration.spark.formats.test_event_time import (
    BASE_MS,
    FAST,
    SLOW,
    WINDOW_MS,
    closed_windows,
    offsets,
    reader,
    rows_of,
    watermarks_of,
)

pytestmark = pytest.mark.spark

HEADER = "created"
JSON_TYPES = {"int": "integer", "bigint": "long"}
"""What Spark calls types in JSON and not in DDL."""
PERIODIC = {"watermark": "periodic", "eventTimeHeader": HEADER}
PUNCTUATED = {"watermark": "punctuated", "watermarkFunction": f"{__name__}:mark"}


def mark(record: ConsumerRecord) -> int | None:
    """Records whose key is mark bring the number in their value."""
    return int(record.value or b"") if record.key == b"mark" else None


def no_longer_asked(record: ConsumerRecord) -> int:
    raise LookupError(f"offset {record.offset} was looked at")


def is_end(record: ConsumerRecord) -> bool:
    return record.key == b"end"


def put_created(topics: Any, topic: str, partition: int, *times: int) -> None:
    """Records that have come long after they were created, all at the same time: half of the headers are text, half are bytes."""
    forms = (lambda time: str(time).encode(), lambda time: time.to_bytes(8, "big"))
    records = [
        {
            "value": b"x", "partition": partition, "timestamp_ms": BASE_MS + 10**9,
            "headers": [("created", forms[n % 2](time))],
        }
        for n, time in enumerate(times)
    ]  # fmt: skip
    topics.put(topic, records)


def put_keys(topics: Any, topic: str, partition: int, text: str) -> None:
    """`mark=5 x end`: keys, and values behind the sign."""
    pairs = [word.partition("=") for word in text.split()]
    topics.put(
        topic,
        [
            {"key": key.encode(), "value": value.encode(), "partition": partition}
            for key, _, value in pairs
        ],
    )


def planned(source: StreamReader, start: Any) -> Any:
    return source.latestOffset(start, source.getDefaultReadLimit())


def test_a_header_is_the_time_of_its_record(topics: Any) -> None:
    topic = topics.new(partitions=2)
    put_created(topics, topic, 0, 9_000, 2_000)
    put_created(topics, topic, 1, 4_000)
    source = reader(topics, topic, **PERIODIC, maxOutOfOrderness="1 second")
    start = offsets(topic, 0, 0)
    first = planned(source, start)
    latest = {topic: {"0": 9_000, "1": 4_000}}
    assert first["watermarks"] == {"watermark": 3_000, "latest": latest}
    put_created(topics, topic, 1, 3_500, 6_000)
    second = planned(source, first)
    assert watermarks_of(source, first, second) == {3_000}
    restarted = reader(topics, topic, **PERIODIC)
    rows = [rows for each in restarted.partitions(start, second) for rows in restarted.read(each)]
    times = [int(t.timestamp() * 1000) for b in rows for t in b.column("eventTime").to_pylist()]
    assert sorted(times) == [2_000, 3_500, 4_000, 6_000, 9_000]
    assert rows[0].schema.names[-2:] == ["eventTime", "wm"]


def test_a_batch_has_the_times_of_headers_also_beside_decoded_values(topics: Any) -> None:
    topic = topics.new()
    put_created(topics, topic, 0, 9_000)
    given = {"bootstrap.servers": topics.bootstrap_servers, "subscribe": topic}
    source = MillstreamSource(
        given | {"eventTimeHeader": HEADER, "value.format": "string", "includeRaw": "true"}
    )
    schema = StructType()
    for column in source.schema().split(", "):
        schema.add(*(JSON_TYPES.get(word, word) for word in column.split()))
    batch = source.reader(schema)
    (rows,) = (rows for each in batch.partitions() for rows in batch.read(each))
    (row,) = rows.to_pylist()
    assert (row["value"], row["rawValue"]) == ("x", b"x")
    assert row["eventTime"].timestamp() == 9


def test_a_record_without_the_header_ends_the_query_with_its_name(topics: Any) -> None:
    topic = topics.new()
    put_created(topics, topic, 0, 9_000)
    topics.put(topic, [{"value": b"x", "partition": 0}])
    with pytest.raises(EventTimeMissing, match=rf"created gives {topic}-0 offset 1 no event time"):
        planned(reader(topics, topic, **PERIODIC), offsets(topic, 0))


def test_a_function_says_which_records_bring_a_watermark(topics: Any) -> None:
    topic = topics.new(partitions=2)
    put_keys(topics, topic, 0, "x mark=50 x")
    put_keys(topics, topic, 1, "x")
    source, start = reader(topics, topic, **PUNCTUATED), offsets(topic, 0, 0)
    first = planned(source, start)
    assert first["watermarks"] == {"watermark": None, "latest": {topic: {"0": 50}}}
    put_keys(topics, topic, 1, "mark=70 x mark=40 x")
    put_keys(topics, topic, 0, "mark=30")
    second = planned(source, first)
    assert second["watermarks"] == {"watermark": 50, "latest": {topic: {"0": 50, "1": 70}}}
    assert watermarks_of(source, first, second) == {None}
    put_keys(topics, topic, 0, "mark=60")
    third = planned(source, second)
    assert watermarks_of(source, second, third) == {50}
    assert third["watermarks"]["watermark"] == 60


def test_a_micro_batch_that_is_run_again_has_its_watermark_and_asks_nothing(topics: Any) -> None:
    topic = topics.new()
    put_keys(topics, topic, 0, "mark=5 x mark=7 x")
    limited = {"maxRecordsPerTrigger": "2"}
    source = reader(topics, topic, **PUNCTUATED, **limited)
    first = planned(source, offsets(topic, 0))
    second = planned(source, first)
    again = reader(
        topics, topic, **PUNCTUATED | {"watermarkFunction": f"{__name__}:no_longer_asked"}
    )
    assert watermarks_of(again, first, second) == {5}
    assert json.dumps(again.latestOffset(second, ReadAllAvailable())) == json.dumps(second)
    replanned = reader(topics, topic, **PUNCTUATED, **limited)
    assert json.dumps(planned(replanned, first)) == json.dumps(second)
    put_keys(topics, topic, 0, "x")
    with pytest.raises(WatermarkFailed, match=rf"{topic}-0 offset 4 .* offset 4 was looked at"):
        again.latestOffset(second, ReadAllAvailable())


def test_limits_in_bytes_and_the_end_of_a_stream_go_with_watermarks_of_records(
    topics: Any,
) -> None:
    topic = topics.new(partitions=2)
    for word in ("mark=5", "mark=7", "end", "mark=90"):
        put_keys(topics, topic, 0, word)
    put_keys(topics, topic, 1, "mark=6")
    given = PUNCTUATED | {"endOfStream": f"{__name__}:is_end"}
    tiny = reader(topics, topic, **given, maxBytesPerTrigger="1")
    first = planned(tiny, offsets(topic, 0, 0))
    assert first == OffsetsOf(topic, 1, 1)
    assert first["watermarks"]["watermark"] == 5
    whole = planned(reader(topics, topic, **given), offsets(topic, 0, 0))
    assert whole == OffsetsOf(topic, 2, 1)
    assert whole["watermarks"] == {"watermark": 6, "latest": {topic: {"0": 7, "1": 6}}}
    put_keys(topics, topic, 1, "mark=8")
    assert planned(reader(topics, topic, **given), whole)["watermarks"]["watermark"] == 8


def test_what_retention_took_brings_no_watermark(topics: Any) -> None:
    topic = topics.new()
    put_keys(topics, topic, 0, "mark=50 x mark=7")
    topics.admin(lambda admin: admin.delete_records({TopicPartition(topic, 0): 1}))
    source = reader(topics, topic, **PUNCTUATED, failOnDataLoss="earliest")
    assert planned(source, offsets(topic, 0))["watermarks"]["watermark"] == 7


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_windows_over_header_times_close_when_marks_say_so(
    spark: Any, topics: Any, tmp_path: Path
) -> None:
    """One partition is far ahead of the other, and the timestamps of the records are of another year."""
    topic = topics.new(partitions=2)
    for number, times in enumerate((FAST, SLOW)):
        topics.put(
            topic,
            [
                {
                    "key": b"mark", "value": str(time).encode(), "partition": number,
                    "timestamp_ms": 10**12, "headers": [(HEADER, str(time).encode())],
                }
                for time in times
            ],
        )  # fmt: skip
    rows = rows_of(spark, topics, topic, **PUNCTUATED, eventTimeHeader=HEADER)
    found = closed_windows(spark, rows.withWatermark("wm", "0 seconds"), "eventTime", tmp_path)
    reference = Counter(at - at % WINDOW_MS for at in FAST + SLOW)
    assert found == {start: reference[start] for start in found}
    assert len(found) >= 2
