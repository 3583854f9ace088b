"""Transactional batches of a Produce request: whose transaction they belong to, and whether its coordinator knows of it.

Only the first batch of a transaction in a partition needs to ask; what follows it is recognised by the log. Every batch is
looked at, not only the request around it (CVE-2018-17196).
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Self

from millstream.broker.config.broker_config import BrokerConfig
from millstream.broker.coordination.transaction_coordination import TransactionCoordination
from millstream.broker.node.services import Partitions
from millstream.broker.transactions.claims import ClaimKind, TransactionClaim, claim_partitions
from millstream.errors import (
    ConcurrentTransactions,
    CoordinatorLoadInProgress,
    CoordinatorNotAvailable,
    InvalidProducerEpoch,
    InvalidProducerIdMapping,
    InvalidTxnState,
    KafkaError,
    NotCoordinator,
    NotEnoughReplicas,
    TransactionalIdAuthorizationFailed,
    error_for,
)
from millstream.metadata.image import MetadataImage
from millstream.model import TopicPartition
from millstream.protocol.generated.produce import ProduceRequest, TopicProduceData
from millstream.records.batch import (
    BATCH_HEADER_BYTES,
    MAGIC,
    TRANSACTIONAL_BIT,
    BatchHeader,
    read_header,
)
from millstream.replication.partition import Partition

_MAGIC_AT: Final = 16
_ATTRIBUTES_AT: Final = 22
"""The lower byte of the attributes, in which the transactional bit lies."""
_ADDS_VERSION: Final = 12
_KNOWS_ABORTABLE_VERSION: Final = 11
_TOPIC_ID_VERSION: Final = 13
_NOT_VERIFIED: Final = (CoordinatorLoadInProgress, CoordinatorNotAvailable, NotCoordinator)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is known of the transactional batches of one request when they are appended."""

    refused: Mapping[TopicPartition, KafkaError] = field(default_factory=dict)
    begins: Mapping[TopicPartition, int] = field(default_factory=dict)
    """Partitions in which the transaction begins, with the last marker offset before the coordinator was asked."""
    sequence_from_0: bool = False

    def check(self, partition: Partition, header: BatchHeader) -> None:
        """Raises why the batch may not be appended. To be asked right before it is."""
        topic_partition = partition.topic_partition
        if topic_partition in self.refused:
            raise self.refused[topic_partition]
        marker_offset = self.begins.get(topic_partition)
        if marker_offset is not None:
            partition.log.producers.check_begins_transaction(
                header, marker_offset, sequence_from_0=self.sequence_from_0
            )


NOTHING_TO_VERIFY: Final = Verdict()


@dataclass(frozen=True, slots=True)
class TransactionalProduce:
    """A request with transactional batches: all of one producer, in the transaction of one transactional id."""

    claim: TransactionClaim
    partitions: tuple[TopicPartition, ...]
    """Where the batches go; without those of unknown topics."""

    @classmethod
    def of(cls, request: ProduceRequest, version: int, image: MetadataImage) -> Self | None:
        """None when no batch is transactional.

        Raises TransactionalIdAuthorizationFailed, InvalidProducerIdMapping: for all partitions alike.
        """
        batches = list(_transactional_batches(request, version, image))
        if not batches:
            return None
        if request.transactional_id is None:
            raise TransactionalIdAuthorizationFailed(
                "a transactional batch needs the transactional id in the request"
            )
        producers = {(header.producer_id, header.producer_epoch) for _, header in batches}
        if len(producers) > 1:
            raise InvalidProducerIdMapping("the batches name more than one producer id")
        ((producer_id, producer_epoch),) = producers
        kind = _kind(version)
        claim = TransactionClaim(request.transactional_id, producer_id, producer_epoch, kind)
        return cls(claim, tuple(partition for partition, _ in batches))

    def verdict_of_logs(self, partitions: Partitions, config: BrokerConfig) -> Verdict:
        """What the logs know: whose epoch has passed, and where this is the first batch of the transaction."""
        claim = self.claim
        if (
            claim.kind is not ClaimKind.ADDS
            and not config.transaction_partition_verification_enable
        ):
            return NOTHING_TO_VERIFY
        refused: dict[TopicPartition, KafkaError] = {}
        begins: dict[TopicPartition, int] = {}
        for topic_partition in self.partitions:
            try:
                partition = partitions.get(*topic_partition)
                partition.check_leader()
                producers = partition.log.producers
                producers.check_epoch(claim.producer_id, claim.producer_epoch)
            except InvalidProducerEpoch as error:
                refused[topic_partition] = _told(error, claim)
            except KafkaError:
                continue  # it is refused when it is to be appended
            else:
                if not producers.has_open_transaction(claim.producer_id, claim.producer_epoch):
                    begins[topic_partition] = producers.last_marker_offset(claim.producer_id)
        return Verdict(refused, begins, sequence_from_0=claim.kind is ClaimKind.ADDS)


async def verdict_of_coordinator(
    produce: TransactionalProduce,
    partitions: Partitions,
    config: BrokerConfig,
    transaction_coordinator: TransactionCoordination,
) -> Verdict:
    """Adds or verifies where a transaction begins. One that is just being completed is waited for a moment."""
    claim = produce.claim
    verdict = produce.verdict_of_logs(partitions, config)
    if not verdict.begins:
        return verdict
    remaining_ms = config.add_partitions_to_txn_retry_backoff_max_ms
    while True:
        errors = await claim_partitions(transaction_coordinator, claim, verdict.begins.keys())
        is_early = any(isinstance(error, ConcurrentTransactions) for error in errors.values())
        if not is_early or claim.kind is not ClaimKind.ADDS or remaining_ms <= 0:
            break
        await asyncio.sleep(config.add_partitions_to_txn_retry_backoff_ms / 1000)
        remaining_ms -= config.add_partitions_to_txn_retry_backoff_ms
    told = {partition: _told(error, claim) for partition, error in errors.items()}
    return replace(verdict, refused={**verdict.refused, **told})


def _told(error: KafkaError, claim: TransactionClaim) -> KafkaError:
    """As Kafka words it: with a reason where the code alone would mislead.

    Old producers know no errors of coordinators in a Produce response: what passes by itself looks like a slow replica.
    """
    if isinstance(error, InvalidTxnState):
        return InvalidTxnState("the partition was not added to the transaction")
    is_concurrent = isinstance(error, ConcurrentTransactions)
    if isinstance(error, _NOT_VERIFIED) or (is_concurrent and claim.kind is not ClaimKind.ADDS):
        return NotEnoughReplicas(
            f"unable to verify that the partition has been added to the transaction: {error}"
        )
    return error if is_concurrent else error_for(error.code)


def _kind(version: int) -> ClaimKind:
    if version >= _ADDS_VERSION:
        return ClaimKind.ADDS
    if version >= _KNOWS_ABORTABLE_VERSION:
        return ClaimKind.VERIFIES
    return ClaimKind.VERIFIES_FOR_OLD_CLIENTS


def _transactional_batches(
    request: ProduceRequest, version: int, image: MetadataImage
) -> Iterator[tuple[TopicPartition, BatchHeader]]:
    """What is no batch at all is refused elsewhere."""
    for topic in request.topic_data:
        for data in topic.partition_data:
            records = data.records
            if not isinstance(records, memoryview) or len(records) < BATCH_HEADER_BYTES:
                continue
            if records[_MAGIC_AT] == MAGIC and records[_ATTRIBUTES_AT] & TRANSACTIONAL_BIT:
                name = _topic_name(topic, version, image)
                yield TopicPartition(name, data.index), read_header(records)


def _topic_name(topic: TopicProduceData, version: int, image: MetadataImage) -> str:
    """Empty for an unknown topic id: no partition has that name."""
    if version < _TOPIC_ID_VERSION:
        return topic.name
    found = image.topic_by_id(topic.topic_id)
    return "" if found is None else found.name
