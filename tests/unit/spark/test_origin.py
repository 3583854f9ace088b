"""Records of repartition topics tell their origin, and a repeated write is counted once."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from millstream.records.arrow import HEADERS_TYPE
from millstream.spark.origin import Origin, add_origin, only_new

QUERY = bytes(range(16))


def batch(*values: bytes, headers: list[list[tuple[str, bytes]]] | None = None) -> pa.RecordBatch:
    columns = {"value": pa.array(values, pa.binary())}
    if headers is not None:
        columns["headers"] = pa.array(
            [[{"key": k, "value": v} for k, v in each] for each in headers], HEADERS_TYPE
        )
    return pa.RecordBatch.from_pydict(columns)


def written(number: int, *values: bytes, task: int = 0, query: bytes = QUERY) -> pa.RecordBatch:
    return add_origin(batch(*values), Origin(query, task, number))


def joined(*batches: pa.RecordBatch) -> pa.RecordBatch:
    return pa.Table.from_batches(batches).combine_chunks().to_batches()[0]


def values(rows: pa.RecordBatch) -> list[bytes]:
    return rows.column("value").to_pylist()


def test_a_repeated_micro_batch_is_counted_once() -> None:
    rows = joined(written(7, b"a", b"b"), written(7, b"a", b"b", b"c"), written(8, b"d"))
    fresh, _ = only_new(rows, {})
    assert values(fresh) == [b"a", b"b", b"c", b"d"]


def test_what_was_counted_before_is_left_out_later() -> None:
    _, seen = only_new(written(7, b"a", b"b"), {})
    fresh, seen = only_new(written(7, b"a", b"b", b"c"), seen)
    assert values(fresh) == [b"c"]
    fresh, _ = only_new(written(8, b"d"), seen)
    assert values(fresh) == [b"d"]


def test_writers_are_told_apart() -> None:
    _, seen = only_new(written(7, b"a"), {})
    assert values(only_new(written(7, b"b", task=1), seen)[0]) == [b"b"]
    assert values(only_new(written(0, b"c", query=bytes(16)), seen)[0]) == [b"c"]


def test_the_header_never_reaches_the_topology() -> None:
    fresh, _ = only_new(written(1, b"a"), {})
    assert fresh.schema.names == ["value"]


def test_headers_of_the_user_stay() -> None:
    rows = add_origin(batch(b"a", b"b", headers=[[("x", b"1")], []]), Origin(QUERY, 0, 1))
    fresh, _ = only_new(rows, {})
    assert fresh.column("headers").to_pylist() == [[{"key": "x", "value": b"1"}], []]


def test_rows_without_the_header_are_always_new() -> None:
    rows = batch(b"a", b"b", b"c", headers=[[], [("x", b"1")], []])
    fresh, seen = only_new(rows, {})
    assert values(fresh) == [b"a", b"b", b"c"]
    assert fresh.column("headers").to_pylist() == [[], [{"key": "x", "value": b"1"}], []]
    assert seen == {}


@given(st.lists(st.integers(0, 9), min_size=1, max_size=6), st.data())
def test_any_crashes_of_a_writer_leave_each_record_counted_once(
    sizes: list[int], data: st.DataObject
) -> None:
    """Every micro-batch is written in part several times, then whole; reads cut the topic anywhere."""
    topic: list[pa.RecordBatch] = []
    for number, size in enumerate(sizes):
        records = [b"%d-%d" % (number, i) for i in range(size)]
        attempts = data.draw(st.lists(st.integers(0, size), max_size=2))
        topic += [written(number, *records).slice(0, length) for length in [*attempts, size]]
    rows = joined(*topic) if sum(b.num_rows for b in topic) else batch()
    counted: list[bytes] = []
    seen: dict[str, int] = {}
    at = 0
    while at < rows.num_rows:
        length = data.draw(st.integers(1, rows.num_rows - at))
        fresh, seen = only_new(rows.slice(at, length), seen)
        counted += values(fresh)
        at += length
    assert counted == [b"%d-%d" % (n, i) for n, size in enumerate(sizes) for i in range(size)]
