"""The header in which a record of a repartition topic says where it comes from."""

from __future__ import annotations

import pyarrow as pa

from millstream.records.arrow import HEADERS_TYPE
from millstream.streams.kernel.columns.batch import Headers
from millstream.streams.runtime.upstreams.origin_headers import headers_and_origins, origin_header

ONE, TWO = origin_header(1, 100), origin_header(2, 200)


def read(*rows: Headers | None) -> tuple[list[Headers] | None, list[tuple[int, int]]]:
    """Returns the other headers, and upstream task and time of each; timestamps are 7, 8, 9 and so on."""
    headers = [None if row is None else [{"key": k, "value": v} for k, v in row] for row in rows]
    columns = {
        "headers": pa.array(headers, HEADERS_TYPE),
        "timestamp": pa.array(range(7, 7 + len(rows)), pa.int64()),
    }
    left, origins = headers_and_origins(pa.RecordBatch.from_pydict(columns))
    return left, list(zip(origins.upstreams.tolist(), origins.times.tolist(), strict=True))


def test_its_bytes_are_the_partition_of_the_task_and_its_time() -> None:
    assert ONE == ("_origin", b"\x00\x00\x00\x01" + b"\x00\x00\x00\x00\x00\x00\x00\x64")


def test_records_without_it_come_from_an_unknown_task_at_their_own_time() -> None:
    assert read((), (ONE,), None) == (None, [(-1, 7), (1, 100), (-1, 9)])
    assert read() == (None, [])


def test_a_record_without_headers_does_not_take_those_of_the_next() -> None:
    """Three records, and three headers in all."""
    assert read(None, (ONE,), (("a", b"x"), TWO)) == (
        [(), (), (("a", b"x"),)],
        [(-1, 7), (1, 100), (2, 200)],
    )
    assert read((), (ONE, TWO)) == ([(), (ONE,)], [(-1, 7), (2, 200)])


def test_the_last_one_counts_and_users_keep_theirs_of_the_same_name_and_size() -> None:
    user = ("_origin", b"twelve bytes")
    assert read((user, ("a", None), ONE)) == ([(user, ("a", None))], [(1, 100)])


def test_one_of_another_size_is_a_users() -> None:
    short, nothing = ("_origin", b"short"), ("_origin", None)
    assert read((short,), (ONE, nothing)) == ([(short,), (nothing,)], [(-1, 7), (1, 100)])
