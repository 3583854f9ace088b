"""The first records of a transaction, sent while the one before it is being completed."""

from __future__ import annotations

from types import SimpleNamespace
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
CONFIG: Any = SimpleNamespace(
    transaction_partition_verification_enable=True,
    add_partitions_to_txn_retry_backoff_ms=0,
    add_partitions_to_txn_retry_backoff_max_ms=100,
)


class Producers:
    """What a log knows of its producers: the marker that ended the transaction before."""

    marker_offset = 3

    def check_epoch(self, _producer_id: int, _epoch: int) -> None:
        pass

    def has_open_transaction(self, _producer_id: int, _epoch: int) -> bool:
        return False

    def last_marker_offset(self, _producer_id: int) -> int:
        return self.marker_offset


@pytest.mark.parametrize("first_answer", [ConcurrentTransactions.code, 0])
async def test_the_marker_of_the_transaction_before_does_not_end_this_one(
    first_answer: int,
) -> None:
    """It is written while the coordinator is asked, and the coordinator is asked again."""
    producers = Producers()
    codes = [first_answer, 0]

    async def ask(_id: str, _request: object, *_rest: object) -> AddPartitionsToTxnResult:
        producers.marker_offset = 7
        result = AddPartitionsToTxnPartitionResult(0, codes.pop(0))
        return AddPartitionsToTxnResult("x", [AddPartitionsToTxnTopicResult("t", [result])])

    partition = SimpleNamespace(check_leader=lambda: None, log=SimpleNamespace(producers=producers))
    partitions: Any = SimpleNamespace(get=lambda *_: partition)
    coordinator: Any = SimpleNamespace(ask=ask)
    produce = TransactionalProduce(
        TransactionalProducer("x", 1000, 3, SupportedOperation.ADD_PARTITION), (T0,)
    )
    verification = await verify_with_coordinator(produce, partitions, CONFIG, coordinator)
    assert (verification.begins, verification.refused, codes) == ({T0: 7}, {}, [])
