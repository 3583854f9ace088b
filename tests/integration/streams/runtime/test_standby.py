"""A copy of a task's stores is kept up elsewhere, and the task that comes there begins with it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from millstream.streams.queries import KeyQuery, StateQueryRequest
from millstream.streams.runtime.clients import TaskClients
from millstream.streams.runtime.errors import DataLoss
from millstream.streams.runtime.logs import ReadableLog
from millstream.streams.runtime.steps import Step
from millstream.streams.runtime.tasks.standby_task import StandbyTask
from tests.integration.streams.runtime.world import Crash, World

COUNT = 1
"""The sub-topology that counts."""
PLENTY = 1_000


@asynccontextmanager
async def elsewhere(world: World, directory: Path) -> AsyncIterator[World]:
    async with world.second_owner(directory) as other:
        yield other


@asynccontextmanager
async def standby_of(world: World) -> AsyncIterator[StandbyTask]:
    standby = StandbyTask(world.spec(COUNT), 0, world.environment())
    try:
        yield standby
    finally:
        await standby.close()


async def count(world: World, values: str) -> None:
    await world.put(list(values))
    await world.run_all()


async def test_a_task_that_comes_to_its_standby_restores_nothing(
    world: World, tmp_path: Path
) -> None:
    await count(world, "aab")
    async with elsewhere(world, tmp_path / "there") as there:
        async with standby_of(there) as standby:
            assert await standby.catch_up(PLENTY) == 0
            await count(world, "ab")
            assert await standby.catch_up(PLENTY) == 0
        await there.put(["a"])
        reports = await there.run_all()
        assert [each.restored for each in reports] == [0, 0]
    assert sorted(await world.results()) == [
        ("a", 1), ("a", 2), ("a", 3), ("a", 4), ("b", 1), ("b", 2),
    ]  # fmt: skip


async def test_a_standby_goes_on_where_it_was_and_catches_up_in_steps(
    world: World, tmp_path: Path
) -> None:
    await count(world, "abcdefgh")
    async with elsewhere(world, tmp_path / "there") as there:
        async with standby_of(there) as standby:
            assert await standby.catch_up(3) == 6  # the marker of the transaction among them
        async with standby_of(there) as again:
            assert await again.catch_up(PLENTY) == 0
        assert [each.restored for each in await there.run_all()] == [0, 0]


async def test_a_standby_fences_nobody(world: World, tmp_path: Path) -> None:
    await count(world, "a")
    task = await world.start(COUNT)
    async with elsewhere(world, tmp_path / "there") as there, standby_of(there) as standby:
        await standby.catch_up(PLENTY)
        await world.put(["a"])
        await world.run(0)
        await task.run(await world.ends(world.spec(COUNT).sources))
        await standby.catch_up(PLENTY)
    await task.close()
    assert await world.results() == [("a", 1), ("a", 2)]


async def test_a_standby_takes_nothing_of_a_transaction_that_is_not_committed(
    world: World, tmp_path: Path
) -> None:
    await count(world, "ab")
    await world.put(list("ab"))
    await world.run(0)
    world.crash_at = Step.PRODUCED
    task = await world.start(COUNT)
    with pytest.raises(Crash):
        await task.run(await world.ends(world.spec(COUNT).sources))
    async with elsewhere(world, tmp_path / "there") as there:
        async with standby_of(there) as standby:
            await standby.catch_up(PLENTY)
        await there.run(COUNT)  # fences the one that has crashed
    await task.close()
    assert sorted(await world.results()) == [("a", 1), ("a", 2), ("b", 1), ("b", 2)]


async def test_a_standby_tells_which_input_it_covers_and_answers(
    world: World, tmp_path: Path
) -> None:
    await count(world, "aab")
    repartition = world.spec(COUNT).sources[0]
    (store,) = world.topology.stores
    request = StateQueryRequest(store, KeyQuery("a"))
    async with elsewhere(world, tmp_path / "there") as there, standby_of(there) as standby:
        assert await standby.query(request) is None
        await standby.open()
        await standby.note_commit()
        assert await standby.catch_up(2) > 0
        assert standby.covers == {}, "not all that was written before the commit is restored"
        assert await standby.catch_up(PLENTY) == 0
        committed = dict(standby.covers)
        assert committed.keys() == {repartition}
        answer = await standby.query(request)
        assert answer is not None
        assert (answer.value, answer.position) == (
            2,
            {repartition: {0: committed[repartition] - 1}},
        )
        await world.put(["a"])
        await world.run(0)
        active = await world.start(COUNT)
        await active.run(await world.ends([repartition]))
        told = await active.query(request)
        await active.close()
        await standby.catch_up(PLENTY)
        await standby.note_commit()
        assert standby.covers == committed, "the commit is not known to be covered yet"
        await standby.catch_up(PLENTY)
        assert standby.covers[repartition] > committed[repartition]
        assert await standby.query(request) == told, "the end of a transaction counts for both"
        assert standby.restored_to == {
            topic: (await world.ends([topic]))[topic] for topic in standby.restored_to
        }


async def test_a_standby_whose_files_are_damaged_begins_anew(
    world: World, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    await count(world, "abc")
    async with elsewhere(world, tmp_path / "there") as there:
        async with standby_of(there) as standby:
            assert await standby.catch_up(PLENTY) == 0
        for manifest in there.spec(COUNT).stores_path(0).glob("MANIFEST-*"):
            manifest.write_bytes(b"damaged")
        async with standby_of(there) as again:
            assert await again.catch_up(PLENTY) == 0
        assert [each.restored for each in await there.run_all()] == [0, 0]
    assert "are deleted and restored" in caplog.text


async def test_a_standby_of_a_changelog_that_was_made_anew_begins_anew(
    world: World, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    await count(world, "aab")
    async with elsewhere(world, tmp_path / "there") as there:
        async with standby_of(there) as standby:
            await standby.catch_up(PLENTY)
        group = world.topology.sub_topologies[COUNT]
        topics = list(world.topology.topics_of(group, world.application).changelogs)
        (await world.admin.delete_topics(topics)).raise_errors()
        await world.create(*topics)
        async with standby_of(there) as again:
            assert await again.catch_up(PLENTY) == 0
    assert "are deleted and restored" in caplog.text
    assert "was made anew" in caplog.text


@pytest.mark.parametrize(
    "held",
    [
        pytest.param((0, 4), id="its end was cut off"),
        pytest.param((12, 20), id="records that the copy lacks are gone"),
    ],
)
async def test_a_standby_whose_changelog_does_not_go_on_where_it_is_begins_anew(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, held: tuple[int, int]
) -> None:
    """It would pass over what stands there now, and the task that finds its rows could not tell."""
    start, end = held
    await count(world, "aabbcc")
    async with elsewhere(world, tmp_path / "there") as there, standby_of(there) as standby:
        await standby.catch_up(PLENTY)
        logs = TaskClients.logs

        async def changed(
            clients: TaskClients, topics: Iterable[str], partition: int
        ) -> dict[str, ReadableLog]:
            found = await logs(clients, topics, partition)
            return {name: replace(log, start=start, end=end) for name, log in found.items()}

        monkeypatch.setattr(TaskClients, "logs", changed)
        with pytest.raises(DataLoss, match=f"holds {start} to {end}"):
            await standby.catch_up(PLENTY)
        await standby.close()
        async with standby_of(there) as again:
            await again.open()
            assert again.restored_to == {}
            stored = await again.query(
                StateQueryRequest(next(iter(world.topology.stores)), KeyQuery("a"))
            )
            assert stored is not None
            assert stored.value is None
