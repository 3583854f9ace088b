"""Share state on a partition with a follower: what is acknowledged and what is pruned is committed."""

from __future__ import annotations

import asyncio
from types import MappingProxyType, NoneType
from typing import Any

import pytest

from millstream.broker.coordination.coordinator_partition import CoordinatorServices
from millstream.broker.coordination.share_state_coordination import ShareStateCoordination
from millstream.broker.long_work import LongWork
from millstream.broker.requests.purgatory import Purgatory
from millstream.broker.storage.disk_pool import DiskPool
from millstream.broker.storage.durability import Durability
from millstream.coordinator.share.context import (
    InitializeState,
    ReadState,
    ShareCoordinatorConfig,
    WriteState,
)
from millstream.coordinator.share.state import SharePartitionKey, ShareState, StateChange
from millstream.errors import CoordinatorNotAvailable, FencedLeaderEpoch, NotCoordinator
from millstream.metadata.image import MetadataImage, PartitionImage, TopicImage, TopicsImage
from millstream.model import TopicPartition, Uuid
from millstream.runtime.system import SystemClock
from tests.support.replicated_partition import ME, TOPIC_ID, ReplicatedPartition

STATE = TopicPartition("__share_group_state", 0)
READ_BY_GROUP = Uuid(b"r" * 16)
KEY = SharePartitionKey("workers", READ_BY_GROUP, 0)


class World:
    """The share coordinator of a node. Every third write of a share partition is a snapshot."""

    def __init__(self, min_insync_replicas: int = 1) -> None:
        clock = SystemClock()
        purgatory = Purgatory(clock)
        self.replicated = ReplicatedPartition(STATE, purgatory.wake, min_insync_replicas)
        self.tasks = asyncio.TaskGroup()
        me: Any = self  # Any: has what is used of a flusher, partitions and tasks
        self.coordination = ShareStateCoordination(
            ShareCoordinatorConfig(snapshot_update_records_per_snapshot=1),
            ME,
            partitions=me,
            tasks=me,
            services=CoordinatorServices(
                clock,
                purgatory.wake,
                Durability(me, purgatory, lambda: "never"),
                60_000,
                DiskPool(),
                LongWork(lambda: 0.0),
            ),
        )

    def get(self, _topic: str, _number: int) -> object:
        return self.replicated.partition

    def start(self, work: Any, _name: str) -> None:
        self.tasks.create_task(work)

    def apply(self) -> None:
        self.coordination.apply(image_of(self.replicated.image))

    def ask(self, request: Any, expected: type = NoneType) -> asyncio.Task[Any]:
        return asyncio.create_task(self.coordination.ask(KEY, request, expected))

    async def asked(self, request: Any, expected: type = NoneType) -> Any:
        asking = self.ask(request, expected)
        await turns()
        self.replicated.replicate()
        return await asking


def image_of(state: PartitionImage) -> MetadataImage:
    topics = [
        TopicImage(name=STATE.topic, topic_id=TOPIC_ID, partitions=(state,)),
        TopicImage(name="orders", topic_id=READ_BY_GROUP, partitions=(state,)),
    ]
    return MetadataImage(
        topics=TopicsImage(
            by_name=MappingProxyType({topic.name: topic for topic in topics}),
            by_id=MappingProxyType({topic.topic_id: topic for topic in topics}),
        )
    )


async def turns() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


def write(leader_epoch: int, start_offset: int = 0) -> WriteState:
    return WriteState(KEY, 0, StateChange(leader_epoch, start_offset, 0, ()))


async def test_a_change_of_state_is_acknowledged_when_the_mark_has_passed_it() -> None:
    world = World()
    async with world.tasks:
        world.apply()
        await turns()
        await world.asked(InitializeState(KEY, 0, 0))
        writing = world.ask(write(0))
        await turns()
        assert not writing.done()
        world.replicated.replicate()
        await writing
        world.coordination.shards.close()


async def test_too_few_in_sync_replicas_and_a_loss_of_leadership_are_told() -> None:
    world = World(min_insync_replicas=2)
    async with world.tasks:
        world.apply()
        await turns()
        await world.asked(InitializeState(KEY, 0, 0))
        waiting = world.ask(write(0))
        await turns()
        world.replicated.partition.isr = (ME,)
        with pytest.raises(CoordinatorNotAvailable):
            await world.ask(write(0))
        world.replicated.follow()
        world.apply()
        with pytest.raises(NotCoordinator):
            await waiting


async def test_the_leader_of_an_earlier_epoch_is_fenced_once_the_next_one_has_read() -> None:
    """Also by a coordinator that has taken over meanwhile."""
    world = World()
    async with world.tasks:
        world.apply()
        await turns()
        await world.asked(InitializeState(KEY, 0, 0))
        await world.asked(ReadState(KEY, 5), ShareState)
        world.replicated.follow()
        world.replicated.lead()
        world.apply()
        await turns()
        with pytest.raises(FencedLeaderEpoch):
            await world.asked(write(4))
        await world.asked(write(5))
        world.coordination.shards.close()


async def test_a_snapshot_that_is_not_committed_makes_nothing_redundant() -> None:
    """Another leader may not have it, and needs what was before it."""
    world = World()
    async with world.tasks:
        world.apply()
        await turns()
        await world.asked(InitializeState(KEY, 0, 0))
        await world.asked(write(0))
        snapshot = world.ask(write(0))
        await turns()
        pruning = asyncio.create_task(world.coordination.prune())
        await turns()
        assert world.replicated.partition.log_start_offset == 0
        world.replicated.replicate()
        await asyncio.gather(snapshot, pruning)
        assert world.replicated.partition.log_start_offset == 2
        world.coordination.shards.close()
