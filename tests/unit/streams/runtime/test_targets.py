"""The partition of each record that a task writes: what the topology says, or else what its partition key or its own key hashes to."""

from __future__ import annotations

from typing import cast

import pyarrow as pa
import pytest

from millstream.clients import BatchDelivery, Producer
from millstream.clients.config import ProducerConfig
from millstream.clients.config.settings import parse_settings
from millstream.clients.core.arrow_batches import rows_by_partition
from millstream.clients.producer.core.murmur2 import partition_for_key
from millstream.streams.kernel.columns.arrow_bytes import ArrowBytes
from millstream.streams.kernel.columns.batch import SinkBatch
from millstream.streams.kernel.task.output import TaskOutput
from millstream.streams.runtime.outputs import target_partitions, write

KEYS: list[bytes | None] = [b"a", b"b", None, b"", b"a"]
OF_KEYS = [partition_for_key(b"a", 4), partition_for_key(b"b", 4), 0, partition_for_key(b"", 4)]
OF_KEYS.append(OF_KEYS[0])


class FourPartitions:
    """Stands for a producer of a topic with four partitions; notes the rows that it is sent."""

    def __init__(self) -> None:
        settings = {"bootstrap_servers": "x:1", "transactional_id": "task"}
        self.config = parse_settings(ProducerConfig, settings)
        self.sent: list[tuple[int, list[bytes | None]]] = []

    async def partitions_for(self, _topic: str) -> list[int]:
        return [0, 1, 2, 3]

    async def send_batch(
        self, _topic: str, rows: pa.RecordBatch, partition: int, batch_headers: tuple[()]
    ) -> BatchDelivery:
        assert not batch_headers
        self.sent.append((partition, rows.column("value").to_pylist()))
        raise ConnectionError  # all that is wanted is known


def batch(partition_keys: object, partitions: list[int | None] | None = None) -> SinkBatch:
    keys: list[bytes | None] = [b"key %d" % row for row in range(5)]
    given = SinkBatch("out", keys, keys, [0] * 5, [()] * 5, partitions)
    given.partition_keys = cast("list[bytes | None]", partition_keys)
    return given


@pytest.mark.parametrize("keys", [KEYS, ArrowBytes(pa.array(KEYS, pa.binary()))])
async def test_records_go_where_their_partition_keys_hash_to_and_nulls_to_the_first(
    keys: object,
) -> None:
    producer = cast("Producer", FourPartitions())
    assert await target_partitions(producer, batch(keys)) == OF_KEYS


async def test_what_the_topology_says_comes_first() -> None:
    producer = cast("Producer", FourPartitions())
    given = batch(KEYS, [3, None, 3, None, None])
    assert await target_partitions(producer, given) == [3, OF_KEYS[1], 3, OF_KEYS[3], OF_KEYS[4]]


async def test_records_of_one_partition_go_in_one_piece() -> None:
    producer = FourPartitions()
    with pytest.raises(ConnectionError):
        await write(
            cast("Producer", producer), TaskOutput({"out": batch([b"b"] * 5)}, {}), OF_KEYS[1]
        )
    assert producer.sent == [(OF_KEYS[1], [b"key %d" % row for row in range(5)])]


def test_rows_whose_keys_are_of_one_partition_are_not_copied() -> None:
    keys = pa.array([b"b", b"b", None], pa.binary())
    rows = pa.RecordBatch.from_pydict({"key": keys, "value": keys})
    ((partition, whole),) = rows_by_partition(rows, None, 4, OF_KEYS[1])
    assert partition == OF_KEYS[1]
    assert whole is rows
