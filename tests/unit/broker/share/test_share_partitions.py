"""The share partitions of a node while leadership of what they read comes and goes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import MappingProxyType
from typing import Any

import pytest

from millstream.broker.long_work import LongWork
from millstream.broker.requests.failure_log import FailureLog
from millstream.broker.requests.purgatory import Purgatory
from millstream.broker.share.group_settings import ShareGroupValues
from millstream.broker.share.share_fetch import Acquired, ShareFetch, ShareFetchLimits
from millstream.broker.share.share_partitions import LoadedSharePartition, SharePartitions
from millstream.broker.storage.disk_pool import DiskPool
from millstream.coordinator.share.state import SharePartitionKey, ShareState, StateChange
from millstream.coordinator.share_partition.acknowledgement import AcknowledgementBatch
from millstream.errors import (
    FencedLeaderEpoch,
    KafkaError,
    NotLeaderOrFollower,
    UnknownTopicOrPartition,
)
from millstream.metadata.image import MetadataImage, TopicImage, TopicsImage
from millstream.model import TopicPartition
from millstream.records.record import Record
from millstream.runtime.system import SystemClock
from tests.support.replicated_partition import TOPIC_ID, ReplicatedPartition

ORDERS = TopicPartition("orders", 0)
KEY = SharePartitionKey("workers", TOPIC_ID, 0)
ACCEPT = 1
VALUES = ShareGroupValues()


class World:
    """A partition with a follower, a group that reads it, and share state that is kept elsewhere."""

    def __init__(self) -> None:
        self.clock = SystemClock()
        self.purgatory = Purgatory(self.clock)
        self.replicated = ReplicatedPartition(ORDERS, self.purgatory.wake)
        self.writes: list[StateChange] = []
        self.start_offset = 0
        self.error: KafkaError | None = None
        self.tasks: set[asyncio.Task[None]] = set()
        me: Any = self  # Any: has what is used of partitions, a persister, settings and tasks
        self.partitions = SharePartitions(
            me, me, me, self.clock, tasks=me, pool=DiskPool(), wake=self.purgatory.wake
        )

    def get(self, _topic: str, _number: int) -> object:
        return self.replicated.partition

    def of(self, _group_id: str) -> ShareGroupValues:
        return VALUES

    def start(self, work: Any, _name: str) -> None:
        self.tasks.add(asyncio.create_task(work))

    async def read(self, _key: SharePartitionKey, leader_epoch: int) -> ShareState:
        await asyncio.sleep(0)
        if self.error is not None:
            raise self.error
        return ShareState(
            snapshot_epoch=0,
            state_epoch=0,
            leader_epoch=leader_epoch,
            start_offset=self.start_offset,
            delivery_complete_count=0,
            created_ms=-1,
            written_ms=-1,
        )

    async def write(
        self, _key: SharePartitionKey, _epoch: int, change: Callable[[], StateChange]
    ) -> None:
        await asyncio.sleep(0)
        if self.error is not None:
            raise self.error
        self.writes.append(change())

    def append(self, count: int) -> None:
        for number in range(count):
            self.replicated.write(Record(value=b"%d" % number, timestamp=1))

    async def load(self) -> LoadedSharePartition:
        return await self.partitions.load(KEY, ORDERS.topic)

    async def fetch(self, loaded: LoadedSharePartition, max_wait_ms: int = 0) -> object:
        """The ranges that a member acquires, or the error of the partition; None for nothing."""
        fetch = ShareFetch(
            "ann",
            [loaded],
            ShareFetchLimits(max_wait_ms, 1, 1_000_000, 500, 500, is_record_limit=False),
            VALUES,
            self.partitions,
            long_work=LongWork(lambda: 0.0),
            failures=FailureLog(self.clock),
        )
        answer = (await fetch.run(self.purgatory, self.clock)).get(loaded)
        if isinstance(answer, Acquired):
            return [(first, last) for first, last, _ in answer.ranges]
        return answer


@pytest.fixture
async def world() -> World:
    return World()


async def test_records_above_the_mark_are_not_delivered(world: World) -> None:
    world.append(3)
    world.replicated.replicate(2)
    loaded = await world.load()
    assert await world.fetch(loaded) == [(0, 1)]
    world.replicated.replicate()
    assert await world.fetch(loaded) == [(2, 2)]


async def test_a_group_that_is_ahead_of_the_mark_of_a_new_leader_waits_for_it(world: World) -> None:
    """The leader before it had heard of more. Nothing is an error, nothing is delivered twice."""
    world.append(4)
    world.replicated.replicate(1)
    world.replicated.follow()
    world.replicated.lead()
    world.start_offset = 2
    loaded = await world.load()
    assert await world.fetch(loaded) is None
    fetching = asyncio.create_task(world.fetch(loaded, max_wait_ms=60_000))
    for end_offset in (1, 2, 3):
        await asyncio.sleep(0)
        assert not fetching.done()
        world.replicated.replicate(end_offset)
    assert await fetching == [(2, 2)]


async def test_a_waiting_fetch_ends_when_leadership_goes(world: World) -> None:
    loaded = await world.load()
    fetching = asyncio.create_task(world.fetch(loaded, max_wait_ms=60_000))
    await asyncio.sleep(0)
    world.replicated.follow()
    assert isinstance(await fetching, KafkaError)


async def test_what_was_loaded_is_of_its_leader_epoch(world: World) -> None:
    world.append(1)
    world.replicated.replicate()
    first = await world.load()
    world.replicated.follow()
    world.replicated.lead()
    assert isinstance(await world.fetch(first), KafkaError)
    again = await world.load()
    assert again is not first
    assert again.state.leader_epoch == world.replicated.image.leader_epoch


async def test_leadership_that_goes_while_state_is_read_leaves_nothing_loaded(world: World) -> None:
    loading = asyncio.create_task(world.load())
    await asyncio.sleep(0)
    world.replicated.follow()
    world.replicated.lead()
    with pytest.raises(FencedLeaderEpoch):
        await loading
    assert world.partitions.find(KEY) is None


async def test_an_acknowledgement_after_the_leadership_is_refused(world: World) -> None:
    world.append(1)
    world.replicated.replicate()
    await world.fetch(await world.load())
    world.replicated.follow()
    with pytest.raises(UnknownTopicOrPartition):
        await world.partitions.acknowledge(KEY, "ann", [AcknowledgementBatch(0, 0, [ACCEPT])])
    assert world.writes == []


async def test_a_leader_that_the_share_coordinator_fences_reads_its_state_again(
    world: World,
) -> None:
    """Its node has not heard yet that another one leads."""
    world.append(1)
    world.replicated.replicate()
    loaded = await world.load()
    await world.fetch(loaded)
    world.error = FencedLeaderEpoch()
    with pytest.raises(NotLeaderOrFollower):
        await world.partitions.acknowledge(KEY, "ann", [AcknowledgementBatch(0, 0, [ACCEPT])])
    assert world.partitions.find(KEY) is None


async def test_an_image_lets_go_of_what_others_lead_now(world: World) -> None:
    await world.load()
    world.replicated.follow()
    topic = TopicImage(name=ORDERS.topic, topic_id=TOPIC_ID, partitions=())
    world.partitions.apply(
        MetadataImage(topics=TopicsImage(by_id=MappingProxyType({TOPIC_ID: topic})))
    )
    assert world.partitions._loaded == {}
