"""Records that brokers refuse: finds them, asks the application's production handler, and leaves out what it says.

A refused record ends its transaction, so the others are written anew without it. Which records are refused is
found out by writing them one by one in transactions that are aborted; those that were only carried along by
another's failure are tried again.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from millstream.clients import Producer
from millstream.clients.producer.delivery import Delivery
from millstream.clients.producer.transaction.core.errors import (
    TransactionAborted,
    TransactionFailed,
)
from millstream.errors import (
    ClusterAuthorizationFailed,
    GroupAuthorizationFailed,
    InvalidProducerEpoch,
    InvalidProducerIdMapping,
    InvalidTopic,
    KafkaError,
    MessageTooLarge,
    MillstreamError,
    OffsetMetadataTooLarge,
    OutOfOrderSequenceNumber,
    ProducerFenced,
    SaslAuthenticationFailed,
    SecurityDisabled,
    TopicAuthorizationFailed,
    TransactionalIdAuthorizationFailed,
    UnknownServerError,
)
from millstream.streams.handlers import OutgoingRecord
from millstream.streams.kernel.columns.batch import SinkBatch
from millstream.streams.kernel.task.output import TaskOutput
from millstream.streams.runtime.outputs import target_partitions
from millstream.streams.runtime.upstreams.origin_headers import origin_header

_NO_RECORDS_FAULT: Final = (
    SaslAuthenticationFailed,
    TopicAuthorizationFailed,
    GroupAuthorizationFailed,
    ClusterAuthorizationFailed,
    TransactionalIdAuthorizationFailed,
    SecurityDisabled,
    InvalidTopic,
    UnknownServerError,
    OffsetMetadataTooLarge,
    ProducerFenced,
    InvalidProducerIdMapping,
    InvalidProducerEpoch,
    OutOfOrderSequenceNumber,
)
"""Kafka Streams stops at these without asking the handler (RecordCollectorImpl)."""


@dataclass(frozen=True, slots=True)
class RefusedRecord:
    """A row of the output to one topic, and why brokers do not take it."""

    topic: str
    row: int
    error: KafkaError


def is_refusal(error: MillstreamError) -> bool:
    """Whether a write has failed with what may be the fault of a record.

    What may pass is left to whoever runs the task again.
    """
    cause = error.__cause__ if isinstance(error, TransactionFailed) else error
    return (
        isinstance(cause, KafkaError)
        and not cause.retriable
        and not isinstance(cause, _NO_RECORDS_FAULT)
    )


async def refused_records(producer: Producer, output: TaskOutput, task: int) -> list[RefusedRecord]:
    """Finds the records of sinks that are refused. With a producer that has no transactions the others are written.

    `task`: the partition of the task that writes.
    """
    refused: list[RefusedRecord] = []
    for batch in output.sinks.values():
        targets = await target_partitions(producer, batch)
        rows = list(range(len(batch)))
        while rows:
            found, unknown = await _tried(producer, batch, targets, rows, task)
            refused += found
            rows = unknown if found else []
    return refused


def outgoing(output: TaskOutput, refused: RefusedRecord) -> OutgoingRecord:
    """Returns the record as handlers see it."""
    batch, row = output.sinks[refused.topic], refused.row
    return OutgoingRecord(
        refused.topic,
        batch.keys[row],
        batch.values[row],
        batch.timestamps[row],
        batch.headers[row],
    )


def without(output: TaskOutput, refused: list[RefusedRecord]) -> TaskOutput:
    """Returns the output that is left. It counts as processed what it did."""
    out = {(each.topic, each.row) for each in refused}
    left = {
        topic: batch.take([row for row in range(len(batch)) if (topic, row) not in out])
        for topic, batch in output.sinks.items()
    }
    sinks = {topic: batch for topic, batch in left.items() if len(batch)}
    return TaskOutput(sinks, output.changelogs, output.processed)


async def _tried(
    producer: Producer,
    batch: SinkBatch,
    targets: Sequence[int] | None,
    rows: Sequence[int],
    task: int,
) -> tuple[list[RefusedRecord], list[int]]:
    """Writes rows one by one, and returns those that are refused and those that were not tried because of them."""
    is_transactional = producer.config.transactional_id is not None
    if is_transactional:
        await producer.begin_transaction()
    sent: list[tuple[int, Delivery]] = []
    refused: list[RefusedRecord] = []
    unknown: list[int] = []
    for row in rows:
        try:
            target = targets[row] if targets else None
            sent.append((row, await _sent(producer, batch, row, target, task)))
        except (TransactionFailed, TransactionAborted):
            unknown.append(row)
        except MessageTooLarge as error:  # for the producer itself
            refused.append(RefusedRecord(batch.topic, row, error))
    with contextlib.suppress(MillstreamError):  # each delivery has its own
        await producer.flush()
    for row, delivery in sent:
        try:
            await delivery
        except (TransactionFailed, TransactionAborted):
            unknown.append(row)
        except KafkaError as error:
            if not is_refusal(error):
                raise
            refused.append(RefusedRecord(batch.topic, row, error))
    if is_transactional:
        await producer.abort_transaction()
    return refused, sorted(unknown)


async def _sent(
    producer: Producer, batch: SinkBatch, row: int, partition: int | None, task: int
) -> Delivery:
    timestamp_ms = batch.timestamps[row]
    headers = list(batch.headers[row])
    if batch.origin_times is not None:
        headers.append(origin_header(task, int(batch.origin_times[row])))
    return await producer.send(
        batch.topic,
        batch.values[row],
        key=batch.keys[row],
        headers=headers,
        partition=partition,
        timestamp_ms=timestamp_ms if timestamp_ms >= 0 else None,
    )
