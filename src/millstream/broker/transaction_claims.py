"""Asks the transaction coordinator whether a producer may write to partitions as part of its transaction (KIP-890).

Producers that raise their epoch with every transaction leave adding partitions to the brokers they write to; the others add
for themselves and are verified. Owns what the coordinator's errors become for whoever asked, and the order of appends of one
producer while some of them wait for an answer. What is written, and what may be told to clients, is for the handlers.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass
from enum import Enum
from itertools import groupby
from typing import Final, TypeVar, final

from millstream.broker.node_services import Tasks
from millstream.broker.transaction_coordination import TransactionCoordination
from millstream.coordinator.result import NO_TOKEN, CoordinatorContext
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

_BROKER: Final = CoordinatorContext(NO_TOKEN, api_version=5)
"""A broker that asks, in the version of AddPartitionsToTxn that brokers speak."""
ResultT = TypeVar("ResultT")


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
            TransactionShard.handle_add_partitions,
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


@final
class OrderedAppends:
    """Appends that must wait, one after another for each producer, though the connections they came on may close."""

    def __init__(self, tasks: Tasks) -> None:
        self._tasks = tasks
        self._last: dict[int, asyncio.Future[object]] = {}

    def is_waiting(self, producer_id: int) -> bool:
        """Whether what this producer sends now has to queue."""
        return producer_id in self._last

    def run(
        self, producer_id: int, work: Callable[[], Awaitable[ResultT]]
    ) -> asyncio.Future[ResultT]:
        """Queues `work` behind what this producer waits for. Who awaits the result shields it."""
        result: asyncio.Future[ResultT] = asyncio.get_running_loop().create_future()
        done: asyncio.Future[object] = asyncio.get_running_loop().create_future()
        previous = self._last.get(producer_id)
        self._last[producer_id] = done
        self._tasks.start(
            self._run(producer_id, previous, done, work, result),
            f"transactional append of producer {producer_id}",
        )
        return result

    async def _run(
        self,
        producer_id: int,
        previous: asyncio.Future[object] | None,
        done: asyncio.Future[object],
        work: Callable[[], Awaitable[ResultT]],
        result: asyncio.Future[ResultT],
    ) -> None:
        try:
            if previous is not None:
                await previous
            result.set_result(await work())
        except KafkaError as error:
            result.set_exception(error)
        finally:
            done.set_result(None)
            if self._last[producer_id] is done:
                del self._last[producer_id]
