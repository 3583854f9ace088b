"""A follower's log is cut while the disk stands still: the loop, the other partitions and those who read do not."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine
from typing import Any  # what a story returns

import pytest

from millstream.broker.storage.disk_pool import DiskPool
from millstream.broker.storage.log_cutter import LogCutter
from millstream.errors import KafkaStorageError, NotLeaderOrFollower
from millstream.log import LogEnvironment, PartitionLog, SavedState
from millstream.log.leader_epochs import EpochEnd
from millstream.log.log_health import LogBeingCut
from millstream.log.truncation import LogCut
from millstream.metadata.image import PartitionImage
from millstream.metadata.topic_config import LogConfig
from millstream.model import BrokerId, LeaderEpoch, TopicPartition, Uuid
from millstream.records.batch import patch_offset_and_epoch
from millstream.records.builder import build_batch
from millstream.records.record import Record
from millstream.replication import Partition
from millstream.replication.fetch_position import FetchPosition
from millstream.runtime import Instant
from millstream.runtime.system import SystemClock, SystemRandom
from tests.support.simulated_disk import PowerLost
from tests.support.standing_disk import PATIENCE_S, StandingDisk


class Tasks:
    """Those of a node, which end with it."""

    def __init__(self) -> None:
        self._running: set[asyncio.Task[None]] = set()

    def start(self, coroutine: Coroutine[None, None, None], name: str) -> None:
        task = asyncio.get_running_loop().create_task(coroutine, name=name)
        self._running.add(task)

    async def end(self) -> None:
        for task in self._running:
            task.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)


NOW = Instant(1_000_000, 0)
OWN, LEADER = BrokerId(1), BrokerId(2)
SMALL = LogConfig(segment_bytes=200)
"""Two batches a segment."""


class World:
    def __init__(self) -> None:
        self.disk, self.pool, self.tasks = StandingDisk(), DiskPool(), Tasks()
        self.cutter = LogCutter(self.pool, self.tasks, SystemClock())
        self.told: list[Exception | None] = []
        self.has_told = asyncio.Event()
        self.environment = LogEnvironment(self.disk, SystemRandom())

    def open(self, number: int) -> PartitionLog:
        name = TopicPartition("t", number)
        return PartitionLog.open(name, f"/d/{name}", self.environment, SMALL, saved=SavedState(), now=NOW)  # fmt: skip

    def follower(self, number: int, records: int) -> Partition:
        partition = Partition(self.open(number), Uuid(b"topic-of-a-test!"), OWN)
        lead(partition, LEADER, 5)
        for _ in range(records):
            fetch_one(partition)
        return partition

    def cut(self, partition: Partition, cut: LogCut | None) -> None:
        assert cut is not None, "there is something to cut"
        self.cutter.start(partition, cut, self._tell)

    def _tell(self, error: Exception | None) -> None:
        self.told.append(error)
        self.has_told.set()

    async def let_it_go(self) -> None:
        self.disk.may_go.set()
        async with asyncio.timeout(PATIENCE_S):
            await self.has_told.wait()


def lead(partition: Partition, leader: int, epoch: int) -> None:
    image = PartitionImage(partition=0, replicas=(OWN, LEADER), isr=(LEADER,), leader=BrokerId(leader), leader_epoch=LeaderEpoch(epoch))  # fmt: skip
    partition.apply(image, NOW)


def fetch_one(partition: Partition) -> None:
    built = build_batch([Record(timestamp=1, value=b"v")])
    patch_offset_and_epoch(memoryview(built), partition.log_end_offset, partition.leader_epoch)
    partition.append_fetched(
        memoryview(built),
        leader_epoch=partition.leader_epoch,
        leader_high_watermark=partition.log_end_offset,
        leader_log_start_offset=0,
        now=NOW,
    )


def told(story: Callable[[World], Coroutine[Any, Any, None]]) -> Callable[[], None]:
    async def run() -> None:
        world = World()
        try:
            await story(world)
        finally:
            world.disk.may_go.set()
            await world.tasks.end()
            world.pool.close()

    def test() -> None:
        asyncio.run(run())

    test.__doc__ = story.__doc__
    return test


@told
async def test_the_loop_goes_on_while_the_disk_stands_still(w: World) -> None:
    cut, other = w.follower(0, 6), w.follower(1, 1)
    position = FetchPosition(2, 1 << 20, reads_to_end=True, may_follow=True)
    w.disk.stand_still()
    w.cut(cut, cut.plan_divergence_cut(EpochEnd(5, 3), LeaderEpoch(5)))
    await w.disk.until_somebody_waits()
    fetch_one(other)
    assert (cut.log_end_offset, other.log_end_offset) == (3, 2)
    assert len(cut.read(position).records) == cut.log.size_bytes // 3
    with pytest.raises(LogBeingCut):
        fetch_one(cut)
    with pytest.raises(LogBeingCut):
        cut.plan_cut(1)
    assert cut.maintain(NOW) == 0
    assert w.told == []
    await w.let_it_go()
    assert w.told == [None]
    fetch_one(cut)
    assert cut.log_end_offset == 4


@told
async def test_nothing_is_cut_where_another_leads_by_then(w: World) -> None:
    cut = w.follower(0, 3)
    w.cut(cut, cut.plan_cut(1))
    lead(cut, OWN, 6)  # before the task has its first turn
    await w.let_it_go()
    assert [type(error) for error in w.told] == [NotLeaderOrFollower]
    assert (cut.log_end_offset, cut.log.cuts.is_under_way) == (3, False)


@told
async def test_of_two_that_were_planned_one_is_made(w: World) -> None:
    """As for a divergence, and for damage that is found at the same time."""
    cut = w.follower(0, 6)
    first, second = cut.plan_cut(4), cut.plan_cut(2)
    assert first is not None
    assert second is not None
    w.disk.stand_still()
    w.cut(cut, first)
    await w.disk.until_somebody_waits()
    w.cut(cut, second)
    async with asyncio.timeout(PATIENCE_S):  # of a disk that a test holds
        await w.has_told.wait()
    assert [type(error) for error in w.told] == [LogBeingCut]
    assert (cut.log_end_offset, cut.log.cuts.is_under_way) == (4, True)
    w.has_told.clear()
    await w.let_it_go()
    assert w.told[1:] == [None]


@told
async def test_who_leads_before_the_cut_is_on_the_disk_appends_as_soon_as_it_is(w: World) -> None:
    cut = w.follower(0, 3)
    w.disk.stand_still()
    w.cut(cut, cut.plan_cut(1))
    await w.disk.until_somebody_waits()
    lead(cut, OWN, 6)
    with pytest.raises(KafkaStorageError):
        cut.append(memoryview(build_batch([Record(timestamp=1, value=b"w")])), NOW)
    await w.let_it_go()
    cut.append(memoryview(build_batch([Record(timestamp=1, value=b"w")])), NOW)
    assert (cut.log_end_offset, w.told) == (2, [None])


@told
async def test_a_disk_that_fails_takes_the_log_out_of_use(w: World) -> None:
    cut = w.follower(0, 3)
    w.disk.is_broken = True
    w.cut(cut, cut.plan_cut(1))
    await w.let_it_go()
    assert [type(error) for error in w.told] == [KafkaStorageError]
    assert "stopped half way" in (cut.log.health.failure or "")


@told
async def test_a_log_that_left_while_it_was_cut_is_no_fault_of_the_disk(w: World) -> None:
    cut = w.follower(0, 3)
    w.disk.stand_still()
    w.cut(cut, cut.plan_cut(1))
    await w.disk.until_somebody_waits()
    cut.log.retire("its topic was deleted", is_gone=True)
    w.disk.is_broken = True
    await w.let_it_go()
    assert "its topic was deleted" in (cut.log.health.failure or "")


@told
async def test_what_the_end_of_the_node_interrupts_is_done_when_the_log_is_closed(w: World) -> None:
    cut = w.follower(0, 6)
    w.disk.stand_still()
    w.cut(cut, cut.plan_cut(3))
    await w.disk.until_somebody_waits()
    await w.tasks.end()
    w.disk.may_go.set()
    cut.log.close(NOW)
    w.disk.crash()
    assert w.open(0).log_end_offset == 3


UP_TO_THE_FILE, ALL_OPERATIONS = 3, 5
"""The names of segments that go, the file that is cut, its sync; then a snapshot of producers, and its name."""


@pytest.mark.parametrize("operations", range(ALL_OPERATIONS + 1))
def test_power_lost_in_between_leaves_a_log_that_is_cut_is_not_or_lacks_its_last_segments(
    operations: int,
) -> None:
    async def story() -> None:
        w = World()
        cut = w.follower(0, 6)
        cut.log.flush(NOW)
        assert [each.base_offset for each in cut.log.segments] == [0, 2, 4]
        planned = cut.plan_cut(3)
        assert planned is not None
        planned.read()
        assert cut.make_cut(planned, LeaderEpoch(5))
        w.disk.operations_left = operations
        with pytest.raises(PowerLost) if operations < ALL_OPERATIONS else contextlib.nullcontext():
            planned.settle()
        w.disk.operations_left = None
        w.disk.crash()
        reopened = w.open(0)
        is_cut_on_disk = operations >= UP_TO_THE_FILE
        assert reopened.log_end_offset in ((3,) if is_cut_on_disk else (3, 4, 6))
        read = reopened.read(0, 1 << 20, reopened.log_end_offset).records
        assert len(read) >= 2 * len(build_batch([Record(timestamp=1, value=b"v")]))

    asyncio.run(story())
