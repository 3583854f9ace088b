"""Asks the transaction coordinator whether a producer may write to partitions as part of its transaction (KIP-890).

Producers that raise their epoch with every transaction leave adding partitions to the brokers they write to; the others
add for themselves and are verified. Translates the coordinator's errors into those that the client's version knows;
handlers decide what is written and answered.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import Enum
from itertools import groupby

from millstream.broker.transactions.coordinator_channel import TransactionCoordinatorChannel
from millstream.errors import (
    InvalidProducerEpoch,
    InvalidTxnState,
    KafkaError,
    ProducerFenced,
    TransactionAbortable,
    error_for,
)
from millstream.model import TopicPartition
from millstream.protocol.generated.add_partitions_to_txn import (
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)


class SupportedOperation(Enum):
    """The operation that the client's request version supports (Kafka's TransactionSupportedOperation)."""

    ADD_PARTITION = "add partition"
    """The broker adds partitions for the client."""
    GENERIC_ERROR_SUPPORTED = "generic error supported"
    """The broker verifies; the client knows TRANSACTION_ABORTABLE."""
    DEFAULT_ERROR = "default error"
    """The broker verifies; the client does not know TRANSACTION_ABORTABLE."""

    @classmethod
    def of(cls, version: int, *, adds_from: int) -> SupportedOperation:
        """Returns that of a request: brokers add partitions from one version on, and the one before knows the error."""
        if version >= adds_from:
            return cls.ADD_PARTITION
        return cls.GENERIC_ERROR_SUPPORTED if version == adds_from - 1 else cls.DEFAULT_ERROR


@dataclass(frozen=True, slots=True)
class TransactionalProducer:
    """The producer that writes in a transaction, and what its version of the request supports."""

    transactional_id: str
    producer_id: int
    producer_epoch: int
    operation: SupportedOperation


async def verify_partitions(
    coordinator: TransactionCoordinatorChannel,
    producer: TransactionalProducer,
    partitions: Collection[TopicPartition],
) -> Mapping[TopicPartition, KafkaError]:
    """Returns the error of each partition that may not be written to; empty when all may."""
    request = AddPartitionsToTxnTransaction(
        transactional_id=producer.transactional_id,
        producer_id=producer.producer_id,
        producer_epoch=producer.producer_epoch,
        verify_only=producer.operation is not SupportedOperation.ADD_PARTITION,
        topics=[
            AddPartitionsToTxnTopic(topic, [p.partition for p in group])
            for topic, group in groupby(sorted(partitions), lambda p: p.topic)
        ],
    )
    try:
        result = await coordinator.add_partitions(request)
    except KafkaError as error:
        return dict.fromkeys(partitions, _for_client(error, producer))
    return {
        TopicPartition(topic.name, each.partition_index): _for_client(
            error_for(each.partition_error_code), producer
        )
        for topic in result.topic_results
        for each in topic.results_by_partition
        if each.partition_error_code
    }


def _for_client(error: KafkaError, producer: TransactionalProducer) -> KafkaError:
    if isinstance(error, ProducerFenced):
        return InvalidProducerEpoch(str(error))
    if (
        isinstance(error, TransactionAbortable)
        and producer.operation is SupportedOperation.DEFAULT_ERROR
    ):
        return InvalidTxnState("the partition was not added to the transaction")
    return error
