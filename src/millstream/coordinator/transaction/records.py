"""Transactions as records of `__transaction_state`, in Kafka 4.3's format: value version 0, or 1 from
transaction.version 1 on.
"""

from __future__ import annotations

from itertools import groupby

from millstream.coordinator.record import CoordinatorRecord
from millstream.coordinator.transaction.state import (
    STATE_BY_STATUS,
    STATUS_BY_STATE,
    TransactionVersion,
)
from millstream.coordinator.transaction.transaction import TransactionMetadata
from millstream.model import ProducerId, TopicPartition
from millstream.protocol.enums import TransactionState
from millstream.protocol.generated.transaction_records import (
    PartitionsSchema,
    TransactionLogKey,
    TransactionLogValue,
)


def transaction_record(
    transaction: TransactionMetadata, level: TransactionVersion
) -> CoordinatorRecord:
    """Returns the record of a transaction.

    `level`: the finalized transaction.version, which decides the version of the value.
    """
    value = TransactionLogValue(
        producer_id=transaction.producer_id,
        producer_epoch=transaction.producer_epoch,
        transaction_timeout_ms=transaction.timeout_ms,
        transaction_status=STATUS_BY_STATE[transaction.state],
        transaction_partitions=_partitions(transaction),
        transaction_last_update_timestamp_ms=transaction.last_update_timestamp_ms,
        transaction_start_timestamp_ms=transaction.start_timestamp_ms,
    )
    if level.value_version >= 1:
        value.previous_producer_id = transaction.previous_producer_id
        value.next_producer_id = transaction.next_producer_id
        value.client_transaction_version = transaction.client_version
    return CoordinatorRecord(
        TransactionLogKey(transaction.transactional_id), value, level.value_version
    )


def transaction_tombstone(transactional_id: str) -> CoordinatorRecord:
    return CoordinatorRecord(TransactionLogKey(transactional_id), None)


def transaction_from_value(
    transactional_id: str, value: TransactionLogValue
) -> TransactionMetadata:
    return TransactionMetadata(
        transactional_id=transactional_id,
        producer_id=ProducerId(value.producer_id),
        producer_epoch=value.producer_epoch,
        timeout_ms=value.transaction_timeout_ms,
        state=STATE_BY_STATUS[value.transaction_status],
        partitions=frozenset(
            TopicPartition(topic.topic, number)
            for topic in value.transaction_partitions or ()
            for number in topic.partition_ids
        ),
        start_timestamp_ms=value.transaction_start_timestamp_ms,
        last_update_timestamp_ms=value.transaction_last_update_timestamp_ms,
        previous_producer_id=ProducerId(value.previous_producer_id),
        next_producer_id=ProducerId(value.next_producer_id),
        client_version=TransactionVersion(value.client_transaction_version),
    )


def _partitions(transaction: TransactionMetadata) -> list[PartitionsSchema] | None:
    if transaction.state is TransactionState.EMPTY:
        return None
    return [
        PartitionsSchema(topic, [p.partition for p in partitions])
        for topic, partitions in groupby(sorted(transaction.partitions), lambda p: p.topic)
    ]
