"""Transactional batches of a Produce request: whose transaction they belong to, and whether
its coordinator knows of it.

Only the first batch of a transaction in a partition needs to ask; what follows it is recognised by the log. Every batch
is looked at, not only the request around it (CVE-2018-17196).
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Self, cast

from millstream.broker.config.broker_config import BrokerConfig
from millstream.broker.services import Partitions
from millstream.broker.transactions.coordinator_channel import TransactionCoordinatorChannel
from millstream.broker.transactions.verification import (
    SupportedOperation,
    TransactionalProducer,
    verify_partitions,
)
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
    NotLeaderOrFollower,
    TransactionalIdAuthorizationFailed,
    error_for,
)
from millstream.metadata.image import MetadataImage
from millstream.model import NO_LEADER_EPOCH, TopicPartition
from millstream.protocol.generated.produce import ProduceRequest, TopicProduceData
from millstream.records.batch import BatchHeader, is_transactional_batch, read_header
from millstream.replication.partition import Partition

_ADDS_VERSION: Final = 12
_TOPIC_ID_VERSION: Final = 13
_NOT_VERIFIED: Final = (CoordinatorLoadInProgress, CoordinatorNotAvailable, NotCoordinator)


@dataclass(frozen=True, slots=True)
class Verification:
    """The result of verifying the transactional batches of one request, used when they are appended."""

    refused: Mapping[TopicPartition, KafkaError] = field(default_factory=dict)
    begins: Mapping[TopicPartition, int] = field(default_factory=dict)
    """Partitions in which the transaction begins, with the last marker offset before the coordinator was asked."""
    leader_epochs: Mapping[TopicPartition, int] = field(default_factory=dict)
    """In which leader epoch of this node each partition was looked at; NO_LEADER_EPOCH for those that it did not
    lead."""
    sequence_from_0: bool = False

    def check(self, partition: Partition, header: BatchHeader) -> None:
        """Raises the error for which the batch may not be appended. To be called right before the append.

        Nothing of what was seen counts in another leader epoch: records may have been cut off and others, markers among
        them, put in their place meanwhile, even at the same offsets. The producer sends again, and is verified again.
        """
        topic_partition = partition.topic_partition
        if topic_partition in self.refused:
            raise self.refused[topic_partition]
        leader_epoch = self.leader_epochs.get(topic_partition)
        if leader_epoch is None or not partition.is_leader:
            return  # nothing is verified there, or the append refuses it
        if partition.leader_epoch != leader_epoch:
            raise NotLeaderOrFollower(
                f"{topic_partition} has another leader epoch since the transaction was verified"
            )
        producers = partition.log.producers
        marker_offset = self.begins.get(topic_partition)
        if marker_offset is not None:
            producers.check_begins_transaction(
                header, marker_offset, sequence_from_0=self.sequence_from_0
            )
        elif not producers.has_open_transaction(header.producer_id, header.producer_epoch):
            producers.check_epoch(header.producer_id, header.producer_epoch)
            raise InvalidTxnState("the transaction was ended while its records were on their way")


NOTHING_TO_VERIFY: Final = Verification()


@dataclass(frozen=True, slots=True)
class TransactionalProduce:
    """A request with transactional batches: all of one producer, in the transaction of one transactional id."""

    producer: TransactionalProducer
    partitions: tuple[TopicPartition, ...]
    """Where the batches go; without those of unknown topics."""

    @classmethod
    def of(cls, request: ProduceRequest, version: int, image: MetadataImage) -> Self | None:
        """Returns the transactional batches of the request; None when it has none.

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
        operation = SupportedOperation.of(version, adds_from=_ADDS_VERSION)
        producer = TransactionalProducer(
            request.transactional_id, producer_id, producer_epoch, operation
        )
        return cls(producer, tuple(partition for partition, _ in batches))

    def verify_in_logs(self, partitions: Partitions, config: BrokerConfig) -> Verification:
        """Refuses batches with an old epoch, and finds the partitions in which this is the first
        batch of the transaction.
        """
        producer = self.producer
        if (
            producer.operation is not SupportedOperation.ADD_PARTITION
            and not config.transaction_partition_verification_enable
        ):
            return NOTHING_TO_VERIFY
        refused: dict[TopicPartition, KafkaError] = {}
        begins: dict[TopicPartition, int] = {}
        leader_epochs: dict[TopicPartition, int] = {}
        for topic_partition in self.partitions:
            leader_epochs[topic_partition] = NO_LEADER_EPOCH
            try:
                partition = partitions.get(*topic_partition)
                partition.check_leader()
                producers = partition.log.producers
                producers.check_epoch(producer.producer_id, producer.producer_epoch)
            except InvalidProducerEpoch as error:
                refused[topic_partition] = _told(error, producer)
            except KafkaError:
                continue  # it is refused when it is to be appended
            else:
                leader_epochs[topic_partition] = partition.leader_epoch
                if not producers.has_open_transaction(
                    producer.producer_id, producer.producer_epoch
                ):
                    begins[topic_partition] = producers.last_marker_offset(producer.producer_id)
        adds = producer.operation is SupportedOperation.ADD_PARTITION
        return Verification(refused, begins, leader_epochs, sequence_from_0=adds)

    def has_new_marker(self, partitions: Partitions, verification: Verification) -> bool:
        """Whether a marker has been written in a partition since it was seen in the log."""
        producer_id = self.producer.producer_id
        try:
            return any(
                partitions.get(*each).log.producers.last_marker_offset(producer_id) != seen
                for each, seen in verification.begins.items()
            )
        except KafkaError:
            return True  # a partition has gone: it is looked for again


async def verify_with_coordinator(
    produce: TransactionalProduce,
    partitions: Partitions,
    config: BrokerConfig,
    coordinator: TransactionCoordinatorChannel,
) -> Verification:
    """Adds or verifies the partitions in which a transaction begins.

    Waits a moment while the previous one is being completed.
    """
    producer = produce.producer
    adds = producer.operation is SupportedOperation.ADD_PARTITION
    remaining_ms = config.add_partitions_to_txn_retry_backoff_max_ms
    is_asked_again = False
    while True:
        verification = produce.verify_in_logs(partitions, config)
        if not verification.begins:
            return verification
        errors = await verify_partitions(coordinator, producer, verification.begins.keys())
        is_early = any(isinstance(error, ConcurrentTransactions) for error in errors.values())
        if adds and is_early and remaining_ms > 0:
            await asyncio.sleep(config.add_partitions_to_txn_retry_backoff_ms / 1000)
            remaining_ms -= config.add_partitions_to_txn_retry_backoff_ms
            continue
        may_ask_again = adds and not errors and not is_asked_again
        if not may_ask_again or not produce.has_new_marker(partitions, verification):
            break
        # The marker of the transaction before came while the coordinator was asked. One that comes now is this transaction's.
        is_asked_again = True
    told = {partition: _told(error, producer) for partition, error in errors.items()}
    return replace(verification, refused={**verification.refused, **told})


def _told(error: KafkaError, producer: TransactionalProducer) -> KafkaError:
    """As Kafka words it: with a reason where the code alone would mislead.

    Old producers know no errors of coordinators in a Produce response: what passes by itself looks like a slow replica.
    """
    if isinstance(error, InvalidTxnState):
        return InvalidTxnState("the partition was not added to the transaction")
    is_concurrent = isinstance(error, ConcurrentTransactions)
    if isinstance(error, _NOT_VERIFIED) or (
        is_concurrent and producer.operation is not SupportedOperation.ADD_PARTITION
    ):
        return NotEnoughReplicas(
            f"unable to verify that the partition has been added to the transaction: {error}"
        )
    return error if is_concurrent else error_for(error.code)


def _transactional_batches(
    request: ProduceRequest, version: int, image: MetadataImage
) -> Iterator[tuple[TopicPartition, BatchHeader]]:
    """Yields the transactional batches. What is no batch at all is refused elsewhere."""
    for topic in request.topic_data:
        for data in topic.partition_data:
            if is_transactional_batch(data.records):
                name = _topic_name(topic, version, image)
                yield (
                    TopicPartition(name, data.index),
                    read_header(cast("memoryview", data.records)),
                )


def _topic_name(topic: TopicProduceData, version: int, image: MetadataImage) -> str:
    """Empty for an unknown topic id: no partition has that name."""
    if version < _TOPIC_ID_VERSION:
        return topic.name
    found = image.topic_by_id(topic.topic_id)
    return "" if found is None else found.name
