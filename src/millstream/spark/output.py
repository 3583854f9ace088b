"""What a stream task has produced, into topics: columns of the kernel to Arrow to record batches, all acknowledged."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from millstream.clients import BatchDelivery, Producer
from millstream.clients.core.murmur2 import partition_for_key
from millstream.streams.kernel.batch import SinkBatch

if TYPE_CHECKING:
    import pyarrow as pa


async def write_outputs(producer: Producer, batches: Iterable[SinkBatch]) -> int:
    """Records of sinks, each to the partition that its key or the topology's partitioner says. Returns their number.

    Returns once every record is acknowledged; raises the first error.
    """
    deliveries: list[BatchDelivery] = []
    written = 0
    for batch in batches:
        written += len(batch)
        count = len(await producer.partitions_for(batch.topic))
        for partition, rows in _by_partition(batch, count):
            deliveries.append(await producer.send_batch(batch.topic, rows, partition=partition))
    await _acknowledged(producer, deliveries)
    return written


async def write_changelogs(producer: Producer, batches: Iterable[SinkBatch], partition: int) -> int:
    """Records of changelogs; all belong to the task's own partition. Otherwise as `write_outputs`."""
    deliveries = []
    written = 0
    for batch in batches:
        written += len(batch)
        deliveries.append(
            await producer.send_batch(batch.topic, _columns(batch), partition=partition)
        )
    await _acknowledged(producer, deliveries)
    return written


async def _acknowledged(producer: Producer, deliveries: list[BatchDelivery]) -> None:
    await producer.flush()
    for delivery in deliveries:
        await delivery


def _by_partition(batch: SinkBatch, count: int) -> Iterator[tuple[int | None, pa.RecordBatch]]:
    """Rows grouped by partition, in order; (None, all rows) where the producer may decide by the records' own keys."""
    if batch.partitions is None and batch.partition_keys is None:
        yield None, _columns(batch)
        return
    targets = _targets(batch, count)
    for target in sorted(set(targets)):
        rows = [row for row, each in enumerate(targets) if each == target]
        yield target, _columns(batch.take(rows))


def _targets(batch: SinkBatch, count: int) -> Sequence[int]:
    keys = batch.keys if batch.partition_keys is None else batch.partition_keys
    chosen = batch.partitions or [None] * len(batch)
    by_key = {key: 0 if key is None else partition_for_key(key, count) for key in set(keys)}
    return [
        by_key[key] if partition is None else partition
        for key, partition in zip(keys, chosen, strict=True)
    ]


def _columns(batch: SinkBatch) -> pa.RecordBatch:
    import pyarrow as pa

    from millstream.records.arrow import HEADERS_TYPE

    columns = {
        "key": pa.array(batch.keys, pa.binary()),
        "value": pa.array(batch.values, pa.binary()),
        "timestamp": pa.array(batch.timestamps, pa.int64()),
    }
    if any(batch.headers):
        columns["headers"] = pa.array(
            [[{"key": name, "value": value} for name, value in each] for each in batch.headers],
            HEADERS_TYPE,
        )
    return pa.RecordBatch.from_pydict(columns)
