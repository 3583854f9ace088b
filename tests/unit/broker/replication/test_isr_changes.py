"""How a broker has the controller asked to alter the partitions that it leads."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field

import pytest

from millstream.broker.long_work import LongWork
from millstream.broker.metrics.node_metrics import ReplicationMetrics
from millstream.broker.replication.isr_changes import IsrChanges
from millstream.protocol.generated.alter_partition import AlterPartitionResponsePartitionData
from millstream.replication.isr import Alteration
from millstream.runtime import Instant
from tests.patience import until
from tests.sim.virtual_time import VirtualClock, run_in_virtual_time
from tests.support.led_partition import LedPartition, partition_image

NOT_CONTROLLER, FENCED, INELIGIBLE = 41, 74, 107
OnAltered = Callable[[AlterPartitionResponsePartitionData], None]


@dataclass
class Alterations:
    """One of a partition at a time, answered when the test says so."""

    asked: list[Alteration] = field(default_factory=list)
    waiting: OnAltered | None = None

    def propose(self, alteration: Alteration, on_altered: OnAltered) -> bool:
        if self.waiting is not None:
            return False
        self.asked.append(alteration)
        self.waiting = on_altered
        return True

    def answer(self, code: int = 0, isr: tuple[int, ...] = (), partition_epoch: int = 0) -> None:
        told, self.waiting = self.waiting, None
        assert told is not None
        told(
            AlterPartitionResponsePartitionData(
                partition_index=0, error_code=code, leader_id=1, leader_epoch=4, isr=list(isr), partition_epoch=partition_epoch
            )
        )  # fmt: skip

    @property
    def wanted(self) -> list[list[int]]:
        return [[broker for broker, _ in each.isr] for each in self.asked]


class World:
    def __init__(self) -> None:
        self.alterations = Alterations()
        self.led = LedPartition()
        self.metrics = ReplicationMetrics()
        self.changes = IsrChanges(self.alterations, self, 2, self.metrics)  # type: ignore[arg-type] # what it needs of them
        self.led.partition._on_alteration_due = self.changes.note_due
        self.partitions = self

    def now(self) -> Instant:
        return self.led.now

    def all(self) -> list[tuple[object, object]]:
        return [(self.led.partition.topic_partition, self.led.partition)]


async def rounds() -> None:
    for _ in range(6):
        await asyncio.sleep(0)


@pytest.fixture
async def world() -> AsyncIterator[World]:
    made = World()
    running = asyncio.create_task(made.changes.run(LongWork(lambda: 0.0)))
    yield made
    running.cancel()


async def test_a_follower_that_has_caught_up_is_asked_for_at_once(world: World) -> None:
    world.led.apply(partition_image(isr=(1,)))
    world.led.write(b"a")
    world.led.fetch(1)
    await rounds()
    assert world.alterations.wanted == [[1, 2]]
    assert world.alterations.asked[0].isr == ((1, 10), (2, 10))
    world.alterations.answer(isr=(1, 2), partition_epoch=1)
    assert (world.led.partition.isr, world.led.partition.partition_epoch) == ((1, 2), 1)
    told = world.metrics
    assert (told.isr_expands, told.isr_shrinks, told.failed_isr_updates) == (1, 0, 0)


async def test_an_error_that_may_pass_is_asked_again(world: World) -> None:
    world.led.apply(partition_image(isr=(1,)))
    world.led.fetch(0)
    await rounds()
    world.alterations.answer(NOT_CONTROLLER)
    assert world.alterations.wanted == [[1, 2], [1, 2]]
    world.alterations.answer(isr=(1, 2), partition_epoch=1)
    assert world.led.partition.isr == (1, 2)


async def test_what_is_refused_is_asked_for_at_the_next_fetch(world: World) -> None:
    world.led.apply(partition_image(isr=(1,)))
    world.led.fetch(0)
    await rounds()
    world.alterations.answer(INELIGIBLE)
    await rounds()
    assert world.alterations.wanted == [[1, 2]]
    world.led.fetch(0)
    await rounds()
    assert world.alterations.wanted == [[1, 2], [1, 2]]


async def test_a_lagging_follower_is_found_by_looking(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    world.led.apply(partition_image())
    world.led.write(b"a")
    world.led.pass_ms(30_001)
    world.led.fetch(1, by=3)
    looking = asyncio.create_task(world.changes.look(world, LongWork(lambda: 0.0)))  # type: ignore[arg-type] # all()
    await until(lambda: world.alterations.asked)
    looking.cancel()
    assert world.alterations.wanted == [[1, 3]]
    assert world.led.partition.high_watermark == 0
    with caplog.at_level(logging.INFO):
        world.alterations.answer(isr=(1, 3), partition_epoch=1)
    assert world.led.partition.high_watermark == 1
    assert world.metrics.isr_shrinks == 1
    (told,) = caplog.messages
    assert told.startswith("the ISR of t-0 shrinks from 1,2,3 to 1,3: broker 2 is stuck, ")
    assert told.endswith("; high watermark 0, log end 1, partition epoch 1")


async def test_a_change_that_an_image_has_told_before_the_answer_comes_is_counted(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    world.led.apply(partition_image(isr=(1,)))
    world.led.write(b"a")
    world.led.fetch(1)
    await rounds()
    world.led.apply(partition_image(isr=(1, 2), partition_epoch=1))
    with caplog.at_level(logging.INFO):
        world.alterations.answer(isr=(1, 2), partition_epoch=1)
    assert (world.metrics.isr_expands, world.metrics.failed_isr_updates) == (1, 0)
    assert [each.split(":")[0] for each in caplog.messages] == [
        "the ISR of t-0 grows from 1 to 1,2"
    ]


def test_lagging_followers_are_looked_for_as_often_as_twice_in_their_time() -> None:
    """K8.01: so one that stops is out of the ISR within one and a half times replica.lag.time.max.ms."""
    looked: list[float] = []

    class Watched:
        def all(self) -> list[object]:
            looked.append(asyncio.get_running_loop().time())
            return []

    async def story() -> None:
        changes = IsrChanges(Alterations(), VirtualClock(), 30_000, ReplicationMetrics())  # type: ignore[arg-type] # as in World
        looking = asyncio.create_task(changes.look(Watched(), LongWork(lambda: 0.0)))  # type: ignore[arg-type] # all()
        await asyncio.sleep(46)
        looking.cancel()
        await asyncio.wait([looking])

    run_in_virtual_time(story())
    assert looked == [15, 30, 45]


async def test_a_leader_that_is_told_to_recover_says_that_it_has(world: World) -> None:
    world.led.apply(partition_image(replicas=(1,), isr=(1,), recovery=1))
    await rounds()
    (asked,) = world.alterations.asked
    assert (asked.leader_recovery_state, asked.isr) == (0, ((1, 10),))
    world.alterations.answer(isr=(1,), partition_epoch=1)
    await rounds()
    assert len(world.alterations.asked) == 1


async def test_an_election_while_the_request_is_on_its_way_leads_to_another(world: World) -> None:
    world.led.apply(partition_image(replicas=(1,), isr=(1,), recovery=1))
    await rounds()
    world.led.apply(
        partition_image(replicas=(1,), isr=(1,), recovery=1, epoch=6, partition_epoch=2)
    )
    await rounds()
    assert len(world.alterations.asked) == 1
    world.alterations.answer(FENCED)
    await rounds()
    assert [each.leader_epoch for each in world.alterations.asked] == [4, 6]


async def test_what_others_lead_or_has_recovered_is_left_alone(world: World) -> None:
    world.led.apply(partition_image(leader=2, recovery=1))
    world.led.apply(partition_image(epoch=5, partition_epoch=1))
    await rounds()
    assert world.alterations.asked == []
