"""The event time of a record out of a header: what is a time, which of several headers counts, and what is told of one that has none."""

from __future__ import annotations

import pickle
from datetime import UTC, datetime

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.model import TopicPartition
from millstream.spark.source.event_time.header_times import (
    EventTimeMissing,
    time_in,
    times_of_rows,
    with_event_time,
)
from millstream.spark.source.event_time.record_times import (
    TIME_MS_MAX,
    TIME_MS_MIN,
    BadTimestamps,
)
from millstream.spark.source.options import parse_source_options
from millstream.spark.source.reading import as_columns, as_rows
from millstream.spark.source.rows.decoding import read_columns, schema_text

T0 = TopicPartition("t", 0)
NEEDED = {"bootstrap.servers": "localhost:9092", "subscribe": "t"}
HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))

Headers = list[tuple[str, bytes | None]]


def rows_with(*headers: Headers) -> pa.RecordBatch:
    """Offsets from 7."""
    count = len(headers)
    return pa.RecordBatch.from_pydict(
        {
            "key": pa.array([None] * count, pa.binary()),
            "value": pa.array([b"v"] * count, pa.binary()),
            "offset": pa.array(range(7, 7 + count), pa.int64()),
            "timestamp": pa.array([1] * count, pa.int64()),
            "headers": pa.array(
                [[{"key": key, "value": value} for key, value in mine] for mine in headers],
                HEADERS,
            ),
        }
    )


@pytest.mark.parametrize(
    ("value", "time_ms"),
    [
        (b"1700000000000", 1_700_000_000_000),
        ((1_700_000_000_000).to_bytes(8, "big"), 1_700_000_000_000),
        ((-5).to_bytes(8, "big", signed=True), -5),
        (b"0", 0),
        (b"-1", -1),
        (b"12345678", 12_345_678),
        (b"-1234567", -1_234_567),
        (b"253402300799999", 253_402_300_799_999),  # the year 9999
        (b"-62135596800000", -62_135_596_800_000),  # the year 1
    ],
)
def test_a_time_is_a_decimal_number_or_eight_bytes(value: bytes, time_ms: int) -> None:
    assert time_in(value) == time_ms


@pytest.mark.parametrize(
    "value",
    [None, b"", b"1.5", b" 1", b"+1", b"1_0", b"0x10", b"\x00\x01", b"soon", "\u0661".encode(), b"1\n",
     b"253402300800000", b"9" * 400, b"\x7f" + b"\xff" * 7, b"-62135596800001"],
)  # fmt: skip
def test_everything_else_is_no_time(value: bytes | None) -> None:
    assert time_in(value) is None


@given(st.integers(TIME_MS_MIN, TIME_MS_MAX))
def test_both_forms_of_any_time_are_that_time(time_ms: int) -> None:
    assert time_in(str(time_ms).encode()) == time_ms
    assert time_in(time_ms.to_bytes(8, "big", signed=True)) == time_ms


def test_the_last_header_of_the_name_counts() -> None:
    rows = rows_with(
        [("at", b"1"), ("other", b"9"), ("at", b"2")],
        [("at", None), ("at", b"3")],
        [("At", b"8"), ("at", b"4")],
    )
    assert times_of_rows("at", T0, rows) == [2, 3, 4]


def test_a_part_of_a_batch_has_its_own_times() -> None:
    rows = rows_with([("at", b"1")], [], [("x", b""), ("at", b"3")], [("at", b"4")])
    assert times_of_rows("at", T0, rows.slice(2)) == [3, 4]
    assert times_of_rows("at", T0, rows.slice(0, 1)) == [1]
    assert times_of_rows("at", T0, rows.slice(0, 0)) == []


@pytest.mark.parametrize(
    ("headers", "told"),
    [
        ([("other", b"1")], "the record has no such header"),
        ([], "the record has no such header"),
        ([("at", b"1"), ("at", None)], "the record has null there"),
        ([("at", b"soon")], "the record has b'soon' there"),
        ([("at", b"7" * 50)], f"the record has b'{'7' * 40}'… there"),
    ],
)
def test_a_record_without_a_time_is_named(headers: Headers, told: str) -> None:
    with pytest.raises(EventTimeMissing) as missing:
        times_of_rows("at", T0, rows_with([("at", b"1")], headers, []))
    sentence = str(missing.value)
    assert sentence.startswith(f"eventTimeHeader at gives t-0 offset 8 no event time: {told}, and")
    assert sentence.endswith(
        "as a decimal number or as 8 big-endian bytes. badTimestamps=null goes on: the column is null there, and the record counts for "
        "no watermark"
    )
    assert str(pickle.loads(pickle.dumps(missing.value))) == sentence  # as Spark hands it on


def test_a_record_without_a_time_is_null_where_that_is_wanted() -> None:
    rows = rows_with([("at", b"1500")], [], [("at", b"9" * 18)])
    null = BadTimestamps.NULL
    assert times_of_rows("at", T0, rows, null) == [1500, None, None]
    found = with_event_time("at", T0, as_rows(rows, T0), null)
    assert found.column("eventTime").to_pylist() == [datetime.fromtimestamp(1.5, UTC), None, None]


def test_the_event_time_is_a_column_and_headers_are_one_only_where_they_are_asked_for() -> None:
    for more, names in [
        ({}, []),
        ({"includeHeaders": "true"}, ["headers"]),
    ]:
        options = parse_source_options(NEEDED | {"eventTimeHeader": "at"} | more)
        assert read_columns(options) == {"headers"}
        rows = with_event_time("at", T0, as_rows(rows_with([("at", b"1500")]), T0))
        found = as_columns(options, rows)
        assert found.schema.names[6:] == [*names, "eventTime"]
        assert found.column("eventTime").to_pylist() == [datetime.fromtimestamp(1.5, UTC)]
        assert schema_text(options).endswith(", eventTime timestamp")
    assert "eventTime" not in schema_text(parse_source_options(NEEDED))
