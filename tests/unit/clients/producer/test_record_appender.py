"""How a record waits for its topic and for memory: one budget, first come first served, and an end when it is over."""

from __future__ import annotations

import asyncio
import threading
from types import SimpleNamespace
from typing import cast

import pytest

from millstream.clients.cluster.core.cluster_metadata import (
    ClusterMetadata,
    PartitionMetadata,
    TopicMetadata,
)
from millstream.clients.config import ProducerConfig
from millstream.clients.producer.buffer_memory import BufferMemory
from millstream.clients.producer.core.accumulator import AccumulatorLimits, RecordAccumulator
from millstream.clients.producer.core.outgoing import plain_record
from millstream.clients.producer.core.partitioner import DefaultPartitioner
from millstream.clients.producer.core.producer_batch import BatchOutcome
from millstream.clients.producer.record_appender import RecordAppender
from millstream.clients.producer.sender import Sender
from millstream.errors import RequestTimedOut
from millstream.net.client.tasks import TaskScope
from millstream.runtime.system import SystemClock, SystemRandom

TOPIC = TopicMetadata("t", partitions={0: PartitionMetadata(0, 1)})
RECORD = plain_record(b"x" * 100, None, None, None, 7, None)


class World:
    """A topic that becomes known after `metadata_ms`, memory for one record, and a clock moved by hand."""

    def __init__(self, *, metadata_ms: int = 0) -> None:
        self.time_ms = 0
        self.metadata_ms = metadata_ms
        self.deadlines: list[int] = []
        self.snapshot = ClusterMetadata(topics={} if metadata_ms else {"t": TOPIC})
        self.accumulator = RecordAccumulator(AccumulatorLimits(1_000, 182, 10**6))
        self.memory = BufferMemory(self.accumulator, self.now_ms)
        sending = SimpleNamespace(
            cluster=self,
            accumulator=self.accumulator,
            memory=self.memory,
            scope=TaskScope("producer"),
            lock=threading.Lock(),
            wake=lambda: None,
        )
        self.appender = RecordAppender(
            ProducerConfig(max_block_ms=1_000),
            cast("Sender", sending),
            DefaultPartitioner(SystemRandom(), 100),
            None,
            SystemClock(),
        )

    def now_ms(self) -> int:
        return self.time_ms

    async def topic(self, name: str, deadline_ms: int) -> TopicMetadata:
        self.deadlines.append(deadline_ms)
        self.time_ms += self.metadata_ms
        self.snapshot = ClusterMetadata(topics={name: TOPIC})
        return TOPIC

    def settle_oldest(self) -> None:
        batch = self.accumulator.queue("t", 0).waiting.popleft()
        batch.outcome = BatchOutcome(0)
        self.accumulator.settle(batch)
        self.memory.let_in()


def is_appended_at_once(world: World) -> bool:
    appended = world.appender.append("t", *RECORD)
    if isinstance(appended, tuple):
        return True
    appended.close()
    return False


def note_deadlines(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    async def wait(size_bytes: int, deadline_ms: int) -> None:
        world.deadlines.append(deadline_ms)
        raise RequestTimedOut("memory is full")

    monkeypatch.setattr(world.memory, "wait", wait)


async def test_what_waiting_for_the_topic_took_is_not_left_for_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = World(metadata_ms=800)
    note_deadlines(world, monkeypatch)
    await world.appender.append_in_time("t", RECORD)
    world.snapshot = ClusterMetadata()
    with pytest.raises(RequestTimedOut, match="memory is full"):
        await world.appender.append_in_time("t", RECORD)
    assert world.deadlines == [1_000, 1_800, 1_800]


async def test_memory_is_given_to_who_came_first() -> None:
    world = World()
    await world.appender.append_in_time("t", RECORD)
    order: list[str] = []

    async def send(name: str) -> None:
        await world.appender.append_in_time("t", RECORD)
        order.append(name)

    async with asyncio.TaskGroup() as group:
        for name in ("first", "second"):
            group.create_task(send(name))
            await asyncio.sleep(0)
        assert not is_appended_at_once(world), "no one gets past those who wait"
        for _ in range(2):
            world.settle_oldest()
            for _ in range(5):
                await asyncio.sleep(0)
    assert order == ["first", "second"]


async def test_who_gives_up_waiting_lets_the_next_one_in() -> None:
    world = World()
    await world.appender.append_in_time("t", RECORD)
    waiting = [asyncio.create_task(world.appender.append_in_time("t", RECORD)) for _ in range(2)]
    await asyncio.sleep(0)
    waiting[0].cancel()
    world.settle_oldest()
    batch, index, look = await waiting[1]
    assert (batch.record_count, index, look) == (1, 0, True)
    assert waiting[0].cancelled()
    assert not world.memory.is_awaited


async def test_memory_that_does_not_come_is_told_with_what_holds_it() -> None:
    world = World()
    world.time_ms = 5_000
    await world.appender.append_in_time("t", RECORD)
    expected = r"no room for a record of 121 bytes within max_block_ms: 182 bytes of buffer_memory"
    with pytest.raises(RequestTimedOut, match=expected):
        await world.memory.wait(121, deadline_ms=5_000)


async def test_a_producer_that_ended_admits_nobody() -> None:
    world = World()
    world.memory.close()
    assert not world.memory.admits(10)
    assert not is_appended_at_once(world)
