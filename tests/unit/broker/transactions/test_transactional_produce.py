"""The first records of a transaction, sent while the one before it is being completed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from millstream.broker.transactions.transactional_produce import (
    TransactionalProduce,
    Verification,
    verify_with_coordinator,
)
from millstream.broker.transactions.verification import SupportedOperation, TransactionalProducer
from millstream.errors import (
    ConcurrentTransactions,
    InvalidProducerEpoch,
    InvalidTxnState,
    KafkaError,
    NotLeaderOrFollower,
)
from millstream.model import TopicPartition
from millstream.protocol.generated.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopicResult,
)
from millstream.records.batch import read_header
from millstream.records.builder import BatchOptions, build_batch
from millstream.records.record import Record
from millstream.replication.partition import Partition as ReplicationPartition

T0 = TopicPartition("t", 0)


class Config:
    transaction_partition_verification_enable = True
    add_partitions_to_txn_retry_backoff_ms = 0
    add_partitions_to_txn_retry_backoff_max_ms = 100


class Producers:
    """What a log knows of its producers: the marker that ended the transaction before."""

    marker_offset = 3
    is_open = False
    is_fenced = False

    def check_epoch(self, _producer_id: int, _epoch: int) -> None:
        if self.is_fenced:
            raise InvalidProducerEpoch

    def has_open_transaction(self, _producer_id: int, _epoch: int) -> bool:
        return self.is_open

    def check_begins_transaction(
        self, _header: object, marker_offset: int, *, sequence_from_0: bool
    ) -> None:
        assert sequence_from_0
        assert marker_offset == self.marker_offset

    def last_marker_offset(self, _producer_id: int) -> int:
        return self.marker_offset


@dataclass
class Log:
    producers: Producers = field(default_factory=Producers)


class Partition:
    topic_partition = T0

    def __init__(self) -> None:
        self.log = Log()
        self.is_leader = True
        self.leader_epoch = 5

    def check_leader(self) -> None:
        if not self.is_leader:
            raise NotLeaderOrFollower


class Partitions:
    def __init__(self) -> None:
        self.only = Partition()

    def get(self, _topic: str, _number: int) -> Partition:
        return self.only


class Coordinator:
    """Has a marker of each offset written while it is asked, as often as there are any."""

    def __init__(self, producers: Producers, codes: list[int], markers: list[int]) -> None:
        self.producers, self.codes, self.markers = producers, codes, markers

    async def add_partitions(self, _request: object) -> AddPartitionsToTxnResult:
        if self.markers:
            self.producers.marker_offset = self.markers.pop(0)
        result = AddPartitionsToTxnPartitionResult(0, self.codes.pop(0))
        return AddPartitionsToTxnResult("x", [AddPartitionsToTxnTopicResult("t", [result])])


async def asked(coordinator: Coordinator, partitions: Partitions) -> Any:
    writer = TransactionalProducer("x", 1000, 3, SupportedOperation.ADD_PARTITION)
    produce = TransactionalProduce(writer, (T0,))
    return await verify_with_coordinator(produce, partitions, Config(), coordinator)


@pytest.mark.parametrize("first_answer", [ConcurrentTransactions.code, 0])
async def test_the_marker_of_the_transaction_before_does_not_end_this_one(
    first_answer: int,
) -> None:
    partitions = Partitions()
    coordinator = Coordinator(partitions.only.log.producers, [first_answer, 0], [7])
    found = await asked(coordinator, partitions)
    assert (found.begins, found.refused, coordinator.codes) == ({T0: 7}, {}, [])


async def test_a_transaction_that_ends_while_the_coordinator_is_asked_again_has_ended() -> None:
    """The append finds a marker that is not the one that was seen, and refuses the batch."""
    partitions = Partitions()
    producers = partitions.only.log.producers
    coordinator = Coordinator(producers, [0, 0], [7, 9])
    found = await asked(coordinator, partitions)
    assert (found.begins, producers.marker_offset, coordinator.codes) == ({T0: 7}, 9, [])


HEADER = read_header(
    memoryview(
        build_batch(
            [Record(value=b"a", timestamp=1)], BatchOptions(producer_id=1000, producer_epoch=3)
        )
    )
)


async def verified(partitions: Partitions) -> Verification:
    found = await asked(Coordinator(partitions.only.log.producers, [0], []), partitions)
    assert isinstance(found, Verification)
    return found


def refusal(found: Verification, partitions: Partitions) -> type[KafkaError] | None:
    try:
        found.check(cast("ReplicationPartition", partitions.only), HEADER)
    except KafkaError as error:
        return type(error)
    return None


@pytest.mark.parametrize("is_open", [True, False])
async def test_what_was_verified_counts_in_its_leader_epoch_only(is_open: bool) -> None:
    """Lost and led again, with the same last marker: it may be another marker, at the offset of one that was cut off."""
    partitions = Partitions()
    partitions.only.log.producers.is_open = is_open
    found = await verified(partitions)
    assert refusal(found, partitions) is None
    partitions.only.leader_epoch += 2
    assert refusal(found, partitions) is NotLeaderOrFollower


async def test_a_partition_that_was_not_led_when_it_was_verified_is_not_written() -> None:
    partitions = Partitions()
    partitions.only.is_leader = False
    found = await verified(partitions)
    partitions.only.is_leader = True
    assert refusal(found, partitions) is NotLeaderOrFollower


async def test_a_transaction_that_was_open_must_still_be() -> None:
    """Its end was written while other partitions of the request were verified: what is written now would never be ended."""
    partitions = Partitions()
    producers = partitions.only.log.producers
    producers.is_open = True
    found = await verified(partitions)
    producers.is_open = False
    assert refusal(found, partitions) is InvalidTxnState
    producers.is_fenced = True
    assert refusal(found, partitions) is InvalidProducerEpoch
