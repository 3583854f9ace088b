"""The first records of a transaction, sent while the one before it is being completed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from millstream.broker.transactions.transactional_produce import (
    TransactionalProduce,
    verify_with_coordinator,
)
from millstream.broker.transactions.verification import SupportedOperation, TransactionalProducer
from millstream.errors import ConcurrentTransactions
from millstream.model import TopicPartition
from millstream.protocol.generated.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopicResult,
)

T0 = TopicPartition("t", 0)


class Config:
    transaction_partition_verification_enable = True
    add_partitions_to_txn_retry_backoff_ms = 0
    add_partitions_to_txn_retry_backoff_max_ms = 100


class Producers:
    """What a log knows of its producers: the marker that ended the transaction before."""

    marker_offset = 3

    def check_epoch(self, _producer_id: int, _epoch: int) -> None:
        pass

    def has_open_transaction(self, _producer_id: int, _epoch: int) -> bool:
        return False

    def last_marker_offset(self, _producer_id: int) -> int:
        return self.marker_offset


@dataclass
class Log:
    producers: Producers = field(default_factory=Producers)


class Partition:
    def __init__(self) -> None:
        self.log = Log()

    def check_leader(self) -> None:
        pass


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
