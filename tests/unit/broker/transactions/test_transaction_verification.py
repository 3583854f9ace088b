"""What the transaction coordinator is asked about a producer, and what its errors become."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace

import pytest

from millstream.broker.transactions.verification import (
    SupportedOperation,
    TransactionalProducer,
    verify_partitions,
)
from millstream.errors import (
    InvalidProducerEpoch,
    InvalidTxnState,
    KafkaError,
    ProducerFenced,
    TransactionAbortable,
)
from millstream.model import TopicPartition
from millstream.protocol.generated.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopicResult,
    AddPartitionsToTxnTransaction,
)

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


def producer(operation: SupportedOperation) -> TransactionalProducer:
    return TransactionalProducer("x", 1000, 3, operation)


class Coordinator:
    """Answers with these codes, or refuses; remembers what it was asked."""

    def __init__(self, codes: Mapping[TopicPartition, int], refusal: KafkaError | None) -> None:
        self.codes = codes
        self.refusal = refusal
        self.asked: list[AddPartitionsToTxnTransaction] = []

    async def add_partitions(self, request: object) -> object:
        assert isinstance(request, AddPartitionsToTxnTransaction)
        self.asked.append(request)
        if self.refusal is not None:
            raise self.refusal
        return AddPartitionsToTxnResult(
            "x",
            [
                AddPartitionsToTxnTopicResult(
                    topic.name,
                    [
                        AddPartitionsToTxnPartitionResult(
                            n, self.codes.get(TopicPartition(topic.name, n), 0)
                        )
                        for n in topic.partitions
                    ],
                )
                for topic in request.topics
            ],
        )


async def refusals(
    operation: SupportedOperation,
    codes: Mapping[TopicPartition, int] | None = None,
    refusal: KafkaError | None = None,
) -> dict[TopicPartition, type[KafkaError]]:
    coordinator = Coordinator(codes or {}, refusal)
    found = await verify_partitions(
        SimpleNamespace(add_partitions=coordinator.add_partitions),  # type: ignore[arg-type]  # the one method that is called
        producer(operation),
        [T1, T0],
    )
    (asked,) = coordinator.asked
    assert (asked.verify_only, asked.topics[0].partitions) == (
        operation is not SupportedOperation.ADD_PARTITION,
        [0, 1],
    )
    return {partition: type(error) for partition, error in found.items()}


@pytest.mark.parametrize("operation", list(SupportedOperation))
async def test_what_may_be_written_is_not_mentioned(operation: SupportedOperation) -> None:
    assert await refusals(operation) == {}


async def test_a_fenced_producer_hears_of_its_epoch() -> None:
    expected = {T0: InvalidProducerEpoch, T1: InvalidProducerEpoch}
    assert await refusals(SupportedOperation.ADD_PARTITION, refusal=ProducerFenced()) == expected


@pytest.mark.parametrize(
    ("operation", "error"),
    [
        (SupportedOperation.GENERIC_ERROR_SUPPORTED, TransactionAbortable),
        (SupportedOperation.DEFAULT_ERROR, InvalidTxnState),
    ],
)
async def test_a_partition_that_was_not_added_is_told_in_words_the_client_knows(
    operation: SupportedOperation, error: type[KafkaError]
) -> None:
    assert await refusals(operation, {T1: TransactionAbortable.code}) == {T1: error}
