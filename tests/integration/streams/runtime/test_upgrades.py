"""A new version of an application goes on with the stores of the one before, and fences it, although numbers have shifted."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from millstream.clients.producer.transaction.core.errors import TransactionFailed
from millstream.errors import ConfigError, ProducerFenced
from millstream.streams import Materialized, SessionWindows, StreamsBuilder, TimeWindows
from millstream.streams.runtime.steps import Step
from millstream.streams.serdes import long, string
from millstream.streams.topology import Topology
from tests.integration.streams.runtime.test_disturbances import counted
from tests.integration.streams.runtime.world import Crash, World

WORDS = [*"abcabcaabbcabcab"]


def first_version(world: World) -> Topology:
    return counting(StreamsBuilder(), [world.source], world.sink)


def with_a_stream_in_front(world: World) -> Topology:
    builder = StreamsBuilder()
    builder.stream(world.other_source, key=string(), value=string()).to(world.sink)
    return counting(builder, [world.source], world.sink)


def with_another_topic(world: World) -> Topology:
    """It comes first by name, so the sub-topology is called after it."""
    return counting(StreamsBuilder(), [world.other_source, world.source], world.sink)


def counting(builder: StreamsBuilder, sources: list[str], sink: str) -> Topology:
    """Values of what is unkeyed are counted as they come: topic and changelog have one partition."""
    values = builder.stream(sources, key=string(), value=string())
    counts = values.group_by_key().count(materialized=Materialized("counts"))
    counts.to_stream().to(sink, value=long())
    return builder.build()


@pytest.fixture
async def world(world: World) -> World:
    world.topology = first_version(world)
    await world.create(world.other_source, f"{world.application}-counts-changelog")
    return world


async def test_nothing_is_restored_and_counts_go_on_when_a_stream_is_added_in_front(
    world: World,
) -> None:
    await world.put_keys(WORDS[:9])
    before = world.spec(0)
    await world.run(0)
    world.topology = with_a_stream_in_front(world)
    await world.put_keys(WORDS[9:])
    report = await world.run(1)
    assert (report.task, report.restored, report.read) == ("1_0", 0, 7)
    assert world.spec(1).transactional_id(0) == before.transactional_id(0)
    assert await world.results() == counted(WORDS)


async def test_the_task_that_has_the_number_now_touches_nothing_of_the_task_that_had_it(
    world: World,
) -> None:
    await world.put_keys(WORDS)
    task = await world.start(0)
    await task.run({world.source: 9})
    new = World(world.application, world.admin, world.reader, world.servers, world.directory)
    new.topology = with_a_stream_in_front(world)
    await new.run(0)
    await task.run({world.source: 16})
    await task.close()
    new.kernel.shutdown()
    assert await world.results() == counted(WORDS)


@pytest.mark.parametrize("step", [Step.PRODUCED, Step.OFFSETS_SENT])
@pytest.mark.parametrize("change", [with_a_stream_in_front, with_another_topic])
async def test_an_attempt_of_the_old_version_is_fenced_by_the_start_of_the_new_one(
    world: World, tmp_path: Path, step: Step, change: Callable[[World], Topology]
) -> None:
    await world.put_keys(WORDS)
    old = await world.start(0)
    await old.run({world.source: 5})
    world.crash_at = step
    with pytest.raises(Crash):
        await old.run({world.source: 16})
    async with world.second_owner(tmp_path / "there") as new:
        new.topology = change(world)
        number = len(new.topology.sub_topologies) - 1
        report = await new.run(number)
        assert report.restored == 5, "its disk is another one"
        with pytest.raises((ProducerFenced, TransactionFailed)):
            await old._producer.commit_transaction()
    await old.close()
    assert await world.results() == counted(WORDS)


def in_windows(world: World, windows: TimeWindows | SessionWindows) -> Topology:
    """Counts in the store and the changelog of the first version."""
    builder = StreamsBuilder()
    values = builder.stream(world.source, key=string(), value=string())
    counts = values.group_by_key().windowed_by(windows).count(materialized=Materialized("counts"))
    counts.to_stream(lambda window, _: window.key).to(world.sink, key=string(), value=long())
    return builder.build()


MINUTE = timedelta(minutes=1)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            TimeWindows.tumbling(10 * MINUTE, grace=0 * MINUTE),
            TimeWindows.tumbling(10 * MINUTE, grace=30 * MINUTE),
        ),
        (
            SessionWindows.of(2 * MINUTE, grace=0 * MINUTE),
            SessionWindows.of(30 * MINUTE, grace=0 * MINUTE),
        ),
    ],
)
async def test_open_windows_go_on_with_another_grace_or_gap_whether_the_disk_is_kept_or_lost(
    world: World,
    tmp_path: Path,
    before: TimeWindows | SessionWindows,
    after: TimeWindows | SessionWindows,
) -> None:
    """Rows stand in segments, whose length follows from the retention, and that from these: the rows would not be found."""
    world.topology = in_windows(world, before)
    await world.put_keys("aaa")
    await world.run(0)
    world.topology = in_windows(world, after)
    await world.put_keys("a")
    assert (await world.run(0)).restored > 0
    assert (await world.results())[-1] == ("a", 4)
    await world.put_keys("a")
    assert (await world.run(0)).restored == 0
    async with world.second_owner(tmp_path / "there") as elsewhere:
        elsewhere.topology = world.topology
        await world.put_keys("a")
        await elsewhere.run(0)
    assert (await world.results())[-1] == ("a", 6)


@pytest.mark.parametrize("is_there", [True, False])
async def test_a_store_that_would_read_the_changelog_of_one_of_another_kind_is_refused(
    world: World, tmp_path: Path, is_there: bool
) -> None:
    await world.put_keys(WORDS)
    await world.run(0)
    async with world.second_owner(world.directory if is_there else tmp_path / "there") as new:
        new.topology = in_windows(world, TimeWindows.tumbling(10 * MINUTE, grace=0 * MINUTE))
        with pytest.raises(
            ConfigError,
            match="has records of table, and its store is one of windows of 600000 ms now: they cannot be",
        ):
            await new.run(0)
    assert (await world.run(0)).read == 0


async def test_windows_of_another_size_go_on_with_what_is_counted_and_that_is_said(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    world.topology = in_windows(world, TimeWindows.tumbling(10 * MINUTE))
    await world.put_keys("aaa")
    await world.run(0)
    world.topology = in_windows(world, TimeWindows.tumbling(20 * MINUTE))
    await world.put_keys("a")
    await world.run(0)
    assert (await world.results())[-1] == ("a", 4)
    assert (
        "had windows of 600000 ms before, and has windows of 1200000 ms now: those that"
        in caplog.text
    )
    caplog.clear()
    await world.run(0)
    assert "before, and has" not in caplog.text


def keeping(world: World, *stores: str) -> Topology:
    """Counts the values of the source in each of the stores."""
    builder = StreamsBuilder()
    values = builder.stream(world.source, key=string(), value=string()).group_by_key()
    for store in stores:
        values.count(materialized=Materialized(store)).to_stream().to(world.sink, value=long())
    return builder.build()


async def test_a_store_that_was_renamed_is_not_begun_empty_behind_the_offsets(world: World) -> None:
    await world.create(f"{world.application}-totals-changelog")
    await world.put_keys(WORDS)
    await world.run(0)
    world.topology = keeping(world, "totals")
    with pytest.raises(ConfigError, match=r"do not count, totals, .* does not have, counts\. "):
        await world.run(0)
    world.topology = keeping(world, "counts")
    assert (await world.run(0)).read == 0, "with its name of before it goes on"


async def test_a_store_in_the_place_of_one_that_was_deleted_begins_empty_and_says_so(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    await world.create(f"{world.application}-totals-changelog")
    await world.put_keys(WORDS)
    await world.run(0)
    (await world.admin.delete_topics([f"{world.application}-counts-changelog"])).raise_errors()
    world.topology = keeping(world, "totals")
    await world.put_keys(["a"])
    assert (await world.run(0)).read == 1
    assert f"they begin empty with the next records: {world.application}-totals-changelog" in (
        caplog.text
    )


async def test_a_store_more_begins_empty_and_says_so(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    await world.create(f"{world.application}-totals-changelog")
    await world.put_keys(WORDS)
    await world.run(0)
    world.topology = keeping(world, "counts", "totals")
    assert (await world.run(0)).restored == 0
    assert f"they begin empty with the next records: {world.application}-totals-changelog" in (
        caplog.text
    )


async def test_a_store_less_leaves_its_changelog(world: World) -> None:
    await world.create(f"{world.application}-totals-changelog")
    await world.put_keys(WORDS)
    world.topology = keeping(world, "counts", "totals")
    await world.run(0)
    world.topology = keeping(world, "totals")
    assert (await world.run(0)).restored == 0
    assert f"{world.application}-counts-changelog" in await world.admin.list_topics()


async def test_a_stateless_branch_more_is_noticed(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    await world.put_keys(WORDS)
    await world.run(0)
    builder = StreamsBuilder()
    values = builder.stream(world.source, key=string(), value=string())
    counts = values.group_by_key().count(materialized=Materialized("counts"))
    counts.to_stream().to(world.sink, value=long())
    values.filter(lambda _, value: value == "none").to(world.other_source)
    world.topology = builder.build()
    await world.run(0)
    told = [each for each in caplog.messages if "another version of the topology" in each]
    assert len(told) == 1
    assert told[0].startswith(f"task 0_0 of application {world.application} goes on where")
