"""Rows that cannot be written are found before any row of their batch is written, and the others are not."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pyarrow as pa
import pytest

from millstream.errors import InvalidPartitions, InvalidRecord, InvalidTimestamp, MessageTooLarge
from millstream.records.builder import BatchOptions
from millstream.records.compression import Codec
from millstream.spark.sink.row_checks import RowLimits, faults, illegal_name, too_large

HEADER = pa.struct([("key", pa.string()), ("value", pa.binary())])
PLAIN = RowLimits("orders", 3, 1_000, BatchOptions())


def rows(**columns: Any) -> pa.RecordBatch:
    types = {
        "value": pa.binary(),
        "key": pa.binary(),
        "partition": pa.int32(),
        "timestamp": pa.timestamp("us", tz="UTC"),
        "headers": pa.list_(HEADER),
    }
    arrays = {name: pa.array(values, types[name]) for name, values in columns.items()}
    return pa.RecordBatch.from_arrays(list(arrays.values()), list(arrays))


def test_rows_that_can_be_written_are_none_of_them() -> None:
    given = rows(
        value=[b"v", None],
        key=[None, b"k"],
        partition=[0, None],
        timestamp=[dt.datetime(2026, 1, 1, tzinfo=dt.UTC), None],
        headers=[None, [{"key": "a", "value": None}]],
    )
    assert faults(given, PLAIN) == {}


@pytest.mark.parametrize("part", ["key", "value", "headers"])
def test_a_row_is_too_large_by_any_of_its_parts(part: str) -> None:
    large: Any = [{"key": "h", "value": bytes(2_000)}] if part == "headers" else bytes(2_000)
    columns = {"value": [b"v", b"v", b"v"]} | {part: [None, large, None]}
    given = rows(**columns)
    for whole in (given, given.slice(1, 2)):
        (found,) = faults(whole, PLAIN).items()
        assert found[0] == (1 if whole is given else 0)
        assert isinstance(found[1], MessageTooLarge)
        assert "is larger than orders and the producer take (1000)" in str(found[1])


def test_the_size_of_a_row_is_that_on_the_wire() -> None:
    given = rows(value=[bytes(900), bytes(930), bytes(931)])
    assert too_large(given, 1_000, BatchOptions()) == {2: 1_001}
    assert too_large(rows(value=[bytes(5_000)]), 1_000, BatchOptions(codec=Codec.GZIP)) == {}


def test_parts_that_no_record_has_are_named() -> None:
    given = rows(
        value=[b"v"] * 4,
        partition=[0, 3, -1, 2],
        timestamp=[None, None, None, dt.datetime(1969, 1, 1, tzinfo=dt.UTC)],
        headers=[[{"key": None, "value": b""}], [], None, []],
    )
    found = faults(given, PLAIN)
    assert {row: type(error) for row, error in found.items()} == {
        0: InvalidRecord,
        1: InvalidPartitions,
        2: InvalidPartitions,
        3: InvalidTimestamp,
    }
    assert "orders has partitions 0 to 2, not -1" in str(found[2])


def test_a_name_that_no_topic_has_is_found() -> None:
    assert illegal_name("orders") is None
    assert "may only hold ASCII" in str(illegal_name("or ders"))
