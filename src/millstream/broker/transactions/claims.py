"""Asks the transaction coordinator whether a producer may write to partitions as part of its transaction (KIP-890).

Producers that raise their epoch with every transaction leave adding partitions to the brokers they write to; the others add
for themselves and are verified. Owns what the coordinator's errors become for whoever asked. What is written, and what may be
told to clients, is for the handlers.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import Enum
from itertools import groupby
from typing import Final

from millstream.broker.coordination.transaction_coordination import TransactionCoordination
from millstream.coordinator.result import NO_TOKEN, Caller
from millstream.coordinator.transaction.shard import TransactionShard
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
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)

_BROKER: Final = Caller(NO_TOKEN, api_version=5)
"""A broker that asks, in the version of AddPartitionsToTxn that brokers speak."""


class ClaimKind(Enum):
    ADDS = "adds"
    """The client leaves adding to us."""
    VERIFIES = "verifies"
    VERIFIES_FOR_OLD_CLIENTS = "verifies for old clients"
    """They do not know TRANSACTION_ABORTABLE."""


@dataclass(frozen=True, slots=True)
class TransactionClaim:
    """In whose transaction somebody wants to write."""

    transactional_id: str
    producer_id: int
    producer_epoch: int
    kind: ClaimKind


async def claim_partitions(
    coordinator: TransactionCoordination,
    claim: TransactionClaim,
    partitions: Collection[TopicPartition],
) -> Mapping[TopicPartition, KafkaError]:
    """Why each partition may not be written to; empty when all may."""
    request = AddPartitionsToTxnTransaction(
        transactional_id=claim.transactional_id,
        producer_id=claim.producer_id,
        producer_epoch=claim.producer_epoch,
        verify_only=claim.kind is not ClaimKind.ADDS,
        topics=[
            AddPartitionsToTxnTopic(topic, [p.partition for p in group])
            for topic, group in groupby(sorted(partitions), lambda p: p.topic)
        ],
    )
    try:
        result = await coordinator.ask(
            claim.transactional_id,
            TransactionShard.handle,
            request,
            AddPartitionsToTxnResult,
            _BROKER,
        )
    except KafkaError as error:
        return dict.fromkeys(partitions, _for_client(error, claim))
    return {
        TopicPartition(topic.name, each.partition_index): _for_client(
            error_for(each.partition_error_code), claim
        )
        for topic in result.topic_results
        for each in topic.results_by_partition
        if each.partition_error_code
    }


def _for_client(error: KafkaError, claim: TransactionClaim) -> KafkaError:
    if isinstance(error, ProducerFenced):
        return InvalidProducerEpoch(str(error))
    if isinstance(error, TransactionAbortable) and claim.kind is ClaimKind.VERIFIES_FOR_OLD_CLIENTS:
        return InvalidTxnState("the partition was not added to the transaction")
    return error
