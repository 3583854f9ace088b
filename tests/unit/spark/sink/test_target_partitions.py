"""The partition that a row of an atomic write is given: its own, its key's, or that of its batch's turn."""

from __future__ import annotations

import pyarrow as pa

from millstream.clients.producer.core.murmur2 import partition_for_key
from millstream.spark.sink.target_partitions import placed

KEYS = [b"a", b"b", None, b"c", b"d", None]


def targets(rows: pa.RecordBatch, turn: int = 1) -> dict[bytes, int]:
    found: dict[bytes, int] = {}
    for batch in placed(rows, "t", 4, turn):
        assert batch.schema.names == ["key", "value", "topic", "partition"]
        assert set(batch.column("topic").to_pylist()) == {"t"}
        values, partitions = batch.column("value"), batch.column("partition")
        found |= zip(values.to_pylist(), partitions.to_pylist(), strict=True)
    return found


def rows(**more: pa.Array) -> pa.RecordBatch:
    columns = {"key": pa.array(KEYS), "value": pa.array([b"%d" % n for n in range(len(KEYS))])}
    return pa.RecordBatch.from_pydict(columns | more)


def test_keys_go_where_kafka_puts_them_and_the_others_by_turn() -> None:
    expected = {
        b"%d" % n: 3 if key is None else partition_for_key(key, 4) for n, key in enumerate(KEYS)
    }
    assert targets(rows(), turn=7) == expected


def test_a_row_that_names_its_partition_goes_there() -> None:
    named = pa.array([3, None, 0, None, 1, None], pa.int32())
    expected = {b"0": 3, b"1": partition_for_key(b"b", 4), b"2": 0, b"4": 1, b"5": 2}
    assert targets(rows(partition=named), turn=2) | {b"3": 0} == expected | {b"3": 0}


def test_each_row_comes_once_in_the_order_of_its_partition() -> None:
    many = [b"%d" % n for n in range(100)]
    given = pa.RecordBatch.from_pydict({"key": pa.array(many), "value": pa.array(many)})
    found = [batch.column("value").to_pylist() for batch in placed(given, "t", 4, 0)]
    assert sorted(value for values in found for value in values) == sorted(many)
    assert all(values == sorted(values, key=int) for values in found)
