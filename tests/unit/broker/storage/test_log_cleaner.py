"""Which log is cleaned, and what becomes of those that cannot be."""

from __future__ import annotations

import asyncio
import errno
import math
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from millstream.broker.long_work import LongWork
from millstream.broker.storage.log_cleaner import CleanerSettings, LogCleaner
from millstream.config_fields import read_config
from millstream.errors import KafkaStorageError
from millstream.log import LogEnvironment, PartitionLog, SavedState, partition_log
from millstream.log.compaction.plan import CompactionPlan, plan_compaction
from millstream.log.segments.segments import Segments
from millstream.metadata.topic_config import LogConfig
from millstream.model import TopicPartition
from millstream.records.builder import build_batch
from millstream.records.record import Record
from millstream.runtime.system import SystemClock, SystemRandom
from tests.patience import LONG_ENOUGH_S
from tests.support.simulated_disk import SimFileSystem

CONFIG = LogConfig(cleanup_policy=frozenset({"compact"}))


class InlinePool:
    """Does what it is given at once, or when `go_on` is set."""

    def __init__(self) -> None:
        self.go_on = asyncio.Event()
        self.go_on.set()
        self.waiting = 0

    async def run(self, work: Any) -> Any:  # Any: whatever the cleaner asks for
        self.waiting += 1
        await self.go_on.wait()
        self.waiting -= 1
        return work()


class World:
    """Logs with some dirty batches each, and a cleaner over all of them."""

    def __init__(self, **dirty: int) -> None:
        self.disk, self.clock = SimFileSystem(), SystemClock()
        self.broken: list[OSError] = []
        environment = LogEnvironment(self.disk, SystemRandom(), on_broken_disk=self.broken.append)
        self.logs = {
            name: PartitionLog.open(
                TopicPartition(name, 0), f"/data/{name}-0", environment, CONFIG,
                saved=SavedState(), now=self.clock.now(),
            )
            for name in dirty
        }  # fmt: skip
        self.checkpoints = 0
        for name, count in dirty.items():
            self.write(name, count)
        partitions: Any = SimpleNamespace(
            all=lambda: [
                (log.partition, SimpleNamespace(log=log, high_watermark=log.log_end_offset))
                for log in self.logs.values()
            ]
        )
        self.pool = InlinePool()
        pool: Any = self.pool
        self.start_checkpoints: list[int] = []
        """How large the logs were together when it was written down where they start."""
        self.refused_start_checkpoints = 0
        directory: Any = SimpleNamespace(
            checkpoint_cleaner=self.checkpoint,
            checkpoint_log_start_offsets=self.checkpoint_starts,
        )
        self.settings = CleanerSettings(1 << 20, 1e300, 1)
        self.cleaner = LogCleaner(
            partitions,
            lambda _log: directory,
            pool,
            self.clock,
            lambda: self.settings,
            long_work=LongWork(lambda: 0.0),
        )

    def checkpoint(self) -> None:
        self.checkpoints += 1

    def checkpoint_starts(self) -> None:
        if self.refused_start_checkpoints:
            self.refused_start_checkpoints -= 1
            raise KafkaStorageError("cannot write the checkpoint")
        self.start_checkpoints.append(sum(log.size_bytes for log in self.logs.values()))

    def write(self, name: str, count: int) -> None:
        log = self.logs[name]
        for _ in range(count):
            batch = build_batch([Record(timestamp=1, key=b"k", value=b"v")])
            log.append_as_leader(memoryview(batch), 0, self.clock.now())
        log.roll(self.clock.now())
        log.flush(self.clock.now())

    def cleaned(self) -> dict[str, int | None]:
        return {name: log.cleaner_checkpoint for name, log in self.logs.items()}


async def test_the_log_with_the_largest_dirty_part_is_cleaned_first() -> None:
    world = World(a=10, b=10)
    assert await world.cleaner.clean_filthiest()
    assert await world.cleaner.clean_filthiest()
    world.write("a", 1)
    world.write("b", 60)
    assert await world.cleaner.clean_filthiest()
    assert world.cleaned() == {"a": 10, "b": 70}
    assert world.checkpoints == 3


async def test_where_a_log_starts_is_written_down_before_anything_is_cleaned() -> None:
    world = World(a=10)
    world.write("a", 50)
    log = world.logs["a"]
    log.delete_records_before(3)
    size_bytes = log.size_bytes
    world.refused_start_checkpoints = 1
    assert not await world.cleaner.clean_filthiest(), "it waits before it tries again"
    assert world.cleaned() == {"a": None}
    assert world.cleaner.uncleanable_partitions_count == 0
    assert await world.cleaner.clean_filthiest()
    assert world.start_checkpoints == [size_bytes]
    assert world.cleaned() == {"a": 60}


async def test_a_log_whose_start_a_crash_may_take_back_waits_for_the_next_checkpoint() -> None:
    world = World(a=10)
    log = world.logs["a"]
    log.truncate_to(8, world.clock.now())
    world.write("a", 2)
    world.write("a", 50)
    assert log.cut_notes.names
    log.delete_records_before(3)
    assert not await world.cleaner.clean_filthiest()
    log.cut_notes.forget(log.cut_notes.names)  # as `checkpoint_recovery_points` does it
    assert await world.cleaner.clean_filthiest()
    assert world.cleaned() == {"a": 60}


async def test_there_is_nothing_to_do_while_no_log_is_dirty_enough() -> None:
    world = World(a=10)
    assert await world.cleaner.clean_filthiest()
    assert not await world.cleaner.clean_filthiest()
    world.write("a", 1)
    assert not await world.cleaner.clean_filthiest()
    world.write("a", 1)
    assert await world.cleaner.clean_filthiest()


@pytest.mark.parametrize("threads", [0, 1, 2])
async def test_as_many_logs_are_cleaned_at_a_time_as_there_are_threads(threads: int) -> None:
    world = World(a=10, b=10, c=10)
    world.settings = CleanerSettings(1 << 20, 1e300, 1, threads)
    world.pool.go_on.clear()
    running = asyncio.create_task(world.cleaner.run())
    for _ in range(20):
        await asyncio.sleep(0)
    assert world.pool.waiting == threads
    world.settings = CleanerSettings(1 << 20, 1e300, 1, 3)
    world.pool.go_on.set()
    async with asyncio.timeout(LONG_ENOUGH_S):
        while world.cleaned() != {"a": 10, "b": 10, "c": 10}:  # noqa: ASYNC110 - it tells nobody
            await asyncio.sleep(0.001)
    running.cancel()
    await asyncio.wait([running])


def test_the_threads_of_the_cleaner_share_its_memory() -> None:
    values = {
        "log.cleaner.dedupe.buffer.size": 1000, "log.cleaner.io.buffer.load.factor": 0.9,
        "log.cleaner.io.max.bytes.per.second": 5.0, "log.cleaner.backoff.ms": 7,
        "log.cleaner.threads": 3, "log.cleaner.io.buffer.size": 600,
    }  # fmt: skip
    assert read_config(CleanerSettings, values) == CleanerSettings(300, 5.0, 7, 3, 100)


def test_no_load_factor_is_too_large() -> None:
    values = {
        "log.cleaner.dedupe.buffer.size": 1000, "log.cleaner.io.buffer.load.factor": math.inf,
        "log.cleaner.io.max.bytes.per.second": 5.0, "log.cleaner.backoff.ms": 7,
        "log.cleaner.threads": 1, "log.cleaner.io.buffer.size": 600,
    }  # fmt: skip
    assert read_config(CleanerSettings, values).map_bytes_max == sys.maxsize


async def test_a_damaged_log_is_set_aside_and_the_others_go_on(
    caplog: pytest.LogCaptureFixture,
) -> None:
    world = World(bad=5, good=5)
    world.disk.corrupt(f"/data/bad-0/{0:020d}.log", 65, b"\xff\xff")
    assert await world.cleaner.clean_filthiest()
    assert await world.cleaner.clean_filthiest()
    assert not await world.cleaner.clean_filthiest()
    assert world.cleaned() == {"bad": None, "good": 5}
    assert world.cleaner.uncleanable_partitions_count == 1
    assert "bad-0 cannot be compacted" in caplog.text
    assert world.logs["bad"].health.failure is None


async def test_a_full_disk_makes_the_cleaner_wait_and_try_again() -> None:
    world = World(a=5)
    world.disk.space_bytes = 10
    assert not await world.cleaner.clean_filthiest()
    assert world.cleaner.uncleanable_partitions_count == 0
    world.disk.space_bytes = None
    assert await world.cleaner.clean_filthiest()
    assert world.cleaned() == {"a": 5}
    assert not world.broken


async def test_a_broken_disk_takes_its_directory_offline() -> None:
    world = World(a=5)
    world.disk.failing_syncs = lambda _path: True
    assert not await world.cleaner.clean_filthiest()
    assert [error.errno for error in world.broken] == [errno.EIO]
    assert world.cleaned() == {"a": None}


async def test_a_log_file_that_is_cut_short_is_set_aside_and_loses_nothing_more() -> None:
    """A batch that does not fit into what is left is no end of the log: compaction would leave out what is behind it."""
    world = World(bad=5, good=5)
    path = f"/data/bad-0/{0:020d}.log"
    world.disk.corrupt(path, 8, (1 << 20).to_bytes(4, "big"))
    before = world.disk.read(path)
    for _ in range(3):
        await world.cleaner.clean_filthiest()
    assert world.cleaned() == {"bad": None, "good": 5}
    assert world.disk.read(path) == before


async def test_what_nobody_expects_of_a_log_sets_it_aside_and_the_others_go_on(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    world = World(bad=5, good=5)

    bad = world.logs["bad"].segments[0]

    def plan(segments: Segments, *arguments: Any) -> CompactionPlan | None:
        if segments.first is bad:
            raise ZeroDivisionError("division by zero")
        return plan_compaction(segments, *arguments)

    monkeypatch.setattr(partition_log, "plan_compaction", plan)
    for _ in range(3):
        await world.cleaner.clean_filthiest()
    assert world.cleaned() == {"bad": None, "good": 5}
    (told,) = [record for record in caplog.records if "bad-0" in record.getMessage()]
    assert told.exc_info is not None
