"""Transactional batches on their way into the log: the coordinator is asked before the first of each transaction (KIP-890)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable

import pytest

from millstream.broker.handlers import produce
from millstream.broker.node.tasks import NodeTasks
from millstream.broker.produce.ordered_appends import OrderedAppends
from millstream.errors import (
    ConcurrentTransactions,
    CoordinatorLoadInProgress,
    CoordinatorNotAvailable,
    InvalidProducerEpoch,
    InvalidTxnState,
    KafkaError,
    NotCoordinator,
    NotEnoughReplicas,
    OutOfOrderSequenceNumber,
)
from millstream.model import Uuid
from millstream.net.client.tasks import TaskGroup
from millstream.protocol.generated.add_partitions_to_txn import (
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTransaction,
)
from millstream.protocol.generated.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from millstream.records.control import TransactionMarker

TOPIC_ID = Uuid(b"t" * 16)
ADDS, VERIFIES = 12, 11


class Coordinator:
    """Lets everybody in, unless told otherwise, as soon as its gate is open."""

    def __init__(self) -> None:
        self.asked: list[tuple[bool, list[int]]] = []
        """Whether only to verify, and the partitions."""
        self.refusals: list[KafkaError] = []
        self.while_asked: Callable[[], object] = lambda: None
        self.gate = asyncio.Event()
        self.gate.set()

    async def add_partitions(
        self, asked: AddPartitionsToTxnTransaction
    ) -> AddPartitionsToTxnResult:
        self.asked.append((asked.verify_only, asked.topics[0].partitions))
        await self.gate.wait()
        self.while_asked()
        if self.refusals:
            raise self.refusals.pop(0)
        return AddPartitionsToTxnResult("x")


@pytest.fixture
async def coordinator(plane) -> AsyncIterator[Coordinator]:
    found = Coordinator()
    async with TaskGroup() as tasks:
        plane.give(
            transaction_coordinator_channel=found, ordered_appends=OrderedAppends(NodeTasks(tasks))
        )
        plane.configure(
            millstream_flush_on_ack="never",
            transaction_partition_verification_enable=True,
            add_partitions_to_txn_retry_backoff_ms=1,
            add_partitions_to_txn_retry_backoff_max_ms=3,
        )
        yield found


def send(plane, sequence: int, *partitions: int, epoch: int = 0, version: int = ADDS):
    data = [
        PartitionProduceData(
            number,
            plane.batch(
                b"v",
                producer_id=7,
                producer_epoch=epoch,
                base_sequence=sequence,
                is_transactional=True,
            ),
        )
        for number in partitions
    ]
    topic = TopicProduceData(name="t", topic_id=TOPIC_ID, partition_data=data)
    return plane.ask(produce, ProduceRequest("x", -1, 1_000, [topic]), version)


async def codes(answer) -> list[int]:
    response = await answer if asyncio.iscoroutine(answer) else answer
    return [p.error_code for topic in response.responses for p in topic.partition_responses]


@pytest.mark.parametrize(("version", "verify_only"), [(ADDS, False), (VERIFIES, True), (9, True)])
async def test_the_coordinator_is_asked_once_for_each_transaction(
    plane, coordinator, version, verify_only
):
    assert await codes(send(plane, 0, 0, 1, version=version)) == [0, 0]
    assert await codes(send(plane, 1, 0, 1, version=version)) == [0, 0]
    assert coordinator.asked == [(verify_only, [0, 1])]
    assert plane.get("t", 0).log_end_offset == 2


async def test_what_is_sent_behind_a_first_batch_does_not_overtake_it(plane, coordinator):
    coordinator.gate.clear()
    first, second = send(plane, 0, 0), send(plane, 1, 0)
    await asyncio.sleep(0)
    assert plane.get("t", 0).log_end_offset == 0
    coordinator.gate.set()
    assert [await codes(first), await codes(second)] == [[0], [0]]


async def test_a_first_batch_is_appended_though_its_connection_has_closed(plane, coordinator):
    coordinator.gate.clear()
    async with TaskGroup() as tasks:
        waiting = tasks.create_task(codes(send(plane, 0, 0)))
        await asyncio.sleep(0)
        waiting.cancel()
    coordinator.gate.set()
    assert await codes(send(plane, 1, 0)) == [0]
    assert plane.get("t", 0).log_end_offset == 2


@pytest.mark.parametrize(
    "error", [CoordinatorLoadInProgress(), CoordinatorNotAvailable(), NotCoordinator()]
)
async def test_a_coordinator_that_is_away_looks_like_a_slow_replica(plane, coordinator, error):
    coordinator.refusals = [error]
    assert await codes(send(plane, 0, 0)) == [NotEnoughReplicas.code]
    assert plane.get("t", 0).log_end_offset == 0


async def test_a_transaction_that_is_being_completed_is_waited_for_a_moment(plane, coordinator):
    coordinator.refusals = [ConcurrentTransactions(), ConcurrentTransactions()]
    assert await codes(send(plane, 0, 0)) == [0]
    assert len(coordinator.asked) == 3


@pytest.mark.parametrize(
    ("version", "told", "asked"),
    [(ADDS, ConcurrentTransactions, 4), (VERIFIES, NotEnoughReplicas, 1)],
)
async def test_one_that_takes_longer_is_told_in_words_the_client_knows(
    plane, coordinator, version, told, asked
):
    coordinator.refusals = [ConcurrentTransactions() for _ in range(9)]
    assert await codes(send(plane, 0, 0, version=version)) == [told.code]
    assert len(coordinator.asked) == asked


async def test_a_transaction_that_ended_while_the_coordinator_was_asked_does_not_begin_again(
    plane, coordinator
):
    """It would stay open for ever: its marker has come already."""
    marker = TransactionMarker(7, 0, 0, is_commit=False)
    coordinator.while_asked = lambda: plane.get("t", 0).append_marker(marker, plane.clock.now())
    assert await codes(send(plane, 0, 0, version=VERIFIES)) == [InvalidTxnState.code]
    assert plane.get("t", 0).last_stable_offset == plane.get("t", 0).log_end_offset == 1


async def test_an_epoch_that_has_passed_is_refused_without_asking(plane, coordinator):
    await codes(send(plane, 0, 0, epoch=1))
    assert await codes(send(plane, 0, 0, 1, epoch=0)) == [InvalidProducerEpoch.code, 0]
    assert coordinator.asked == [(False, [0]), (False, [1])]


async def test_a_producer_that_raises_its_epoch_begins_with_sequence_0(plane, coordinator):
    assert await codes(send(plane, 3, 0)) == [OutOfOrderSequenceNumber.code]
    assert await codes(send(plane, 3, 1, version=VERIFIES)) == [0]


async def test_verification_can_be_switched_off_for_older_clients(plane, coordinator):
    plane.configure(transaction_partition_verification_enable=False)
    assert await codes(send(plane, 0, 0, version=VERIFIES)) == [0]
    assert coordinator.asked == []
    assert await codes(send(plane, 0, 1)) == [0]
    assert coordinator.asked == [(False, [1])]
