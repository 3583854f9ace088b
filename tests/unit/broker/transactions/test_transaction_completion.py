"""From a decision to its end: markers to every partition, again where one is refused, and then word to the coordinator."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

import pytest

from millstream.broker.long_work import LongWork
from millstream.broker.transactions import completion as transaction_completion
from millstream.broker.transactions.completion import TransactionCompletion
from millstream.coordinator.transaction.context import PreparedTransaction
from millstream.coordinator.transaction.state import TransactionVersion
from millstream.coordinator.transaction.transaction import TransactionMetadata
from millstream.errors import (
    CoordinatorNotAvailable,
    InvalidProducerEpoch,
    KafkaError,
    KafkaStorageError,
    NetworkException,
    NotCoordinator,
    NotEnoughReplicas,
    NotEnoughReplicasAfterAppend,
    NotLeaderOrFollower,
    RequestTimedOut,
    TransactionCoordinatorFenced,
    UnknownTopicOrPartition,
)
from millstream.model import ProducerId, TopicPartition
from millstream.protocol.enums import TransactionState
from millstream.records.control import TransactionMarker
from tests.patience import LONG_ENOUGH_S

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
COMMITTED = TransactionMarker(1000, 4, 7, True, 2)


def prepared(*partitions: TopicPartition) -> PreparedTransaction:
    return PreparedTransaction(
        TransactionMetadata(
            "x",
            ProducerId(1000),
            4,
            60_000,
            TransactionState.PREPARE_COMMIT,
            frozenset(partitions),
            client_version=TransactionVersion.TV_2,
        )
    )


class World:
    """Partitions that refuse their first markers with these errors, and a coordinator that answers with those."""

    def __init__(self) -> None:
        self.refusals: dict[TopicPartition, list[KafkaError]] = {}
        self.answers: list[KafkaError | None] = []
        self.deleted: set[TopicPartition] = set()
        self.written: list[tuple[TopicPartition, TransactionMarker]] = []
        self.told: list[object] = []
        self.is_closed = False
        self.leader_epoch = 7

    # as TransactionMarkers, Metadata and CoordinatorPartition

    async def write(
        self, partitions: Iterable[TopicPartition], marker: TransactionMarker
    ) -> dict[TopicPartition, KafkaError | None]:
        return {partition: self._write(partition, marker) for partition in partitions}

    def _write(self, partition: TopicPartition, marker: TransactionMarker) -> KafkaError | None:
        refusals = self.refusals.get(partition)
        if refusals:
            return refusals.pop(0)
        self.written.append((partition, marker))
        return None

    @property
    def image(self) -> Any:  # Any: the one question that is asked of an image
        return SimpleNamespace(
            partition=lambda *name: None if TopicPartition(*name) in self.deleted else object()
        )

    def submit(self, request: object, caller: object, check: object) -> asyncio.Future[object]:
        del caller, check
        if self.is_closed:
            raise NotCoordinator
        self.told.append(type(request).__name__)
        future: asyncio.Future[object] = asyncio.get_running_loop().create_future()
        future.set_result(self.answers.pop(0) if self.answers else None)
        return future

    async def complete(self, *partitions: TopicPartition) -> None:
        completion = TransactionCompletion(self, self, LongWork(lambda: 0.0))  # type: ignore[arg-type]  # see above
        async with asyncio.timeout(LONG_ENOUGH_S):
            await completion.complete(self, prepared(*partitions))  # type: ignore[arg-type]  # see above


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.setattr(transaction_completion, "_RETRY_PAUSE_S", 0)
    return World()


async def test_every_partition_gets_a_marker_and_then_the_coordinator_is_told(
    world: World,
) -> None:
    await world.complete(T0, T1)
    assert sorted(world.written, key=str) == [(T0, COMMITTED), (T1, COMMITTED)]
    assert len(world.told) == 1


async def test_a_partition_that_cannot_be_written_now_is_tried_again_alone(world: World) -> None:
    world.refusals[T1] = [NotLeaderOrFollower(), NotLeaderOrFollower()]
    await world.complete(T0, T1)
    assert sorted(partition for partition, _ in world.written) == [T0, T1]
    assert len(world.told) == 1


@pytest.mark.parametrize(
    "refusal",
    [
        NotEnoughReplicas,
        NotEnoughReplicasAfterAppend,
        NotLeaderOrFollower,
        RequestTimedOut,
        KafkaStorageError,
        UnknownTopicOrPartition,
        NetworkException,
    ],
)
async def test_a_marker_that_is_not_committed_is_written_again_before_the_coordinator_is_told(
    world: World, refusal: type[KafkaError]
) -> None:
    world.refusals[T0] = [refusal(), refusal()]
    await world.complete(T0)
    assert (world.written, len(world.told)) == ([(T0, COMMITTED)], 1)


async def test_a_deleted_partition_needs_no_marker(world: World) -> None:
    world.deleted.add(T0)
    await world.complete(T0, T1)
    assert [partition for partition, _ in world.written] == [T1]
    assert len(world.told) == 1


async def test_a_partition_that_is_beyond_this_transaction_is_done(world: World) -> None:
    world.refusals[T0] = [InvalidProducerEpoch()]
    await world.complete(T0)
    assert (world.written, len(world.told)) == ([], 1)


async def test_another_coordinator_has_taken_over(world: World) -> None:
    world.refusals[T0] = [TransactionCoordinatorFenced()]
    await world.complete(T0, T1)
    assert world.told == []


async def test_a_transaction_without_partitions_is_complete_at_once(world: World) -> None:
    await world.complete()
    assert (world.written, len(world.told)) == ([], 1)


async def test_a_coordinator_that_cannot_note_it_is_told_again(world: World) -> None:
    world.answers = [CoordinatorNotAvailable(), CoordinatorNotAvailable(), None]
    await world.complete(T0)
    assert len(world.told) == 3


async def test_a_coordinator_that_has_moved_is_left_alone(world: World) -> None:
    world.is_closed = True
    await world.complete(T0)
    assert (world.written, world.told) == ([], [])
