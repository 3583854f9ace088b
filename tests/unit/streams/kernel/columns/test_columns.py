"""Columns that are read late: what is passed on must be what reading and writing every row would give."""

from __future__ import annotations

import pyarrow as pa
import pytest

from millstream.streams import StreamsBuilder, StreamsConfig
from millstream.streams.kernel import ArrowBytes, RawBatch, StreamTask
from millstream.streams.kernel.columns.batch import SinkBatch
from millstream.streams.kernel.columns.column import Column, source_column, written
from millstream.streams.serdes import (
    Serde,
    bytes_,
    json,
    long,
    session_windowed,
    string,
    time_windowed,
)
from millstream.streams.state import in_memory_stores

BROKEN = b"caf\xe9"
MENDED = "caf\N{REPLACEMENT CHARACTER}".encode()
MANY = 300  # rows: text is read through Arrow


@pytest.mark.parametrize("rows", [1, MANY])
def test_text_that_nobody_looks_at_is_still_mended_where_it_is_broken(rows: int) -> None:
    """Reading and writing a string puts a replacement character where a byte is no UTF-8, as in Java."""
    column = source_column(string(), [b"tea", None, BROKEN] * rows)
    assert written(column, string()) == [b"tea", None, MENDED] * rows


def test_a_broken_end_is_not_completed_by_the_next_row() -> None:
    column = source_column(string(), [b"\xc3", b"\xa9"])
    assert written(column, string()) == ["\N{REPLACEMENT CHARACTER}".encode()] * 2


@pytest.mark.parametrize("place", [1, 1_023, 1_024, 2_999])
def test_one_broken_row_of_many_is_mended_wherever_it_stands(place: int) -> None:
    """Rows are looked at some together: none is forgotten, and none is completed by the first of the next ones."""
    data: list[bytes | None] = ["caf\N{LATIN SMALL LETTER E WITH ACUTE}".encode()] * 3_000
    data[place - 1 : place + 1] = [b"\xc3", b"\xa9"]
    mended = ["\N{REPLACEMENT CHARACTER}".encode()] * 2
    expected = data[: place - 1] + mended + data[place + 1 :]
    assert written(source_column(string(), data), string()) == expected


@pytest.mark.parametrize("rows", [1, MANY])
def test_text_is_read_alike_in_small_and_large_columns(rows: int) -> None:
    column = source_column(string(), ["tea \N{HOT BEVERAGE}".encode(), None, BROKEN] * rows)
    assert isinstance(column, Column)
    expected = ["tea \N{HOT BEVERAGE}", None, "caf\N{REPLACEMENT CHARACTER}"]
    assert column.values == expected * rows


def test_bytes_of_one_layout_go_on_without_being_read() -> None:
    data: list[bytes | None] = [b"a", b"b"]
    assert written(source_column(bytes_(), data), bytes_()) is data
    assert written(source_column(string(), data), string()) is data


def test_bytes_of_another_layout_are_read_and_written() -> None:
    one = (7).to_bytes(8)
    doubled = Serde("doubled", lambda number: bytes(2 * number), len)
    assert written(source_column(long(), [one]), doubled) == [bytes(14)]


def test_numbers_that_cannot_be_read_fail_at_the_source() -> None:
    with pytest.raises(ValueError, match="a long is 8 bytes, not 3"):
        source_column(long(), [b"abc"])


def test_a_serde_of_unknown_layout_is_read_at_the_source() -> None:
    """Two JSON texts may mean the same, so they are never passed on as they came."""
    assert source_column(json(), [b'{"a": 1}']) == [{"a": 1}]


def test_windowed_keys_have_a_layout_if_their_inner_keys_have_one() -> None:
    """Windowed keys of an aggregation are written once, for the changelog and for the sink."""
    assert time_windowed(string(), 10).layout == "utf-8, start"
    assert time_windowed(string(), 10, changelog=True).layout is None
    assert session_windowed(string()).layout == "utf-8, end, start"
    assert session_windowed(json()).layout is None


def test_a_part_and_a_selection_of_a_column_keep_its_rows() -> None:
    data: list[bytes | None] = [b"%d" % n for n in range(MANY)]
    column = source_column(string(), data)
    assert isinstance(column, Column)
    assert column.part(1, 3).values == ["1", "2"]
    assert column.take((2, 0)).values == ["2", "0"]
    part = column.part(0, 290)
    assert isinstance(part, Column)
    assert part.where([n % 100 == 1 for n in range(290)]).values == ["1", "101", "201"]
    assert part.values == [str(n) for n in range(290)]


def piped(topology: StreamsBuilder, keys: list[bytes | None]) -> SinkBatch:
    config = StreamsConfig("app", default_key=string(), default_value=string())
    task = StreamTask(topology.build(), 0, 0, in_memory_stores(), config)
    rows = len(keys)
    task.add("in", RawBatch(keys, [b"v"] * rows, list(range(rows)), range(rows)))
    return task.process(0).sinks["out"]


@pytest.mark.parametrize("rows", [1, MANY])
def test_columns_that_came_as_arrow_are_read_alike(rows: int) -> None:
    data: list[bytes | None] = [b"tea", None, BROKEN] * rows
    column = source_column(string(), ArrowBytes(pa.array(data, pa.binary())))
    assert isinstance(column, Column)
    assert column.has_nulls
    assert column.part(1, 3).values == [None, MENDED.decode()]
    assert written(column, string()) == [b"tea", None, MENDED] * rows


def test_a_value_that_nobody_looks_at_never_becomes_an_object() -> None:
    builder = StreamsBuilder()
    builder.stream("in").group_by_key().count().to_stream().to("out", value=long())
    config = StreamsConfig("app", default_key=string(), default_value=string())
    task = StreamTask(builder.build(), 0, 0, in_memory_stores(), config)
    values = Unread(pa.array([b"v"] * MANY, pa.binary()))
    task.add("in", RawBatch([b"k"] * MANY, values, [0] * MANY, range(MANY)))
    assert task.process(0).sinks["out"].values[-1] == MANY.to_bytes(8)


class Unread(ArrowBytes):
    """Values that must not be read."""

    def rows(self) -> list[bytes | None]:
        raise AssertionError("somebody looked at the values")


def test_what_only_passes_through_stays_arrow_over_several_runs() -> None:
    builder = StreamsBuilder()
    builder.stream("in").to("out")
    config = StreamsConfig(
        "app", default_key=bytes_(), default_value=bytes_(), batch_records_max=MANY
    )
    task = StreamTask(builder.build(), 0, 0, in_memory_stores(), config)
    given: list[list[bytes | None]] = [[b"a"] * MANY, [None] * MANY]
    for first, values in zip((0, MANY), given, strict=True):
        column, offsets = Unread(pa.array(values, pa.binary())), range(first, first + MANY)
        task.add("in", RawBatch(column, column, list(offsets), offsets))
    out = task.process(0).sinks["out"]
    for sent in (out.keys, out.values):
        assert isinstance(sent, ArrowBytes)
        assert sent.array.to_pylist() == given[0] + given[1]


def test_two_sinks_and_several_runs_leave_the_columns_of_the_source_alone() -> None:
    """Sinks share lists with what came in: nobody may add to them."""
    builder = StreamsBuilder()
    stream = builder.stream("in")
    stream.to("out")
    stream.to("out")
    keys: list[bytes | None] = [b"a", b"b"]
    assert piped(builder, keys).keys == [b"a", b"a", b"b", b"b"]
    assert keys == [b"a", b"b"]


def test_a_windowed_key_is_partitioned_by_the_bytes_before_its_window() -> None:
    builder = StreamsBuilder()
    stream = builder.stream("in", key=time_windowed(string(), 10))
    stream.to("out", key=time_windowed(string(), 10))
    assert piped(builder, [b"key" + bytes(8), None]).partition_keys == [b"key", None]
