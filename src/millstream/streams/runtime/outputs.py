"""Writes what a task has produced: columns of the kernel to record batches, each row to its partition."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from millstream.clients import BatchDelivery, Producer
from millstream.errors import MillstreamError
from millstream.model import TopicPartition
from millstream.streams.kernel.columns.arrow_bytes import ArrowBytes
from millstream.streams.kernel.columns.batch import SinkBatch, concatenate
from millstream.streams.kernel.task.output import TaskOutput
from millstream.streams.runtime.columns import binary_array, record_batch
from millstream.streams.runtime.upstreams.origin_headers import batch_header

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class WrittenEnds:
    """The offsets after the last records that were written: by changelog topic, and by partition of the
    topics whose readers follow the task.

    None where the broker had forgotten it, as it may with a batch that was sent twice.
    """

    logged: dict[str, int | None]
    followed: dict[TopicPartition, int | None]


async def write(
    producer: Producer, output: TaskOutput, partition: int, followed_topics: Collection[str] = ()
) -> WrittenEnds:
    """Writes changelogs to `partition`, and outputs beside them.

    Returns once every record is acknowledged; raises the first error.

    Without a transaction the outputs come first where a changelog says that a row is gone: a window that waited to be
    closed goes out and leaves its store, and whoever is killed between the two must not have it in neither.
    """
    logged: dict[str, BatchDelivery] = {}
    outputs: list[BatchDelivery] = []
    followed: list[BatchDelivery] = []
    try:
        for batch in output.sinks.values():
            sent = await _send(producer, batch, partition)
            outputs += sent
            if batch.topic in followed_topics:
                followed += sent
        changelogs = [record_batch(batch, partition) for batch in output.changelogs.values()]
        is_exact = producer.config.transactional_id is not None
        if not is_exact and any(rows.column("value").null_count for rows in changelogs):
            await _wait_until_settled(producer)
            for delivery in outputs:
                await delivery
        for topic, rows in zip(output.changelogs, changelogs, strict=True):
            logged[topic] = await producer.send_batch(topic, rows, partition=partition)
    except Exception:
        if producer.config.transactional_id is None:
            await _wait_until_settled(producer)
        raise
    if producer.config.transactional_id is None:
        await _wait_until_settled(producer)
    else:
        await producer.flush()
    for delivery in (*logged.values(), *outputs):
        await delivery
    last = {topic: delivery.last_record().offset for topic, delivery in logged.items()}
    ends: dict[TopicPartition, int | None] = {}
    for each in (record for delivery in followed for record in delivery.last_records()):
        tp = each.topic_partition
        ends[tp] = _after(each.offset) if ends.get(tp, 0) is not None else None
    return WrittenEnds({topic: _after(offset) for topic, offset in last.items()}, ends)


def _after(offset: int) -> int | None:
    return offset + 1 if offset >= 0 else None


def together(outputs: Sequence[TaskOutput]) -> TaskOutput:
    """Joins all of them into one, so that the records of one topic stay in one order."""
    return TaskOutput(
        _joined([each.sinks for each in outputs]),
        _joined([each.changelogs for each in outputs]),
        sum(each.processed for each in outputs),
    )


async def target_partitions(producer: Producer, batch: SinkBatch) -> Sequence[int] | None:
    """Returns the partition of each row; None where its key decides, as the producer knows itself."""
    if batch.partitions is None and batch.partition_keys is None:
        return None
    return _targets(batch, len(await producer.partitions_for(batch.topic)))


def record_count(batches: Mapping[str, SinkBatch]) -> int:
    return sum(len(batch) for batch in batches.values())


def _joined(parts: Sequence[Mapping[str, SinkBatch]]) -> dict[str, SinkBatch]:
    topics = dict.fromkeys(topic for part in parts for topic in part)
    return {
        topic: concatenate([part[topic] for part in parts if topic in part]) for topic in topics
    }


async def _wait_until_settled(producer: Producer) -> None:
    """Waits until all that was sent without a transaction is written or has failed.

    What came to a changelog later would undo what the task's next owner writes. Errors are told by deliveries: those
    that the producer tells may be of another task that shares it.
    """
    with contextlib.suppress(MillstreamError):
        await producer.flush()


async def _send(producer: Producer, batch: SinkBatch, task: int) -> list[BatchDelivery]:
    """Sends each row to the partition that the topology's partitioner, its partition key or its own key says.

    `task`: the partition of the writer.
    """
    rows = record_batch(batch, task)
    columns = rows.column("key"), rows.column("value")
    batch.data_bytes = sum(ArrowBytes(each).size_bytes for each in columns)
    of_batches = () if batch.origin_times is None else (batch_header(task),)
    targets = await target_partitions(producer, batch)
    if targets is None:
        return [await producer.send_batch(batch.topic, rows, batch_headers=of_batches)]
    return [
        await producer.send_batch(batch.topic, part, partition=partition, batch_headers=of_batches)
        for partition, part in _by_partition(rows, targets)
    ]


def _by_partition(
    rows: pa.RecordBatch, targets: Sequence[int]
) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Yields the rows of each partition, in order."""
    import numpy as np
    import pyarrow as pa

    numbers = np.asarray(targets)
    if (
        len(numbers) and (numbers == numbers[0]).all()
    ):  # a task writes what has its keys to its own partition
        yield int(numbers[0]), rows
        return
    for target in np.unique(numbers).tolist():
        yield target, rows.take(pa.array(np.flatnonzero(numbers == target)))


def _targets(batch: SinkBatch, count: int) -> Sequence[int]:
    from millstream.clients.core.arrow_batches import partitions_of

    keys = batch.keys if batch.partition_keys is None else batch.partition_keys
    by_key: list[int] = partitions_of(binary_array(keys), count, without_key=0).to_pylist()
    if batch.partitions is None:
        return by_key
    return [
        by_its_key if partition is None else partition
        for by_its_key, partition in zip(by_key, batch.partitions, strict=True)
    ]
