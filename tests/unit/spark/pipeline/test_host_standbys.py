"""Standbys of a task host: kept while the driver asks for them, ready when they lack little, and out of the way of their task."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import pytest

from millstream.runtime import Instant
from millstream.spark.pipeline import claims
from millstream.spark.pipeline.claims import claim, may_stand_by
from millstream.spark.pipeline.host_standbys import LEASE_MS, RECORDS_MAX, HostStandbys, Key
from millstream.spark.pipeline.messages import KeepStandbys, Standby
from millstream.streams import StreamsConfig
from millstream.streams.runtime.spec import TaskSpec
from millstream.streams.runtime.tasks.standby_task import StandbyTask
from millstream.streams.runtime.tasks.task import Task
from millstream.streams.runtime.tasks.task_manager import TaskManager
from millstream.streams.runtime.tasks.task_start import TaskStart
from millstream.streams.topology import Topology

KEY = ("app", "1_0")
WANTED = KeepStandbys("app", "digest", (Standby(1, 0, ("in",)),))

SPEC = TaskSpec(
    topology=Topology({}, {}, ()),
    sub_topology=1,
    config=StreamsConfig(application_id="app"),
    state_directory="",
)


@dataclass
class Kept:
    """Stands for a StandbyTask."""

    left: list[int]
    id: str = "1_0"
    closed: int = 0
    error: Exception | None = None

    async def catch_up(self, records_max: int) -> int:
        assert records_max == RECORDS_MAX
        if self.error is not None:
            raise self.error
        return self.left.pop(0)

    async def close(self) -> None:
        self.closed += 1


@dataclass
class HandClock:
    ms: int = 0

    def now(self) -> Instant:
        return Instant(self.ms, self.ms)

    def wall_ms(self) -> int:
        return self.ms


@dataclass
class Host:
    """The standbys, and what is made of them."""

    clock: HandClock = field(default_factory=HandClock)
    made: list[Kept | None] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.tasks = TaskManager[Key](self, self.clock, "host")
        self.standbys = HostStandbys(self.clock, self.tasks)

    async def create_active_task(self, _key: Key, _task: Task) -> TaskStart:
        raise AssertionError("it runs elsewhere")

    async def create_standby_task(self, _key: Key, _task: Task) -> StandbyTask | None:
        return cast("StandbyTask | None", self.made.pop(0))

    def ask(self) -> tuple[tuple[int, int], ...]:
        return self.standbys.keep(
            WANTED, lambda each: f"{each.sub_topology}_{each.partition}"
        ).ready

    async def turn(self) -> int:
        left = 0
        for key in self.standbys.wanted():
            left += await self.standbys.catch_up(key, SPEC, 0)
        return left


async def test_a_standby_is_ready_when_it_lacks_no_more_than_a_turn_brings() -> None:
    host = Host(made=[Kept([RECORDS_MAX + 1, RECORDS_MAX, 0])])
    assert host.ask() == ()
    assert await host.turn() == RECORDS_MAX + 1
    assert host.ask() == ()
    await host.turn()
    assert host.ask() == ((1, 0),)


async def test_a_standby_that_fails_is_closed_and_begins_anew(
    caplog: pytest.LogCaptureFixture,
) -> None:
    first, second = Kept([0]), Kept([0])
    host = Host(made=[first, second])
    host.ask()
    await host.turn()
    first.error = OSError("the disk is full")
    await host.turn()
    assert "the standby of task 1_0 begins anew: the disk is full" in caplog.text
    assert (first.closed, host.ask()) == (1, ())
    await host.turn()
    assert host.ask() == ((1, 0),)


async def test_a_standby_is_closed_when_it_is_not_asked_for_any_more() -> None:
    kept = Kept([0, 0])
    host = Host(made=[kept])
    host.ask()
    await host.turn()
    host.clock.ms = LEASE_MS + 1
    assert host.standbys.wanted() == []
    assert host.standbys.unwanted() == [KEY]
    await host.standbys.close(KEY)
    assert (kept.closed, host.standbys.unwanted()) == (1, [])


async def test_a_standby_makes_way_for_its_task_until_it_is_asked_for_again() -> None:
    kept = Kept([0])
    host = Host(made=[kept, Kept([0])])
    host.ask()
    await host.turn()
    await host.standbys.give_up(KEY)
    assert (kept.closed, host.standbys.wanted()) == (1, [])
    assert host.ask() == ()
    await host.turn()
    assert host.ask() == ((1, 0),)


async def test_where_the_task_itself_has_its_stores_nothing_is_opened_and_it_may_come() -> None:
    host = Host(made=[None])
    host.ask()
    await host.turn()
    assert host.ask() == ((1, 0),)
    assert host.standbys.unwanted() == []


def test_a_standby_is_not_opened_in_the_directory_of_a_host_that_is_there(tmp_path: Path) -> None:
    mine, other = tmp_path / "mine.socket", tmp_path / "other.socket"
    state = tmp_path / "state"
    assert may_stand_by(state, mine, "1_0")
    assert may_stand_by(state, mine, "1_0")
    assert may_stand_by(state, other, "1_0"), "the first one has gone"
    other.touch()
    assert not may_stand_by(state, mine, "1_0")
    assert may_stand_by(state, mine, "1_1")


async def test_of_hosts_that_claim_a_task_at_a_time_each_is_told_of_the_one_before_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that nobody names would keep the stores open: nobody would ask it to close them."""
    asked = list[str]()

    async def ask(socket: str, _secret: bytes, _message: object) -> None:
        asked.append(Path(socket).stem)

    monkeypatch.setattr(claims, "_request_close", ask)
    hosts = [f"{number}" for number in range(16)]

    def claim_as(host: str) -> None:
        asyncio.run(claim(tmp_path, tmp_path / f"{host}.socket", b"", "app", "1_0"))

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(claim_as, hosts))
    (last,) = set(hosts) - set(asked)
    assert len(asked) == len(set(asked)) == len(hosts) - 1
    assert (tmp_path / "1_0.host").read_text() == str(tmp_path / f"{last}.socket")
