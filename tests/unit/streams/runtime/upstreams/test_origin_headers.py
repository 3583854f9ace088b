"""The headers in which records of a repartition topic say where they come from."""

from __future__ import annotations

import pyarrow as pa

from millstream.records.arrow import HEADERS_TYPE
from millstream.streams.kernel.columns.batch import Headers
from millstream.streams.runtime.upstreams.origin_headers import (
    batch_header,
    headers_and_origins,
    origin_header,
)

OF_4, OF_5 = batch_header(4), batch_header(5)
ONE, TWO = origin_header(1, 100), origin_header(2, 200)


def read(
    *batches: list[Headers], append_times: bool = False
) -> tuple[list[Headers] | None, list[tuple[int, int]]]:
    """Returns the other headers, and upstream task and time of each record; timestamps are 7, 8, 9 and so on."""
    rows = [row for batch in batches for row in batch]
    headers = [[{"key": k, "value": v} for k, v in row] for row in rows]
    bases = [100 * number for number, batch in enumerate(batches) for _ in batch]
    columns = {
        "headers": pa.array(headers, HEADERS_TYPE),
        "timestamp": pa.array(range(7, 7 + len(rows)), pa.int64()),
        "baseOffset": pa.array(bases, pa.int64()),
        "timestampType": pa.array([int(append_times)] * len(rows), pa.int32()),
    }
    left, upstreams, times = headers_and_origins(pa.RecordBatch.from_pydict(columns))
    return left, list(zip(upstreams.tolist(), times.tolist(), strict=True))


def test_their_bytes_are_the_partition_of_the_task_and_a_time() -> None:
    assert OF_4 == ("_origin", b"\x00\x00\x00\x04")
    assert ONE == ("_origin", b"\x00\x00\x00\x01" + b"\x00\x00\x00\x00\x00\x00\x00\x64")


def test_the_first_record_of_a_batch_speaks_for_all_of_it() -> None:
    assert read([(OF_4,), (), ()], [(OF_5,), ()]) == (
        None,
        [(4, 7), (4, 8), (4, 9), (5, 10), (5, 11)],
    )


def test_a_record_whose_origin_time_is_another_than_its_timestamp_says_so() -> None:
    assert read([(OF_4, ONE), (), (TWO,), ()]) == (None, [(1, 100), (4, 8), (2, 200), (4, 10)])


def test_records_without_any_come_from_an_unknown_task_at_their_own_time() -> None:
    assert read([(OF_4,)], [(), ()], [(ONE,), ()]) == (
        None,
        [(4, 7), (-1, 8), (-1, 9), (1, 100), (-1, 11)],
    )
    assert read() == (None, [])


def test_a_timestamp_that_the_broker_has_given_is_no_origin_time() -> None:
    assert read([(OF_4,), (ONE,)], append_times=True) == (None, [(4, -1), (1, 100)])
    user = ("a", b"x")
    assert read([(OF_4,), (user, ONE)], append_times=True) == (
        [(), (user,)],
        [(4, -1), (1, 100)],
    )


def test_a_record_without_headers_does_not_take_those_of_the_next() -> None:
    """Three records, and three headers in all."""
    user = ("a", b"x")
    assert read([(), (ONE,), (user, TWO)]) == ([(), (), (user,)], [(-1, 7), (1, 100), (2, 200)])
    assert read([(), (ONE, TWO)]) == ([(), (ONE,)], [(-1, 7), (2, 200)])


def test_users_keep_those_of_the_same_name_and_size() -> None:
    user, short = ("_origin", b"twelve bytes"), ("_origin", b"four")
    assert read([(user, ("a", None), ONE)]) == ([(user, ("a", None))], [(1, 100)])
    assert read([(OF_4, short, ONE), (short, TWO)]) == (
        [(short,), (short,)],
        [(1, 100), (2, 200)],
    )
    assert read([(OF_4,), (short,)]) == ([(), (short,)], [(4, 7), (4, 8)])


def test_one_of_another_size_is_a_users() -> None:
    odd, nothing = ("_origin", b"short"), ("_origin", None)
    assert read([(odd,), (ONE, nothing)]) == ([(odd,), (nothing,)], [(-1, 7), (1, 100)])
