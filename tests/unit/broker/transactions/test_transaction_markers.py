"""One marker into many partitions: in turns, not too many waiting at once, and what one refuses is told of it alone."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from millstream.broker.coordination.coordinator_partition import CoordinatorServices
from millstream.broker.node.long_work import LongWork
from millstream.broker.requests.failure_log import FailureLog
from millstream.broker.requests.purgatory import Purgatory
from millstream.broker.storage.durability import Durability
from millstream.broker.transactions.markers import TransactionMarkers
from millstream.errors import KafkaStorageError, NotLeaderOrFollower, UnknownTopicOrPartition
from millstream.log import LogEnvironment, PartitionLog, SavedState
from millstream.metadata.image import PartitionImage
from millstream.metadata.topic_config import LogConfig
from millstream.model import TopicPartition, Uuid
from millstream.records.control import TransactionMarker
from millstream.replication import Partition
from millstream.runtime import Instant
from millstream.runtime.system import SystemClock, SystemRandom
from tests.patience import LONG_ENOUGH_S
from tests.support.simulated_disk import SimFileSystem

PARTITIONS: Final = 250
WAITING_MAX: Final = 100
NOW: Final = Instant(1_000_000, 0)
MARKER: Final = TransactionMarker(1000, 4, 7, True, 2)


class World:
    """Partitions that this node leads, and a disk that syncs what waits when `sync` is called."""

    def __init__(self) -> None:
        environment = LogEnvironment(SimFileSystem(), SystemRandom())
        self.hosted = {}
        for number in range(PARTITIONS):
            name = TopicPartition("t", number)
            log = PartitionLog.open(
                name, f"/d/t-{number}", environment, LogConfig(), saved=SavedState(), now=NOW
            )
            partition = Partition(log, Uuid(b"t" * 16), 1)
            partition.apply(
                PartitionImage(partition=number, replicas=(1,), isr=(1,), leader=1, leader_epoch=0)
            )
            self.hosted[name] = partition
        self.names = list(self.hosted)
        self.unsynced: dict[TopicPartition, asyncio.Future[None]] = {}

    # as Partitions and LogFlusher

    def get(self, topic: str, number: int) -> Partition:
        found = self.hosted.get(TopicPartition(topic, number))
        if found is None:
            raise UnknownTopicOrPartition
        return found

    async def flush_to(self, log: PartitionLog, offset: int) -> None:
        assert offset == 1
        self.unsynced[log.partition] = asyncio.get_running_loop().create_future()
        await self.unsynced[log.partition]
        log.flush(NOW)

    def markers(self, flush_on_ack: str) -> TransactionMarkers:
        clock = SystemClock()
        flusher: Any = self  # Any: has what is used of a flusher, a pool and partitions
        purgatory = Purgatory(clock)
        durability = Durability(flusher, purgatory, lambda: flush_on_ack)
        services = CoordinatorServices(
            clock,
            purgatory.wake,
            durability,
            5_000,
            pool=flusher,
            long_work=LongWork(lambda: 0.0),
        )
        return TransactionMarkers(flusher, flusher, services, failures=FailureLog(clock))

    async def has_unsynced(self, count: int) -> None:
        async with asyncio.timeout(LONG_ENOUGH_S):
            while len(self.unsynced) < count:  # noqa: ASYNC110 - a turn of the loop, not a time
                await asyncio.sleep(0)


async def test_every_partition_has_the_marker_when_it_returns() -> None:
    world = World()
    refusals = await world.markers("never").write(world.names, MARKER)
    assert refusals == dict.fromkeys(world.names)
    assert {each.log_end_offset for each in world.hosted.values()} == {1}


async def test_what_waits_for_the_disk_is_bounded_and_all_of_it_is_waited_for() -> None:
    world = World()
    writing = asyncio.ensure_future(world.markers("always").write(world.names, MARKER))
    await world.has_unsynced(WAITING_MAX)
    for _ in range(10):
        await asyncio.sleep(0)
    assert len(world.unsynced) == WAITING_MAX
    assert sum(each.log_end_offset for each in world.hosted.values()) <= WAITING_MAX + 1
    for number in range(PARTITIONS):
        await world.has_unsynced(number + 1)
        assert not writing.done()
        world.unsynced[world.names[number]].set_result(None)
    assert await writing == dict.fromkeys(world.names)
    assert {each.log.recovery_point for each in world.hosted.values()} == {1}


async def test_refusals_are_told_of_each_partition_alone() -> None:
    world = World()
    led_elsewhere, broken, written = world.names[:3]
    world.hosted[led_elsewhere].leader = 2
    unknown = TopicPartition("unknown", 0)
    writing = asyncio.ensure_future(
        world.markers("always").write([led_elsewhere, broken, written, unknown], MARKER)
    )
    await world.has_unsynced(2)
    world.unsynced[broken].set_exception(KafkaStorageError())
    world.unsynced[written].set_result(None)
    refusals = await writing
    assert {name: type(error) for name, error in refusals.items()} == {
        led_elsewhere: NotLeaderOrFollower,
        broken: KafkaStorageError,
        written: type(None),
        unknown: UnknownTopicOrPartition,
    }
