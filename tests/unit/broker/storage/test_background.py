from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from functools import partial
from itertools import count, pairwise
from types import SimpleNamespace
from typing import Any

import pytest

from millstream.broker.config.broker_config import broker_config
from millstream.broker.long_work import TURN_S, LongWork
from millstream.broker.requests.failure_log import FailureLog
from millstream.broker.storage.background import BackgroundWork
from millstream.broker.storage.disk_pool import DiskPool
from millstream.errors import KafkaStorageError
from millstream.model import TopicPartition
from millstream.runtime.system import SystemClock
from tests.patience import LONG_ENOUGH_S
from tests.support.patched_library import patch_library

FIRST = TopicPartition("t", 0)


class FakeDirectory:
    """Remembers what it was asked to write."""

    def __init__(self) -> None:
        self.high_watermarks: list[dict[TopicPartition, int]] = []
        self.recovery_points = 0
        self.known_producers = 0

    def note_known_producers(self, known: int) -> None:
        self.known_producers = known

    def checkpoint_high_watermarks(self, offsets: dict[TopicPartition, int]) -> None:
        self.high_watermarks.append(dict(offsets))

    def checkpoint_recovery_points(self) -> None:
        self.recovery_points += 1

    def checkpoint_log_start_offsets(self) -> None:
        pass

    def take_due_removals(self, now: object) -> list[object]:
        return []


class FakeHealth:
    def __init__(self, failure: str | None) -> None:
        self.failure = failure


class FakeLog:
    def __init__(
        self,
        *,
        failure: str | None = None,
        is_overdue: bool = False,
        was_rolled: bool = False,
        removed: int = 1,
    ) -> None:
        self.health = FakeHealth(failure)
        self.removed = removed
        self.is_overdue = is_overdue
        self.has_unflushed_segments = was_rolled
        self.maintained = 0
        self.looked_at = 0
        self.producers = range(3)

    def flush_is_overdue(self, now: object) -> bool:
        self.looked_at += 1
        return self.is_overdue

    def remove_expired_producers(self, now: object) -> None:
        self.looked_at += 1

    def take_due_removals(self, now: object) -> list[object]:
        self.looked_at += 1
        return []

    def maintain(self, upper_bound: int, now: object) -> int:
        self.looked_at += 1
        self.maintained = upper_bound
        return self.removed


class FakePartitions:
    def __init__(self, **logs: FakeLog) -> None:
        self.hosted = {
            TopicPartition(name, 0): SimpleNamespace(high_watermark=7, log=log)
            for name, log in logs.items()
        }

        self.tried_to_open = 0

    def open_refused(self) -> None:
        self.tried_to_open += 1

    def all(self) -> list[tuple[TopicPartition, Any]]:
        return list(self.hosted.items())


def work(
    directory: FakeDirectory,
    partitions: FakePartitions,
    flushed: list[object],
    now_s: Callable[[], float] = lambda: 0.0,
) -> BackgroundWork:
    flusher: Any = SimpleNamespace(start_flush=flushed.append)
    fake_directories: Any = [directory]
    fake_partitions: Any = partitions
    return BackgroundWork(
        fake_directories,
        fake_partitions,
        flusher,
        DiskPool(),
        SystemClock(),
        long_work=LongWork(now_s),
        failures=FailureLog(SystemClock()),
    )


async def test_high_watermarks_are_written_only_when_they_moved() -> None:
    directory, partitions = FakeDirectory(), FakePartitions(t=FakeLog())
    background = work(directory, partitions, [])
    await background.checkpoint_high_watermarks()
    await background.checkpoint_high_watermarks()
    partitions.hosted[FIRST].high_watermark = 9
    await background.checkpoint_high_watermarks()
    assert directory.high_watermarks == [{FIRST: 7}, {FIRST: 9}]


async def test_retention_stops_at_the_high_watermark_and_passes_over_failed_logs() -> None:
    good, bad = FakeLog(), FakeLog(failure="offline")
    await work(FakeDirectory(), FakePartitions(good=good, bad=bad), []).maintain_logs()
    assert (good.maintained, bad.maintained) == (7, 0)


async def test_what_retention_has_removed_is_told_as_removed(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("INFO")
    partitions = FakePartitions(a=FakeLog(removed=1), b=FakeLog(removed=2))
    await work(FakeDirectory(), partitions, []).maintain_logs()
    assert [record.getMessage() for record in caplog.records] == [
        "a-0: retention has removed 1 segment",
        "b-0: retention has removed 2 segments",
    ]


async def test_only_logs_that_are_overdue_or_were_rolled_are_flushed() -> None:
    overdue, idle, broken = (
        FakeLog(is_overdue=True),
        FakeLog(),
        FakeLog(is_overdue=True, was_rolled=True, failure="offline"),
    )
    rolled = FakeLog(was_rolled=True)
    flushed: list[object] = []
    background = work(
        FakeDirectory(),
        FakePartitions(overdue=overdue, idle=idle, broken=broken, rolled=rolled),
        flushed,
    )
    await background.flush_overdue_logs()
    assert flushed == [overdue]
    await background.flush_rolled_segments()
    assert flushed == [overdue, rolled]


@pytest.mark.parametrize(
    ("settings", "interval_s"),
    [({}, None), ({"log.flush.scheduler.interval.ms": "1500"}, 1.5)],
    ids=["never by default", "as set"],
)
async def test_the_scheduler_of_flush_ms_has_the_interval_that_is_set(
    settings: dict[str, str], interval_s: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each task sleeps for its first delay, and then for its interval."""
    slept: dict[str, list[float]] = {}

    async def sleep(seconds: float) -> None:
        task = asyncio.current_task()
        assert task is not None
        slept.setdefault(task.get_name(), []).append(seconds)
        if len(slept[task.get_name()]) == 2:
            raise asyncio.CancelledError

    patch_library(monkeypatch, BackgroundWork.__module__, asyncio, sleep=sleep)
    background = work(FakeDirectory(), FakePartitions(), [])
    tasks: list[asyncio.Task[None]] = []
    starter: Any = SimpleNamespace(
        start=lambda coroutine, name: tasks.append(asyncio.create_task(coroutine, name=name))
    )
    background.start(broker_config({"log.initial.task.delay.ms": "70", **settings}), starter)
    await asyncio.wait(tasks)
    expected = None if interval_s is None else [0.07, interval_s]
    assert slept.get("background: flush.ms") == expected


async def test_an_interval_of_0_means_once() -> None:
    directory, starts = FakeDirectory(), []
    background = work(directory, FakePartitions(), [])
    starter: Any = SimpleNamespace(start=lambda coroutine, name: starts.append((name, coroutine)))
    settings = {"log.initial.task.delay.ms": "0", "log.flush.offset.checkpoint.interval.ms": "0"}
    background.start(broker_config(settings), starter)
    once = dict(starts).pop("background: recovery points")
    for name, coroutine in starts:
        if name != "background: recovery points":
            coroutine.close()
    async with asyncio.timeout(LONG_ENOUGH_S):
        await once
    assert directory.recovery_points == 1


async def test_recovery_points_of_every_directory_are_written() -> None:
    directories: Any = [FakeDirectory(), FakeDirectory()]
    partitions: Any = FakePartitions()
    flusher: Any = None
    background = BackgroundWork(
        directories,
        partitions,
        flusher,
        DiskPool(),
        SystemClock(),
        long_work=LongWork(lambda: 0.0),
        failures=FailureLog(SystemClock()),
    )
    await background.checkpoint_recovery_points()
    await background.checkpoint_recovery_points()
    assert [each.recovery_points for each in directories] == [2, 2]


async def test_logs_that_the_disk_refused_are_tried_again() -> None:
    partitions = FakePartitions()
    await work(FakeDirectory(), partitions, []).open_refused_logs()
    assert partitions.tried_to_open == 1


async def test_each_task_comes_back_after_the_time_that_is_set_for_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A task pauses once before its work begins, and once before each round of it."""
    pauses: dict[str, list[float]] = {}

    async def noted(seconds: float) -> None:
        task = asyncio.current_task()
        assert task is not None
        pauses.setdefault(task.get_name(), []).append(seconds)
        if len(pauses[task.get_name()]) == 3:
            raise asyncio.CancelledError

    patch_library(monkeypatch, BackgroundWork.__module__, asyncio, sleep=noted)
    config = broker_config(
        {
            "log.initial.task.delay.ms": "7000",
            "replica.high.watermark.checkpoint.interval.ms": "1000",
            "log.flush.offset.checkpoint.interval.ms": "2000",
            "log.flush.start.offset.checkpoint.interval.ms": "3000",
            "producer.id.expiration.check.interval.ms": "4000",
            "log.retention.check.interval.ms": "5000",
        }
    )
    started: list[asyncio.Task[None]] = []
    starter: Any = SimpleNamespace(
        start=lambda coroutine, name: started.append(asyncio.create_task(coroutine, name=name))
    )
    work(FakeDirectory(), FakePartitions(), []).start(config, starter)
    await asyncio.gather(*started, return_exceptions=True)
    assert {
        name.removeprefix("background: "): set(told[1:]) for name, told in pauses.items()
    }.items() >= {
        "high watermarks": {1.0},
        "recovery points": {2.0},
        "log start offsets": {3.0},
        "silent producers": {4.0},
        "retention": {5.0},
    }.items()
    assert {pauses[f"background: {name}"][0] for name in ("recovery points", "retention")} == {7.0}


async def test_work_that_fails_on_the_disk_is_tried_again() -> None:
    directory = FakeDirectory()
    attempts: list[int] = []
    loop, tried_again = asyncio.get_running_loop(), asyncio.Event()

    def fail_once() -> None:
        """Runs in the disk pool."""
        attempts.append(1)
        if len(attempts) == 1:
            raise KafkaStorageError("no space")
        loop.call_soon_threadsafe(tried_again.set)

    directory.checkpoint_recovery_points = fail_once  # type: ignore[method-assign]
    background = work(directory, FakePartitions(), [])
    config = broker_config(
        {"log.initial.task.delay.ms": "0", "log.flush.offset.checkpoint.interval.ms": "1"}
    )
    async with asyncio.TaskGroup() as group:
        tasks: list[asyncio.Task[None]] = []
        starter: Any = SimpleNamespace(
            start=lambda coroutine, name: tasks.append(group.create_task(coroutine, name=name))
        )
        background.start(config, starter)
        async with asyncio.timeout(LONG_ENOUGH_S):
            await tried_again.wait()
        for task in tasks:
            task.cancel()
    assert len(attempts) >= 2


@pytest.mark.parametrize(
    "walk",
    [
        BackgroundWork.maintain_logs,
        BackgroundWork.forget_producers,
        BackgroundWork.remove_deleted_files,
        BackgroundWork.flush_overdue_logs,
    ],
    ids=lambda walk: walk.__name__,
)
async def test_a_walk_over_all_logs_takes_turns(
    walk: Callable[[BackgroundWork], Coroutine[Any, Any, None]],
) -> None:
    """A clock that goes on whenever it is looked at: four logs are looked at in a turn."""
    logs = {f"t{number}": FakeLog() for number in range(20)}
    slow = partial(next, count(step=TURN_S * 0.3))
    background = work(FakeDirectory(), FakePartitions(**logs), [], slow)
    looked_at: list[int] = []
    walking = asyncio.create_task(walk(background))
    async with asyncio.timeout(LONG_ENOUGH_S):
        while not walking.done():
            await asyncio.sleep(0)
            looked_at.append(sum(log.looked_at for log in logs.values()))
    assert looked_at[-1] == 20
    assert max(later - earlier for earlier, later in pairwise([0, *looked_at])) <= 4


async def test_the_producers_of_all_logs_are_counted_anew() -> None:
    """Between two counts new ones are added, and those that are forgotten are not taken away."""
    directory = FakeDirectory()
    logs = {f"t{number}": FakeLog() for number in range(4)}
    await work(directory, FakePartitions(**logs), []).forget_producers()
    assert directory.known_producers == 12


async def test_walks_that_begin_together_share_one_turn_a_round() -> None:
    logs = {f"t{number}": FakeLog() for number in range(20)}
    slow = partial(next, count(step=TURN_S * 0.3))
    background = work(FakeDirectory(), FakePartitions(**logs), [], slow)
    looked_at: list[int] = []
    walks = [asyncio.create_task(background.forget_producers()) for _ in range(10)]
    async with asyncio.timeout(LONG_ENOUGH_S):
        while not all(walk.done() for walk in walks):
            await asyncio.sleep(0)
            looked_at.append(sum(log.looked_at for log in logs.values()))
    assert looked_at[-1] == 200
    a_turn, beginners = 4, 3  # who may begin in the same round
    assert max(later - earlier for earlier, later in pairwise([0, *looked_at])) <= (
        a_turn * (1 + beginners)
    )
