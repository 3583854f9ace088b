"""One marker into many partitions: in turns, not too many waiting at once, and what one refuses is told of it alone."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from millstream.broker.coordination.coordinator_partition import CoordinatorServices
from millstream.broker.long_work import LongWork
from millstream.broker.requests.failure_log import FailureLog
from millstream.broker.requests.purgatory import Purgatory
from millstream.broker.storage.durability import Durability
from millstream.broker.transactions.markers import TransactionMarkers
from millstream.errors import (
    InvalidProducerEpoch,
    KafkaError,
    KafkaStorageError,
    NotEnoughReplicas,
    NotLeaderOrFollower,
    RequestTimedOut,
    UnknownTopicOrPartition,
)
from millstream.log import LogEnvironment, PartitionLog, SavedState
from millstream.metadata.image import PartitionImage
from millstream.metadata.topic_config import LogConfig
from millstream.model import TopicPartition, Uuid
from millstream.records.builder import BatchOptions, build_batch
from millstream.records.control import TransactionMarker
from millstream.records.record import Record
from millstream.replication import Partition
from millstream.runtime import Instant
from millstream.runtime.system import SystemClock, SystemRandom
from tests.patience import LONG_ENOUGH_S
from tests.support.replicated_partition import ReplicatedPartition
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
                PartitionImage(partition=number, replicas=(1,), isr=(1,), leader=1, leader_epoch=0),
                NOW,
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


class Replicated:
    """One partition with a follower, and the markers that are written there."""

    def __init__(self, *, commit_timeout_ms: int = 60_000, min_insync_replicas: int = 1) -> None:
        clock = SystemClock()
        self.purgatory = Purgatory(clock)
        self.replicated = ReplicatedPartition(
            TopicPartition("t", 0), self.purgatory.wake, min_insync_replicas
        )
        me: Any = self  # Any: has what is used of partitions
        durability = Durability(me, self.purgatory, lambda: "never")
        services = CoordinatorServices(
            clock,
            self.purgatory.wake,
            durability,
            commit_timeout_ms,
            pool=me,
            long_work=LongWork(lambda: 0.0),
        )
        self.markers = TransactionMarkers(me, me, services, failures=FailureLog(clock))

    def get(self, _topic: str, _number: int) -> Partition:
        return self.replicated.partition

    async def write(self, marker: TransactionMarker = MARKER) -> KafkaError | None:
        name = self.replicated.partition.topic_partition
        return (await self.markers.write([name], marker))[name]


async def turns() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


async def test_a_marker_is_told_when_the_mark_has_passed_it() -> None:
    world = Replicated()
    writing = asyncio.create_task(world.write())
    await turns()
    assert world.replicated.log.log_end_offset == 1
    assert not writing.done()
    world.replicated.replicate()
    assert await writing is None


async def test_a_marker_that_is_not_replicated_in_time_is_written_again() -> None:
    world = Replicated(commit_timeout_ms=0)
    writing = asyncio.create_task(world.write())
    await turns()
    world.purgatory.expire()
    assert isinstance(await writing, RequestTimedOut)
    again = asyncio.create_task(world.write())
    await turns()
    world.replicated.replicate(1)
    await turns()
    assert not again.done()
    world.replicated.replicate()
    assert await again is None


async def test_a_marker_that_another_leader_cut_off_is_not_told() -> None:
    """Lead, lose, lead again: the mark is beyond the marker's place for the sake of another record."""
    world = Replicated()
    writing = asyncio.create_task(world.write())
    await turns()
    world.replicated.follow()
    world.replicated.take_over(0, [Record(value=b"another", timestamp=1)])
    world.replicated.lead()
    world.replicated.replicate()
    assert isinstance(await writing, NotLeaderOrFollower | RequestTimedOut)


async def test_a_loss_of_leadership_ends_the_wait() -> None:
    world = Replicated()
    writing = asyncio.create_task(world.write())
    await turns()
    world.replicated.follow()
    assert isinstance(await writing, NotLeaderOrFollower)


async def test_a_marker_below_min_insync_replicas_is_not_written() -> None:
    world = Replicated(min_insync_replicas=2)
    world.replicated.shrink()
    assert isinstance(await world.write(), NotEnoughReplicas)
    assert world.replicated.log.log_end_offset == 0


async def test_read_committed_goes_on_when_the_marker_is_committed() -> None:
    """The end of a transaction that only the leader has must not be shown: another leader may not have it."""
    world = Replicated()
    partition = world.replicated.partition
    options = BatchOptions(
        producer_id=1000, producer_epoch=3, base_sequence=0, is_transactional=True
    )
    batch = build_batch([Record(value=b"a", timestamp=1)], options)
    partition.append(memoryview(batch), NOW)
    world.replicated.replicate()
    assert (partition.high_watermark, partition.last_stable_offset) == (1, 0)
    writing = asyncio.create_task(world.write())
    await turns()
    assert (partition.high_watermark, partition.last_stable_offset) == (1, 0)
    world.replicated.replicate()
    assert await writing is None
    assert (partition.high_watermark, partition.last_stable_offset) == (2, 2)


async def test_a_late_marker_at_the_epoch_of_the_next_transaction_ends_nothing() -> None:
    """KAFKA-19446: the marker of a transaction was written by its retry; the first attempt comes after the next one has begun."""
    world = Replicated()
    partition = world.replicated.partition
    first = asyncio.create_task(world.write())
    await turns()
    world.replicated.replicate()
    assert await first is None
    options = BatchOptions(
        producer_id=1000,
        producer_epoch=MARKER.producer_epoch,
        base_sequence=0,
        is_transactional=True,
    )
    batch = build_batch([Record(value=b"next", timestamp=1)], options)
    partition.append(memoryview(batch), NOW)
    assert isinstance(await world.write(), InvalidProducerEpoch)
    assert partition.log.producers.has_open_transaction(1000, MARKER.producer_epoch)
