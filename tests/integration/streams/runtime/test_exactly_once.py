"""A task interrupted at every step of its life, and started anew: outputs and stores are those of one run."""

from __future__ import annotations

import shutil
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from millstream.clients import Admin, BatchDelivery
from millstream.clients.core.values import ConsumerGroupMetadata, RecordMetadata
from millstream.clients.producer.transaction.core.errors import TransactionFailed
from millstream.errors import ConfigError, IllegalGeneration, KafkaError, ProducerFenced
from millstream.model import TopicPartition
from millstream.streams import OffsetReset, StreamsBuilder
from millstream.streams.config import ProcessingGuarantee
from millstream.streams.runtime.clients import Offsets, TaskClients
from millstream.streams.runtime.errors import DataLoss, TaskMigrated
from millstream.streams.runtime.failures import is_retriable
from millstream.streams.runtime.steps import Step
from millstream.streams.runtime.tasks.task_start import TaskStart
from millstream.streams.serdes import string
from tests.integration.streams.runtime.world import Crash, World

FIRST, SECOND = ["a", "b", "a"], ["b", "c", "a"]
SOON_MS = 1_000
"""What a start waits here for a leader that does not come."""
ONCE = [("a", 1), ("b", 1), ("a", 2), ("b", 2), ("c", 1), ("a", 3)]


async def test_a_run_commits_outputs_and_offsets_together(world: World) -> None:
    await world.put(FIRST)
    grouped, counted = await world.run_all()
    assert (grouped.read, grouped.written) == (3, 3)
    assert (counted.read, counted.written, counted.logged) == (3, 3, 3)
    assert await world.results() == [("a", 1), ("b", 1), ("a", 2)]
    committed = await world.committed()
    assert committed[TopicPartition(world.source, 0)] == 3
    assert (
        committed[TopicPartition(f"{world.application}-by-value-repartition", 0)] == 4
    )  # with the marker


class _CountedOut:
    """A member that the group went on without."""

    def __init__(self, application: str) -> None:
        self._application = application

    async def commit(self, offsets: Offsets) -> None:
        raise AssertionError("exactly once commits in transactions")

    def group_metadata(self) -> ConsumerGroupMetadata:
        return ConsumerGroupMetadata(self._application, 3, "counted-out")


async def test_a_member_that_the_group_went_on_without_cannot_commit(world: World) -> None:
    await world.put(FIRST)
    environment = world.environment()
    clients = replace(environment.clients, member=_CountedOut(world.application))
    task = await TaskStart(world.spec(0), 0, replace(environment, clients=clients)).start()
    try:
        with pytest.raises(IllegalGeneration) as failed:
            await task.run({world.source: len(FIRST)})
        assert is_retriable(failed.value), "it starts anew as a member"
    finally:
        await task.close()
    assert await world.committed() == {}
    await world.run_all()
    assert await world.results() == [("a", 1), ("b", 1), ("a", 2)]


@pytest.mark.parametrize("guarantee", list(ProcessingGuarantee))
async def test_what_comes_after_the_first_start_is_read_wherever_the_task_has_moved(
    world: World, guarantee: ProcessingGuarantee
) -> None:
    world.guarantee(guarantee)
    builder = StreamsBuilder()
    source = builder.stream(world.source, key=string(), value=string(), reset=OffsetReset.LATEST)
    source.to(world.sink)
    world.topology = builder.build()
    await world.put(FIRST)
    await (await world.start(0)).close()
    await world.put(SECOND)
    assert (await world.run(0)).written == len(SECOND)


@pytest.mark.parametrize("step", list(Step))
@pytest.mark.parametrize("sub_topology", [0, 1])
async def test_what_is_interrupted_is_done_once(
    world: World, step: Step, sub_topology: int
) -> None:
    await world.put(FIRST)
    await world.run_all()
    await world.put(SECOND)
    for number in (0, 1):
        if number == sub_topology:
            world.crash_at = step
            with pytest.raises(Crash):
                await world.run(number)
        await world.run(number)
    assert await world.results() == ONCE


@pytest.mark.parametrize("step", list(Step))
async def test_a_first_run_that_is_interrupted_is_done_once(world: World, step: Step) -> None:
    await world.put(FIRST)
    for number in (0, 1):
        world.crash_at = step
        with pytest.raises(Crash):
            await world.run(number)
        await world.run(number)
    assert await world.results() == ONCE[:3]


@pytest.mark.parametrize("step", [step for step in Step if step is not Step.OFFSETS_SENT])
async def test_at_least_once_what_is_interrupted_is_done_at_least_once(
    world: World, step: Step
) -> None:
    """Also in the first run, which leaves a changelog before the group has offsets."""
    world.guarantee(ProcessingGuarantee.AT_LEAST_ONCE)
    await world.put(FIRST)
    for number in (0, 1):
        world.crash_at = step
        with pytest.raises(Crash):
            await world.run(number)
        await world.run(number)
    last = dict(await world.results())
    assert last["a"] >= 2
    assert last["b"] >= 1
    again = await world.run_all()
    assert [report.read for report in again] == [0, 0]


async def test_lost_stores_are_restored(world: World) -> None:
    await world.put(FIRST)
    await world.run_all()
    shutil.rmtree(world.directory)
    await world.put(SECOND)
    _, counted = await world.run_all()
    assert counted.restored == 3
    assert await world.results() == ONCE


@pytest.mark.parametrize("step", [None, Step.RESTORED])
async def test_restored_stores_are_kept_although_nothing_new_came(
    world: World, step: Step | None
) -> None:
    await world.put(FIRST)
    await world.run_all()
    shutil.rmtree(world.directory)
    world.crash_at = step
    with pytest.raises(Crash) if step else nullcontext():
        assert (await world.run(1)).restored == 3
    assert (await world.run(1)).restored == 0


async def test_a_restoration_that_was_interrupted_goes_on(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(2):  # two batches in the changelog
        await world.put(FIRST)
        await world.run_all()
    shutil.rmtree(world.directory)
    first = _first_row_of(TaskClients.read_changelog)
    monkeypatch.setattr(TaskClients, "read_changelog", first)
    with pytest.raises(Crash):
        await world.run(1)
    monkeypatch.undo()
    assert (await world.run(1)).restored == 5


def _first_row_of(read: Any) -> Any:  # Any: a method that is put in the place of another
    async def one(*range_: Any) -> Any:  # Any: its arguments
        async for batch in read(*range_):
            yield batch.slice(0, 1)
            raise Crash

    return one


async def test_an_older_copy_of_the_stores_is_caught_up(world: World, tmp_path: Path) -> None:
    await world.put(["a"])
    await world.run_all()
    shutil.copytree(world.directory, tmp_path / "copy")
    await world.put(["a"])
    await world.run_all()
    shutil.rmtree(world.directory)
    shutil.copytree(tmp_path / "copy", world.directory)
    await world.put(["a"])
    _, counted = await world.run_all()
    assert counted.restored == 1
    assert await world.results() == [("a", 1), ("a", 2), ("a", 3)]


@pytest.mark.parametrize("is_forgotten", [False, True])
async def test_a_store_that_is_up_to_date_is_not_restored_again(
    world: World, monkeypatch: pytest.MonkeyPatch, is_forgotten: bool
) -> None:
    """Also where the broker does not say where it has put a batch that came twice."""
    if is_forgotten:
        unknown = RecordMetadata("t", 0, -1, -1)
        monkeypatch.setattr(BatchDelivery, "last_record", lambda _: unknown)
    await world.put(FIRST)
    await world.run_all()
    again = await world.run(1)
    assert (again.read, again.restored) == (0, 0)


async def test_a_task_that_moves_between_disks_goes_on(world: World, tmp_path: Path) -> None:
    directories = [tmp_path / "one", tmp_path / "two"]
    for number in range(6):
        world.directory = directories[number % 2]
        await world.put(["a"])
        await world.run_all()
    assert await world.results() == [("a", number) for number in range(1, 7)]


async def test_a_repeated_run_does_nothing(world: World) -> None:
    await world.put(FIRST)
    ends = await world.ends([world.source])
    await world.run(0, ends)
    again = await world.run(0, ends)
    assert (again.read, again.written) == (0, 0)
    await world.run(1)
    assert await world.results() == ONCE[:3]


async def test_a_gap_before_the_planned_range_is_read(world: World) -> None:
    await world.put(FIRST)
    await world.run(0, {world.source: 1})
    report = await world.run(0)
    assert report.read == 2


async def test_a_second_attempt_fences_the_first(world: World) -> None:
    await world.put(FIRST)
    await world.run(0)
    ends = await world.ends(world.spec(1).sources)
    zombie = await world.start(1)
    here = world.directory
    world.directory = here / "elsewhere"  # or the lock of the store would keep it out
    await world.run(1)
    with pytest.raises((ProducerFenced, TransactionFailed)):  # whichever answer comes first
        await zombie.run(ends)
    await zombie.close()
    world.directory = here
    report = await world.run(1)
    assert (report.read, report.restored) == (0, 3)
    assert await world.results() == ONCE[:3]


@pytest.mark.parametrize("guarantee", list(ProcessingGuarantee))
async def test_a_start_that_another_attempt_overtakes_says_nothing_of_the_application(
    world: World, monkeypatch: pytest.MonkeyPatch, guarantee: ProcessingGuarantee
) -> None:
    """Another attempt writes and commits the first results after this one has fetched that there are none."""
    world.guarantee(guarantee)
    await world.put(FIRST)
    await world.run(0)
    fetch = TaskClients.committed

    async def fetch_and_be_overtaken(*of: Any) -> Any:  # Any: a method in the place of another
        committed = await fetch(*of)
        monkeypatch.undo()
        here, world.directory = world.directory, world.directory / "elsewhere"
        await world.run(1)
        world.directory = here
        return committed

    monkeypatch.setattr(TaskClients, "committed", fetch_and_be_overtaken)
    with pytest.raises(TaskMigrated) as failed:
        await world.start(1)
    assert is_retriable(failed.value)
    assert (await world.run(1)).read == 0
    assert await world.results() == ONCE[:3]


async def test_aborted_records_are_not_counted(world: World) -> None:
    await world.put(FIRST)
    world.crash_at = Step.PRODUCED
    with pytest.raises(Crash):
        await world.run(0)
    counted = await world.run(1)
    assert counted.read == 0


@pytest.mark.parametrize("is_on_disk", [False, True])
async def test_state_without_offsets_is_refused(world: World, is_on_disk: bool) -> None:
    await world.put(FIRST)
    await world.run_all()
    (await world.admin.delete_consumer_groups([world.application])).raise_errors()
    if not is_on_disk:
        shutil.rmtree(world.directory)
    with pytest.raises(ConfigError, match=r"has state, but its group .* has no committed offsets"):
        await world.run(1)


async def test_a_changelog_that_was_made_anew_is_refused(world: World) -> None:
    await world.put(FIRST)
    await world.run_all()
    changelog = next(
        iter(
            world.topology.topics_of(world.topology.sub_topologies[1], world.application).changelogs
        )
    )
    (await world.admin.delete_topics([changelog])).raise_errors()
    await world.create(changelog)
    with pytest.raises(DataLoss, match="deleted and made anew"):
        await world.run(1)


async def test_input_that_was_deleted_before_it_was_read_is_refused(world: World) -> None:
    await world.put(FIRST)
    await world.run(0, {world.source: 1})
    source = TopicPartition(world.source, 0)
    (await world.admin.delete_records({source: 2})).raise_errors()
    with pytest.raises(DataLoss, match=r"was read up to offset 1, and its log holds 2 to 3"):
        await world.run(0)


async def test_a_reset_application_begins_anew_on_any_disk(world: World) -> None:
    await world.put(FIRST)
    await world.run_all()
    groups = [
        world.topology.topics_of(each, world.application) for each in world.topology.sub_topologies
    ]
    internal = [name for each in groups for name in (*each.repartition, *each.changelogs)]
    (await world.admin.delete_consumer_groups([world.application])).raise_errors()
    (await world.admin.delete_topics([*internal, world.sink])).raise_errors()
    await world.create(*internal, world.sink)
    await world.run_all()
    assert await world.results() == ONCE[:3]


async def test_offsets_that_are_renewed_stay_as_they_are(world: World) -> None:
    await world.put(FIRST)
    await world.run(0)
    repartition = world.spec(1).sources[0]
    task = await world.start(1)
    await task.run(await world.ends([repartition]))
    again = await task.run({}, renew=True)
    await task.close()
    assert again.position == {repartition: 4}
    assert (await world.committed())[TopicPartition(repartition, 0)] == 4


async def test_at_least_once_writes_again_what_was_not_committed(world: World) -> None:
    world.guarantee(ProcessingGuarantee.AT_LEAST_ONCE)
    await world.put(["a", "b"])
    await world.run(0)
    world.crash_at = Step.PRODUCED
    with pytest.raises(Crash):
        await world.run(1)
    await world.run(1)
    first, again = [("a", 1), ("b", 1)], [("a", 2), ("b", 2)]
    assert await world.results() == first + again, "the changelog holds what was not committed"
    await world.run(1)
    assert await world.results() == first + again


async def test_a_start_asks_no_leader_that_is_older_than_those_of_the_last_commit(
    world: World,
) -> None:
    """A broker that is cut off from the controllers has heard of no election, and its log may end
    before what was read, or before what was written to a changelog: state would be lost in silence.
    """
    await world.put(["a", "b"])
    await world.run_all()
    last = len(world.topology.sub_topologies) - 1
    spec = world.spec(last)
    clients = world.environment().clients
    known = await clients.committed(world.application, spec.sources, 0)
    assert known.leader_epochs == dict.fromkeys([*spec.sources, *known.changelogs], 0)
    newer = replace(known, leader_epochs=dict.fromkeys(known.changelogs, 1))
    altered = await world.admin.alter_consumer_group_offsets(world.application, newer.encode(0))
    altered.raise_errors()
    async with Admin(
        bootstrap_servers=world.servers, default_api_timeout_ms=SOON_MS
    ) as world.admin:
        with pytest.raises(KafkaError) as failed:
            await world.start(last)
        assert failed.value.retriable, failed.value
