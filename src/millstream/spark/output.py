"""Writes the output of a stream task to topics: columns of the kernel to Arrow to record batches, all acknowledged."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from millstream.clients import BatchDelivery, Producer
from millstream.clients.producer.core.murmur2 import partition_for_key
from millstream.spark.origin import Origin, add_origin
from millstream.streams.kernel.columns.batch import SinkBatch, concatenate
from millstream.streams.kernel.task.stream_task import TaskOutput

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class Destination:
    """`partition`: the task's own, where its changelogs go. Records of `repartition_topics` carry their origin."""

    partition: int
    repartition_topics: frozenset[str]
    origin: Origin


async def write(producer: Producer, output: TaskOutput, to: Destination) -> dict[str, int]:
    """Changelogs and outputs, side by side. Returns once every record is acknowledged; raises the first error.

    Gives back, by changelog topic, the offset of a record that was written to it.
    """
    logged = {
        batch.topic: await producer.send_batch(batch.topic, _columns(batch), partition=to.partition)
        for batch in output.changelogs.values()
    }
    deliveries = list(logged.values())
    for batch in output.sinks.values():
        rows = _columns(batch)
        if batch.topic in to.repartition_topics:
            rows = add_origin(rows, to.origin)
        deliveries += await _send(producer, batch, rows)
    await producer.flush()
    for delivery in deliveries:
        await delivery
    return {topic: delivery.result()[-1].offset for topic, delivery in logged.items()}


def together(first: TaskOutput, second: TaskOutput) -> TaskOutput:
    """Both as one, so that the records of one topic stay in one order and are numbered together."""
    return TaskOutput(
        _joined(first.sinks, second.sinks),
        _joined(first.changelogs, second.changelogs),
        first.processed + second.processed,
    )


def _joined(
    first: Mapping[str, SinkBatch], second: Mapping[str, SinkBatch]
) -> dict[str, SinkBatch]:
    return {
        topic: concatenate([each[topic] for each in (first, second) if topic in each])
        for topic in {**first, **second}
    }


def record_count(batches: Mapping[str, SinkBatch]) -> int:
    return sum(len(batch) for batch in batches.values())


async def _send(producer: Producer, batch: SinkBatch, rows: pa.RecordBatch) -> list[BatchDelivery]:
    """Each row to the partition that the topology's partitioner, its partition key or its own key says."""
    if batch.partitions is None and batch.partition_keys is None:
        return [await producer.send_batch(batch.topic, rows)]
    count = len(await producer.partitions_for(batch.topic))
    return [
        await producer.send_batch(batch.topic, part, partition=partition)
        for partition, part in _by_partition(rows, _targets(batch, count))
    ]


def _by_partition(
    rows: pa.RecordBatch, targets: Sequence[int]
) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Rows grouped by partition, in order."""
    import numpy as np
    import pyarrow as pa

    numbers = np.asarray(targets)
    for target in np.unique(numbers).tolist():
        yield target, rows.take(pa.array(np.flatnonzero(numbers == target)))


def _targets(batch: SinkBatch, count: int) -> Sequence[int]:
    keys = batch.keys if batch.partition_keys is None else batch.partition_keys
    by_key = {key: 0 if key is None else partition_for_key(key, count) for key in set(keys)}
    if batch.partitions is None:
        return [by_key[key] for key in keys]
    return [
        by_key[key] if partition is None else partition
        for key, partition in zip(keys, batch.partitions, strict=True)
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
