"""A task that starts without its stores takes the newest snapshot that it can trust, and the tail of its changelog."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from millstream.streams.runtime.snapshots.description import SnapshotPlan
from millstream.streams.runtime.snapshots.files import SnapshotDirectory
from millstream.streams.runtime.steps import Step
from millstream.streams.runtime.tasks.active_task import ActiveTask
from tests.integration.streams.runtime.world import Crash, World

COUNT = 1
"""The sub-topology that counts."""


@pytest.fixture
def shared(world: World, tmp_path: Path) -> Path:
    """Has every commit of the world's tasks followed by a snapshot, if there is something new."""
    world.snapshots = SnapshotPlan(str(tmp_path / "shared"), interval_ms=0, records_min=1)
    path = world.spec(COUNT).snapshots_path(0)
    assert path is not None
    return path


def take_away(directory: Path) -> None:
    """A file stands where it would be."""
    directory.parent.mkdir(parents=True)
    directory.write_bytes(b"")


@asynccontextmanager
async def counting(world: World) -> AsyncIterator[ActiveTask]:
    task = await world.start(COUNT)
    try:
        yield task
    finally:
        await task.close()


async def count(world: World, values: str) -> int:
    """Counts some more and has it in a snapshot; returns how many changelog records were restored before."""
    await world.put(list(values))
    await world.run(0)
    async with counting(world) as task:
        report = await task.run(await world.ends(world.spec(COUNT).sources))
        await task.snapshots.wait_until_copied()
    return report.restored


async def count_elsewhere(world: World, directory: Path) -> int:
    """The same on another disk, and without more input; what it has there begins empty."""
    async with world.second_owner(directory) as other:
        other.snapshots = world.snapshots
        return (await other.run(COUNT)).restored


async def test_a_task_on_another_disk_restores_the_tail_only(
    world: World, shared: Path, tmp_path: Path
) -> None:
    await count(world, "aabca")
    world.snapshots, plan = None, world.snapshots
    await count(world, "ba")
    world.snapshots = plan
    assert await count_elsewhere(world, tmp_path / "there") == 2
    assert [
        each.description.state.records for each in SnapshotDirectory(shared).newest_first()
    ] == [5]
    assert sorted(await world.results()) == [
        ("a", 1), ("a", 2), ("a", 3), ("a", 4), ("b", 1), ("b", 2), ("c", 1),
    ]  # fmt: skip


async def test_what_is_counted_after_a_snapshot_goes_on_from_it(
    world: World, shared: Path, tmp_path: Path
) -> None:
    await count(world, "aab")
    shutil.rmtree(world.directory / "state")
    stores = world.spec(COUNT).stores_path(0)
    for left in ("checkpoint", "fetched"):  # by a process that has died
        stores.with_name(f"{stores.name}.{left}-1").mkdir(parents=True)
    assert await count(world, "ab") == 0
    assert sorted(await world.results()) == [("a", 1), ("a", 2), ("a", 3), ("b", 1), ("b", 2)]
    assert list(stores.parent.iterdir()) == [stores]
    assert len(SnapshotDirectory(shared).newest_first()) == 2


async def test_a_damaged_snapshot_is_left_for_the_one_before_it(
    world: World, shared: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    await count(world, "aabca")
    await count(world, "b")
    newest, _ = SnapshotDirectory(shared).newest_first()
    table = max(newest.path.glob("*.sst"))
    table.write_bytes(bytes(reversed(table.read_bytes())))
    assert await count_elsewhere(world, tmp_path / "there") == 1
    assert f"its file {table.name} is not the one that was written" in caplog.text


async def test_without_a_snapshot_that_can_be_trusted_all_is_restored(
    world: World, shared: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    await count(world, "aabca")
    (only,) = SnapshotDirectory(shared).newest_first()
    for table in only.path.glob("*.sst"):
        table.unlink()
    assert await count_elsewhere(world, tmp_path / "there") == 5
    assert "is left aside" in caplog.text


async def test_a_snapshot_of_a_changelog_that_was_made_anew_is_left_aside(
    world: World, shared: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """As after a reset of the application, which knows nothing of the directory."""
    await count(world, "aabca")
    changelogs = world.topology.topics_of(world.topology.sub_topologies[COUNT], world.application)
    topics = list(changelogs.changelogs)
    (await world.admin.delete_topics(topics)).raise_errors()
    (await world.admin.delete_consumer_groups([world.application])).raise_errors()
    shutil.rmtree(world.directory / "state")
    await world.create(*topics)
    world.snapshots, plan = None, world.snapshots
    await count(world, "z")
    world.snapshots = plan
    assert await count_elsewhere(world, tmp_path / "there") == 11  # all input is read again
    assert "was made anew" in caplog.text


async def test_a_crash_after_any_step_goes_on_from_a_snapshot_exactly_once(
    world: World, shared: Path, tmp_path: Path
) -> None:
    expected: list[tuple[str, int]] = []
    for number, step in enumerate(Step, 1):
        world.crash_at = step
        with pytest.raises(Crash):
            await count_until_crash(world)
        shutil.rmtree(world.directory / "state", ignore_errors=True)
        await count(world, "")
        expected.append(("a", number))
        assert await world.results() == expected, step


async def count_until_crash(world: World) -> None:
    crash_at, world.crash_at = world.crash_at, None
    await world.put(["a"])
    await world.run(0)
    world.crash_at = crash_at
    async with counting(world) as task:
        await task.run(await world.ends(world.spec(COUNT).sources))


async def test_a_directory_that_cannot_be_written_holds_up_nothing(
    world: World, shared: Path, caplog: pytest.LogCaptureFixture
) -> None:
    take_away(shared)
    assert await count(world, "aab") == 0
    assert sorted(await world.results()) == [("a", 1), ("a", 2), ("b", 1)]
    assert f"no snapshot of the stores of task {COUNT}_0: " in caplog.text
