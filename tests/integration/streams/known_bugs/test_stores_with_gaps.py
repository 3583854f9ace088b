"""Stores that were left in disorder, or that do not say how far they have come, are restored: nothing is missing, and nothing is there twice."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from millstream.streams import Materialized, StreamsBuilder
from millstream.streams.runtime.tasks.standby_task import StandbyTask
from millstream.streams.serdes import long, string
from millstream.streams.state.storage.rocksdb import RocksByteStore, RocksDatabase
from millstream.streams.state.storage.transaction import StoreMetadata
from millstream.streams.topology import Topology
from tests.integration.streams.runtime.world import World

PLENTY = 1_000
FIRST, SECOND = ["a", "a", "b"], ["b", "c", "a"]
UPDATES = [("a", 1), ("a", 2), ("a", 3), ("b", 1), ("b", 2), ("c", 1)]
LOGGED = 2 * len(FIRST)
STALE = {b"c": bytes(15) + b"\x09"}
"""A row that says that there were nine, at time 0; no changelog has it."""

Damage = Callable[[RocksByteStore], None]


def counted_twice(source: str, sink: str) -> Topology:
    """Keys counted in two stores of one task."""
    builder = StreamsBuilder()
    grouped = builder.stream(source, key=string(), value=string()).group_by_key()
    for name in ("one", "two"):
        grouped.count(materialized=Materialized(name)).to_stream().to(sink, value=long())
    return builder.build()


@pytest.fixture
async def killed(world: World, tmp_path: Path) -> AsyncIterator[World]:
    """Another process, with the files of a task that has counted, as they were while it had its stores open."""
    world.topology = counted_twice(world.source, world.sink)
    (group,) = world.topology.sub_topologies
    await world.create(*world.topology.topics_of(group, world.application).changelogs)
    await world.put_keys(FIRST)
    task = await world.start(0)
    await task.run(await world.ends([world.source]))
    shutil.copytree(world.directory, tmp_path / "there")
    await task.close()
    async with world.second_owner(tmp_path / "there") as there:
        there.topology = world.topology
        yield there


def forget_offset(store: RocksByteStore) -> None:
    known = StoreMetadata.decode(store.metadata())
    store.write(STALE, replace(known, changelog_offset=None).encode())


def forget_all(store: RocksByteStore) -> None:
    store.write(STALE, StoreMetadata().encode())


def apply(damage: Damage, world: World, stores: list[str]) -> None:
    with closing(RocksDatabase(str(world.spec(0).stores_path(0)))) as database:
        for name in stores:
            damage(RocksByteStore(database, name))


async def are_counted_once(world: World) -> bool:
    return sorted(await world.results()) == sorted(UPDATES * 2)


async def test_the_stores_of_a_killed_task_are_gone_on_with(killed: World) -> None:
    """KAFKA-20417: stores that were open when their process ended were refused, and the application did not start.

    1. A process ends without closing its stores, whose status stays `open`. 2. The next one, exactly once, takes that for an invalid state and
    raises instead of restoring.
    """
    await killed.put_keys(SECOND)
    assert (await killed.run(0)).restored == 0, "a store is as its last commit has left it"
    assert await are_counted_once(killed)


@pytest.mark.parametrize("damage", [forget_offset, forget_all])
@pytest.mark.parametrize("stores", [["one"], ["one", "two"]])
@pytest.mark.parametrize("as_copy", [False, True], ids=["task", "copy"])
async def test_stores_that_do_not_tell_how_far_they_are_are_restored_from_nothing(
    killed: World, damage: Damage, stores: list[str], as_copy: bool
) -> None:
    """KAFKA-20417: so were stores that had lost the offsets beside their rows, all of a task or some, as standby tasks, too.

    1. A process ends in the middle. 2. In its stores the offsets of their changelogs are missing, so that nobody knows which rows count. 3. They
    are to be deleted and restored from the beginning of their changelogs, whatever they hold.
    """
    apply(damage, killed, stores)
    if as_copy:
        copy = StandbyTask(killed.spec(0), 0, killed.environment())
        assert await copy.catch_up(PLENTY) == 0
        await copy.close()
    await killed.put_keys(SECOND)
    assert (await killed.run(0)).restored == (0 if as_copy else LOGGED)
    assert await are_counted_once(killed)


async def test_a_copy_that_was_closed_before_it_had_restored_anything_is_no_damaged_one(
    killed: World, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """KAFKA-19712: such a copy was taken for a corrupted one.

    1. The state of an instance is deleted. 2. It comes back, and is given a standby task. 3. That is closed by a rebalance before the first
    offset is known, and leaves files without offsets. 4. Whoever opens them next takes them for corrupted ones.
    """
    async with killed.second_owner(tmp_path / "wiped") as wiped:
        wiped.topology = killed.topology
        for _ in range(2):
            copy = StandbyTask(wiped.spec(0), 0, wiped.environment())
            await copy.open()
            await copy.close()
        await wiped.put_keys(SECOND)
        assert (await wiped.run(0)).restored == LOGGED
    assert "are deleted and restored" not in caplog.text
    assert await are_counted_once(killed)
