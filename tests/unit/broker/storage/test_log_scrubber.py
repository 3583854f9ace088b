"""Rounds over logs with a wrong bit, and looks at what followers ask for again and again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from millstream.broker.long_work import LongWork
from millstream.broker.storage import log_scrubber
from millstream.broker.storage.log_scrubber import LogScrubber
from millstream.log import LogEnvironment, PartitionLog, SavedState
from millstream.log.verification import Damage
from millstream.metadata.image import PartitionImage
from millstream.metadata.topic_config import LogConfig
from millstream.model import BrokerId, LeaderEpoch, TopicPartition, Uuid
from millstream.records.builder import build_batch
from millstream.records.record import Record
from millstream.replication import Partition
from millstream.replication.fetch_position import FetchingReplica, FetchPosition
from millstream.runtime import Instant
from millstream.runtime.system import SystemRandom
from tests.sim.virtual_time import run_in_virtual_time
from tests.support.simulated_disk import SimFileSystem

NOW = Instant(0, 0)
OWN, OTHER = BrokerId(1), BrokerId(2)
VALUE = b"v" * 500
BATCHES = 10


class AtOnce:
    def __init__(self) -> None:
        self.runs = 0
        self.after_run: dict[int, Callable[[], object]] = {}
        """What happens meanwhile, by the number of the run."""

    async def run(self, work: Callable[[], object]) -> object:
        self.runs += 1
        result = work()
        self.after_run.pop(self.runs, lambda: None)()
        return result


class World:
    """One partition of this broker, with another replica elsewhere."""

    def __init__(self, rate: float) -> None:
        self.disk, self.pool, self.rate = SimFileSystem(), AtOnce(), rate
        name = TopicPartition("t", 0)
        environment = LogEnvironment(self.disk, SystemRandom())
        log = PartitionLog.open(
            name, "/d/t-0", environment, LogConfig(), saved=SavedState(), now=NOW
        )
        self.partition = Partition(log, Uuid(bytes(16)), OWN)
        image = PartitionImage(
            partition=0, replicas=(OWN, OTHER), isr=(OWN, OTHER), leader=OWN, leader_epoch=LeaderEpoch(1)
        )  # fmt: skip
        self.partition.apply(image, NOW)
        self.fill(VALUE)
        self.interval_ms = 3_600_000
        self.found: list[int] = []
        self.scrubber = LogScrubber(
            self,
            self.pool,  # type: ignore[arg-type]  # as much of it as is asked
            lambda: self.rate,
            interval_ms=lambda: self.interval_ms,
            long_work=LongWork(lambda: 0.0),
        )

    def fill(self, value: bytes) -> None:
        for _ in range(BATCHES):
            batch = build_batch([Record(offset=0, timestamp=1, value=value)])
            self.partition.append(memoryview(batch), NOW)

    def fill_anew(self) -> None:
        """Batches of other lengths stand in the file then."""
        self.partition.log.truncate_to(0, NOW)
        self.fill(VALUE + b"v" * 77 * self.pool.runs)

    def all(self) -> list[tuple[TopicPartition, Partition]]:
        return [(self.partition.topic_partition, self.partition)]

    def note_damage(self, hosted: Partition, damage: Damage) -> None:
        self.found.append(damage.offset)
        hosted.damaged_at = damage.offset

    def turn_a_bit(self, offset: int) -> None:
        path, size = "/d/t-0/00000000000000000000.log", self.partition.log.size_bytes // BATCHES
        at = offset * size + size // 2
        self.disk.corrupt(path, at, bytes([self.disk.read(path)[at] ^ 4]))

    def fetch(self, offset: int) -> None:
        position = FetchPosition(offset, 1 << 20, current_leader_epoch=1, reads_to_end=True)
        self.partition.read_as_replica(position, FetchingReplica(OTHER, -1, 0), NOW)


@pytest.mark.parametrize("offset", [0, 4, 9])
async def test_a_round_finds_a_wrong_bit_once(offset: int) -> None:
    w = World(1e9)
    await w.scrubber.make_round()
    assert w.found == []
    w.turn_a_bit(offset)
    await w.scrubber.make_round()
    await w.scrubber.make_round()
    assert w.found == [offset]


async def test_damage_that_was_deleted_is_none_any_more() -> None:
    w = World(1e9)
    image = PartitionImage(partition=0, replicas=(OWN,), isr=(OWN,), leader=OWN, leader_epoch=LeaderEpoch(1), partition_epoch=1)  # fmt: skip
    w.partition.apply(image, NOW)
    w.turn_a_bit(3)
    await w.scrubber.make_round()
    w.partition.delete_records_before(3)
    await w.scrubber.make_round()
    assert (w.found, w.partition.damaged_at) == ([3], 3)
    w.partition.delete_records_before(4)
    await w.scrubber.make_round()
    assert (w.found, w.partition.damaged_at) == ([3], None)
    w.turn_a_bit(7)
    await w.scrubber.make_round()
    assert w.found == [3, 7]


async def test_a_log_that_gets_other_batches_while_it_is_read_is_read_anew(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What was read ends amid one of them: that is no damage, and what is damaged behind it is found."""
    monkeypatch.setattr(log_scrubber, "_READ_BYTES", 1_000)
    w = World(1e9)
    w.pool.after_run[1] = w.fill_anew
    await w.scrubber.make_round()
    assert (w.found, w.pool.runs > 3) == ([], True)
    w.pool.after_run[w.pool.runs + 1] = lambda: (w.fill_anew(), w.turn_a_bit(5))
    await w.scrubber.make_round()
    assert w.found == [5]


async def test_damage_stays_known_while_its_log_gets_other_batches(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(log_scrubber, "_READ_BYTES", 1_000)
    w = World(1e9)
    image = PartitionImage(partition=0, replicas=(OWN,), isr=(OWN,), leader=OWN, leader_epoch=LeaderEpoch(1), partition_epoch=1)  # fmt: skip
    w.partition.apply(image, NOW)
    w.turn_a_bit(3)
    await w.scrubber.make_round()
    w.pool.after_run[w.pool.runs + 2] = lambda: w.partition.log.truncate_to(9, NOW)
    await w.scrubber.make_round()
    assert (w.found, w.partition.damaged_at) == ([3], 3)


async def test_rounds_can_be_turned_off() -> None:
    w = World(0)
    w.turn_a_bit(1)
    await w.scrubber.make_round()
    assert (w.found, w.pool.runs) == ([], 0)


def test_a_round_takes_as_long_as_its_pace_says() -> None:
    async def story() -> None:
        w = World(1000)
        begin_s = asyncio.get_running_loop().time()
        await w.scrubber.make_round()
        took_s = asyncio.get_running_loop().time() - begin_s
        assert took_s == pytest.approx(w.partition.log.size_bytes / 1000, rel=0.05)

    run_in_virtual_time(story())


def test_a_round_begins_as_long_after_the_last_one_as_is_configured_by_then() -> None:
    async def story() -> None:
        w = World(1e9)
        running = asyncio.create_task(w.scrubber.run())
        await asyncio.sleep(1)
        w.turn_a_bit(4)
        await asyncio.sleep(3_590)
        assert w.found == []
        await asyncio.sleep(20)
        assert w.found == [4]
        w.turn_a_bit(2)
        w.partition.damaged_at = None
        w.interval_ms = 60_000
        await asyncio.sleep(62)
        assert w.found == [4, 2]
        running.cancel()
        await asyncio.wait([running])

    run_in_virtual_time(story())


@pytest.mark.parametrize("asks", [2, 5])
def test_what_a_follower_asks_for_again_and_again_is_looked_at(asks: int) -> None:
    async def story() -> None:
        w = World(0)
        w.turn_a_bit(4)
        for _ in range(asks):
            w.fetch(4)
        looking = asyncio.create_task(w.scrubber.look())
        await asyncio.sleep(5)
        looking.cancel()
        assert w.found == ([4] if asks > 4 else [])

    run_in_virtual_time(story())
