"""AlterPartition as brokers send it: one request at a time with all that waits, until it is answered."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from millstream.broker.replication.partition_alterations import PartitionAlterations
from millstream.errors import NetworkException, StaleBrokerEpoch
from millstream.model import BrokerId, LeaderEpoch, Uuid
from millstream.protocol.generated.alter_partition import (
    AlterPartitionRequest,
    AlterPartitionResponse,
    AlterPartitionResponsePartitionData,
    AlterPartitionResponseTopicData,
)
from millstream.replication.isr import Alteration
from tests.patience import until

ME = BrokerId(1)
TOPIC = Uuid(b"t" * 16)


@dataclass
class Session:
    broker_epoch: int = 9


@dataclass
class Controller:
    """Answers when the test says so."""

    asked: list[AlterPartitionRequest] = field(default_factory=list)
    answers: asyncio.Queue[Any] = field(default_factory=asyncio.Queue)  # Any: an answer or an error

    async def ask(self, _api: object, request: AlterPartitionRequest) -> AlterPartitionResponse:
        self.asked.append(request)
        answer = await self.answers.get()
        if isinstance(answer, Exception):
            raise answer
        assert isinstance(answer, AlterPartitionResponse)
        return answer

    def partitions(self) -> list[list[int]]:
        return [
            [p.partition_index for topic in each.topics for p in topic.partitions]
            for each in self.asked
        ]


@dataclass
class World:
    controller: Controller
    alterations: PartitionAlterations
    altered: list[tuple[int, int]] = field(default_factory=list)
    running: list[asyncio.Task[None]] = field(default_factory=list)

    def propose(self, partition: int) -> bool:
        return self.alterations.propose(
            alteration(partition),
            lambda answer: self.altered.append((answer.partition_index, answer.error_code)),
        )

    def answer(self, *partitions: int, code: int = 0) -> None:
        self.controller.answers.put_nowait(response(*partitions, code=code))


def alteration(partition: int) -> Alteration:
    return Alteration(
        topic_id=TOPIC, partition=partition, leader_epoch=LeaderEpoch(3), partition_epoch=4, isr=((ME, 9),),
        leader_recovery_state=0,
    )  # fmt: skip


def response(*partitions: int, code: int = 0) -> AlterPartitionResponse:
    answers = [
        AlterPartitionResponsePartitionData(partition_index=each, error_code=code)
        for each in partitions
    ]
    return AlterPartitionResponse(
        topics=[AlterPartitionResponseTopicData(topic_id=TOPIC, partitions=answers)]
    )


@pytest.fixture
async def world() -> AsyncIterator[World]:
    controller = Controller()
    alterations = PartitionAlterations(controller, Session(), ME)  # type: ignore[arg-type] # what it needs of them
    made = World(controller, alterations)
    made.running.append(asyncio.create_task(alterations.run()))
    yield made
    for task in made.running:
        task.cancel()


async def test_what_waits_while_a_request_is_on_its_way_goes_together_afterwards(
    world: World,
) -> None:
    world.propose(0)
    await until(lambda: len(world.controller.asked) == 1)
    assert [world.propose(1), world.propose(2), world.propose(0)] == [True, True, False]
    world.answer(0)
    await until(lambda: len(world.controller.asked) == 2)
    assert world.controller.partitions() == [[0], [1, 2]]
    world.answer(1, 2)
    await until(lambda: len(world.altered) == 3)
    (topic,) = world.controller.asked[0].topics
    (told,) = topic.partitions
    assert (world.controller.asked[0].broker_epoch, told.leader_epoch, told.partition_epoch) == (
        9,
        3,
        4,
    )


async def test_of_thousands_five_hundred_go_at_a_time(world: World) -> None:
    for number in range(1_200):
        world.propose(number)
    for asked, some in enumerate((range(500), range(500, 1_000), range(1_000, 1_200)), 1):
        await until(lambda asked=asked: len(world.controller.asked) == asked)
        assert world.controller.partitions()[-1] == list(some)
        world.answer(*some)
    await until(lambda: len(world.altered) == 1_200)
    assert len(world.controller.asked) == 3


@pytest.mark.parametrize("error", [NetworkException("lost"), StaleBrokerEpoch("old")])
async def test_a_request_that_fails_is_made_again(world: World, error: Exception) -> None:
    world.propose(0)
    for _ in range(3):
        world.controller.answers.put_nowait(error)
    world.answer(0)
    await until(lambda: world.altered == [(0, 0)])
    assert world.controller.partitions() == [[0]] * 4


async def test_a_partition_that_is_left_out_of_the_answer_is_asked_for_again(world: World) -> None:
    world.propose(0)
    world.propose(1)
    world.answer(1)
    world.answer(0)
    await until(lambda: world.altered == [(1, 0), (0, 0)])
    assert world.controller.partitions() == [[0, 1], [0]]
