"""An application on stream threads: instances share its tasks, and its results are there once."""

from __future__ import annotations

import asyncio
import json
import logging
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from uuid import UUID

import pytest

from millstream.clients.core.illegal_state import IllegalState
from millstream.model import TopicPartition
from millstream.streams import Materialized, StreamsBuilder
from millstream.streams.application.group.membership import StreamsTaskId
from millstream.streams.application.states import ApplicationState, ThreadState
from millstream.streams.errors import InvalidStoreError, StreamsNotStarted
from millstream.streams.queries import (
    FailureReason,
    KeyQuery,
    StateQueryRequest,
    StateQueryResult,
)
from millstream.streams.serdes import string
from millstream.testing.broker import Broker
from tests.integration.streams.application.instances import PARTITIONS, Instances
from tests.patience import eventually, until

WORDS = [f"w{number % 7}" for number in range(300)]
TASKS = 2 * PARTITIONS


async def test_names_begin_with_application_and_process_and_are_those_of_a_restart(
    instances: Instances, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "millstream.streams.application")
    names = []
    for _ in range(2):
        app = instances.new(state_dir=str(tmp_path / "same"))
        assert app.metadata_for_local_threads() == ()
        async with app:
            await until(lambda app=app: app.state is ApplicationState.RUNNING)
            (thread,) = app.metadata_for_local_threads()
            names.append(thread.thread_name)
            assert thread.thread_state is ThreadState.RUNNING
            assert [each.task_id for each in thread.active_tasks] == sorted(
                StreamsTaskId(sub_topology, partition)
                for sub_topology in range(2)
                for partition in range(PARTITIONS)
            )
            assert thread.consumer_client_id == f"{thread.thread_name}-consumer"
    first, second = names
    assert first == second
    process_id = first.removeprefix(f"{instances.application}-").removesuffix("-StreamThread-1")
    assert str(UUID(process_id)) == process_id
    prefix = f"stream-client [{instances.application}-{process_id}] state transition from"
    assert f"{prefix} CREATED to REBALANCING" in caplog.messages
    assert f"{prefix} PENDING_SHUTDOWN to NOT_RUNNING" in caplog.messages


async def test_a_client_id_that_is_given_begins_the_names(instances: Instances) -> None:
    async with instances.new(client_id="mine", num_stream_threads=2) as app:
        names = [each.thread_name for each in app.metadata_for_local_threads()]
        assert names == ["mine-StreamThread-1", "mine-StreamThread-2"]
        with pytest.raises(IllegalState, match="before the application is started"):
            app.on_state_change(lambda _new, _old: None)


async def test_an_application_counts_from_start_to_close(instances: Instances) -> None:
    await instances.put(WORDS)
    app = instances.new()
    seen: list[ApplicationState] = []
    app.on_state_change(lambda new, _old: seen.append(new))
    assert app.state is ApplicationState.CREATED
    await app.start()
    await instances.until_counted(WORDS)
    assert app.state is ApplicationState.RUNNING
    assert await app.close(timeout_s=30)
    assert seen == ["REBALANCING", "RUNNING", "PENDING_SHUTDOWN", "NOT_RUNNING"]
    with pytest.raises(IllegalState, match="make a new KafkaStreams"):
        await app.start()


async def test_two_instances_share_the_tasks_and_one_takes_over_from_the_other(
    instances: Instances,
) -> None:
    first, second = instances.new(), instances.new()
    await first.start()
    await instances.put(WORDS)
    await instances.until_counted(WORDS)
    await second.start()

    def shared() -> bool:
        mine, others = (set().union(*each.tasks.values()) for each in (first, second))
        return len(mine) == len(others) == TASKS // 2 and not mine & others

    await until(shared)
    await instances.put(WORDS)
    await instances.until_counted(WORDS * 2)
    await first.close()
    await instances.put(WORDS)
    await instances.until_counted(WORDS * 3)
    assert len(set().union(*second.tasks.values())) == TASKS


@pytest.mark.parametrize("threads", [1, 2])
async def test_at_least_once_counts_all_with_each_number_of_threads(
    instances: Instances, threads: int
) -> None:
    await instances.put(WORDS)
    app = instances.new(processing_guarantee="at_least_once", num_stream_threads=threads)
    async with app:
        await instances.until_counted(WORDS)
        assert len(app.tasks) == threads
        assert {len(tasks) for tasks in app.tasks.values()} == {TASKS // threads}


async def test_a_paused_application_takes_its_tasks_and_processes_nothing(
    instances: Instances,
) -> None:
    async with instances.new(poll_ms=10) as app:
        app.pause()
        assert app.is_paused
        await until(lambda: app.state is ApplicationState.RUNNING)
        await instances.put(WORDS)
        await asyncio.sleep(0.3)  # many turns; a slow machine makes fewer of them
        assert len(set().union(*app.tasks.values())) == TASKS
        assert await instances.updates() == []
        app.resume()
        await instances.until_counted(WORDS)


class Restored:
    """Remembers, by partition, the offsets from which and to which, and how many records a listener was told of."""

    def __init__(self) -> None:
        self.ranges: dict[int, tuple[int, int]] = {}
        self.told: Counter[int] = Counter()
        self.totals: dict[int, int] = {}

    def on_restore_start(
        self, changelog: TopicPartition, store: str, starting_offset: int, ending_offset: int
    ) -> None:
        assert store == "counts"
        self.ranges[changelog.partition] = starting_offset, ending_offset

    def on_batch_restored(
        self, changelog: TopicPartition, _store: str, _batch_end_offset: int, restored: int
    ) -> None:
        self.told[changelog.partition] += restored

    def on_restore_end(self, changelog: TopicPartition, _store: str, total_restored: int) -> None:
        self.totals[changelog.partition] = total_restored

    def on_restore_suspended(
        self, changelog: TopicPartition, store: str, total_restored: int
    ) -> None:
        raise AssertionError(f"nothing closes the task: {changelog} {store} {total_restored}")


async def test_a_listener_is_told_of_each_restoration(instances: Instances) -> None:
    await instances.put(WORDS)
    async with instances.new():
        await instances.until_counted(WORDS)
    listener = Restored()
    async with instances.new(restore_listener=listener) as app:
        await until(lambda: app.state is ApplicationState.RUNNING)
    assert sum(listener.totals.values()) == len(WORDS), "each count is an update of the changelog"
    assert {n: total for n, total in listener.totals.items() if total} == dict(listener.told)
    assert {start for start, _ in listener.ranges.values()} == {0}
    for partition, total in listener.totals.items():
        assert listener.ranges[partition][1] >= total, "markers of transactions have offsets, too"


async def test_a_paused_application_restores_its_stores_before_it_runs(
    instances: Instances,
) -> None:
    """Another disk, so that they come from the changelog; nothing processed fills them."""
    await instances.put(WORDS)
    async with instances.new():
        await instances.until_counted(WORDS)
    app = instances.new(poll_ms=10)
    answered: list[asyncio.Task[StateQueryResult]] = []

    def when_running(new: ApplicationState, _old: ApplicationState) -> None:
        if new is ApplicationState.RUNNING:
            wanted = StateQueryRequest("counts", KeyQuery("w1"))
            answered.append(asyncio.ensure_future(app.query(wanted)))

    app.on_state_change(when_running)
    async with app:
        app.pause()
        await until(lambda: bool(answered))
        result = await answered[0]
        assert sorted(result.partitions) == list(range(PARTITIONS))
        only = result.only_partition_result()
        assert only is not None
        assert only.value == WORDS.count("w1")


async def test_the_command_line_shows_lag_and_members_of_an_application(
    instances: Instances,
) -> None:
    async def described(*flags: str) -> list[dict[str, object]]:
        command = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "millstream.cli.main", "groups", "describe"),
            *(instances.application, "-b", instances.servers, "--output", "jsonl", *flags),
            stdout=asyncio.subprocess.PIPE,
        )
        out, _ = await command.communicate()
        assert command.returncode == 0
        return [json.loads(line) for line in out.splitlines()]

    async with instances.new():
        await instances.put(WORDS)
        await instances.until_counted(WORDS)
        rows = await described()
        assert len(rows) == TASKS, "each task reads one topic"
        assert {row["topic"] for row in rows} == {
            instances.source,
            f"{instances.application}-by-value-repartition",
        }
        # Behind the last record between the sub-topologies are markers of transactions.
        assert {row["lag"] for row in rows if row["topic"] == instances.source} == {0}
        (member,) = await described("--members")
        assert member["partitions"] == TASKS
    (state,) = await described("--state")
    assert (state["type"], state["state"], state["members"]) == ("streams", "Empty", 0)


async def test_threads_that_are_added_and_removed_share_the_tasks(instances: Instances) -> None:
    async with instances.new() as app:
        await instances.put(WORDS)
        await instances.until_counted(WORDS)
        added = app.add_stream_thread()
        await until(lambda: {len(tasks) for tasks in app.tasks.values()} == {TASKS // 2})
        assert await app.remove_stream_thread() == added
        await instances.put(WORDS)
        await instances.until_counted(WORDS * 2)
        assert [len(tasks) for tasks in app.tasks.values()] == [TASKS]
        with pytest.raises(IllegalState, match="last stream thread"):
            await app.remove_stream_thread()


async def restarted(broker: Broker) -> None:
    await asyncio.to_thread(broker.kill)
    await asyncio.to_thread(broker.restart)


async def test_a_broker_may_restart_under_an_application(
    instances: Instances, broker: Broker
) -> None:
    async with instances.new() as app:
        await instances.put(WORDS)
        await instances.until_counted(WORDS)
        await restarted(broker)
        await instances.put(WORDS)
        await instances.until_counted(WORDS * 2)
        assert app.state.is_running_or_rebalancing


async def test_stores_are_asked_where_their_tasks_are(instances: Instances) -> None:
    app = instances.new()
    wanted = StateQueryRequest("counts", KeyQuery("w1"))
    with pytest.raises(StreamsNotStarted):
        await app.query(wanted)
    async with app:
        await instances.put(WORDS)
        await instances.until_counted(WORDS)
        result = await app.query(wanted)
        assert sorted(result.partitions) == list(range(PARTITIONS))
        only = result.only_partition_result()
        assert only is not None
        assert only.value == WORDS.count("w1")
        later = await app.query(replace(wanted, partitions=[9], position_bound={}))
        assert later.partitions[9].failure is FailureReason.NOT_PRESENT
        bound = {topic: {p: n + 1 for p, n in of.items()} for topic, of in result.position.items()}
        early = await app.query(replace(wanted, position_bound=bound))
        assert {each.failure for each in early.partitions.values()} == {
            FailureReason.NOT_UP_TO_BOUND
        }
        with pytest.raises(InvalidStoreError, match="there is no store other"):
            await app.query(replace(wanted, store="other"))


async def test_a_global_table_is_filled_before_the_start_returns_and_kept_up(
    instances: Instances, broker: Broker
) -> None:
    builder = StreamsBuilder()
    builder.global_table(
        instances.source, key=string(), value=string(), materialized=Materialized("all")
    )
    await instances.put(["one"])
    wanted = StateQueryRequest("all", KeyQuery("0"))

    async def value() -> object:
        result = (await app.query(wanted)).global_result
        assert result is not None
        return result.value

    async with instances.new(builder.build()) as app:
        assert (app.state, app.tasks) == (ApplicationState.RUNNING, {})
        assert await value() == "one"
        await restarted(broker)
        await instances.put(["two"])

        async def is_newer() -> bool:
            return await value() == "two"

        await eventually(is_newer)
