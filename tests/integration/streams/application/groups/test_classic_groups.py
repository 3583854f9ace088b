"""Applications whose instances share the tasks themselves, by the classic protocol, over a broker of ours."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from millstream.clients import Producer
from millstream.errors import InconsistentGroupProtocol
from millstream.streams import StreamsBuilder
from millstream.streams.application.group.membership import StreamsTaskId
from millstream.streams.application.group.remarks import ShutdownRequested
from millstream.streams.application.kafka_streams import KafkaStreams
from millstream.streams.application.states import ApplicationState
from millstream.streams.errors import StreamsError, TopologyError
from millstream.streams.handlers import OnUncaughtError
from millstream.streams.host_info import HostInfo
from millstream.streams.serdes import long, string
from tests.integration.streams.application.instances import (
    PARTITIONS,
    QUICK,
    Instances,
    Restored,
    counting,
)
from tests.patience import LONG_ENOUGH_S, eventually, until

WORDS = [f"w{number % 7}" for number in range(200)]
TASKS = 2 * PARTITIONS


def new(
    instances: Instances,
    **settings: Any,  # Any: settings of any type
) -> KafkaStreams:
    return instances.new(group_protocol="classic", clients=QUICK, **settings)


def sizes(*apps: KafkaStreams) -> list[int]:
    return sorted(sum(map(len, app.tasks.values())) for app in apps)


async def test_instances_come_and_go_and_every_word_is_counted_once(instances: Instances) -> None:
    first, second = new(instances), new(instances, num_stream_threads=2)
    await instances.put(WORDS)
    await first.start()
    await instances.until_counted(WORDS)
    await second.start()
    await until(lambda: sizes(first, second) == [3, 5])
    await instances.put(WORDS)
    await instances.until_counted(WORDS * 2)
    await first.close()
    await instances.put(WORDS)
    await instances.until_counted(WORDS * 3)
    assert sizes(second) == [TASKS]


async def test_a_group_rebalances_while_it_counts_at_least_once(instances: Instances) -> None:
    settings = {
        "processing_guarantee": "at_least_once",
        "commit_interval_ms": 50,
        "rack_aware_assignment_strategy": "min_traffic",
    }
    first, second = (new(instances, **settings) for _ in range(2))
    async with first:
        for _ in range(3):
            await instances.put(WORDS)
        await second.start()
        await until(lambda: sizes(first, second) == [TASKS // 2, TASKS // 2])
        await instances.until_counted(WORDS * 3)


async def test_copies_are_kept_and_hosts_are_known(instances: Instances) -> None:
    settings = {"num_standby_replicas": 1}
    first = new(instances, application_server="one:7001", **settings)
    second = new(instances, application_server="two:7002", **settings)
    async with first, second:
        await instances.put(WORDS)
        await instances.until_counted(WORDS)

        def copies() -> list[int]:
            return sorted(
                each.task_id.partition
                for app in (first, second)
                for thread in app.metadata_for_local_threads()
                for each in thread.standby_tasks
            )

        await until(lambda: copies() == list(range(PARTITIONS)))
        hosts = {HostInfo("one", 7001), HostInfo("two", 7002)}

        async def both_are_known() -> bool:
            found = await first.query_metadata_for_key("counts", WORDS[0], string())
            return {found.active_host, *found.standby_hosts} == hosts

        await eventually(both_are_known)


async def test_a_static_member_comes_back_to_its_tasks_and_nobody_else_moves_any(
    instances: Instances, tmp_path: Path
) -> None:
    def static(name: str) -> KafkaStreams:
        return new(instances, group_instance_id=name, state_dir=str(tmp_path / name))

    async def members() -> dict[str | None, str]:
        described = await instances.admin.describe_consumer_groups([instances.application])
        found = described.result(instances.application).members
        return {each.group_instance_id: each.member_id for each in found}

    async with static("one") as one:
        two = static("two")
        await two.start()
        await until(lambda: sizes(one, two) == [TASKS // 2, TASKS // 2])
        had, before = one.tasks, two.tasks
        ids = await members()
        assert ids.keys() == {"one-1", "two-1"}
        await two.close()
        assert await members() == ids, "it has not left"
        again = static("two")
        await again.start()
        await until(lambda: sizes(again) == [TASKS // 2])
        assert list(again.tasks.values()) == list(before.values())
        assert one.tasks == had
        after = await members()
        assert after["one-1"] == ids["one-1"]
        assert after["two-1"] != ids["two-1"]
        await instances.put(WORDS)
        await instances.until_counted(WORDS)


async def test_a_static_member_comes_back_with_more_topics_and_with_fewer(
    instances: Instances, tmp_path: Path
) -> None:
    """The group gives it what it had, without a rebalance: a topic more would be read by nobody, in silence."""

    def reading(*topics: str) -> KafkaStreams:
        builder = StreamsBuilder()
        for topic in topics:
            builder.stream(topic, key=string(), value=long()).to(instances.sink, value=long())
        return instances.new(
            builder.build(),
            group_protocol="classic",
            clients=QUICK | {"session_timeout_ms": 45_000},
            group_instance_id="one",
            state_dir=str(tmp_path / "one"),
        )

    async def put(topic: str) -> None:
        async with Producer(bootstrap_servers=instances.servers) as producer:
            await producer.send(topic, bytes(8), key=topic.encode(), timestamp_ms=0)

    one, two = (f"{instances.application}-{name}" for name in ("one", "two"))
    await instances.create(one, two, partitions=1)
    async with reading(one):
        await put(one)
        await instances.until_written(1)
    async with reading(one, two):
        await put(two)
        await instances.until_written(2)
    async with reading(two):
        await put(two)
        await instances.until_written(3)


async def test_an_instance_that_comes_back_has_its_stores_again_and_restores_what_they_lack(
    instances: Instances, tmp_path: Path
) -> None:
    """Its leader hears of the stores on its disk, so the tasks that it had move, and no others."""
    restored = Restored()

    def instance(name: str) -> KafkaStreams:
        return new(instances, state_dir=str(tmp_path / name), restore_listener=restored)

    def counted(app: KafkaStreams) -> set[StreamsTaskId]:
        return {task for tasks in app.tasks.values() for task in tasks if task.sub_topology == 1}

    apps = {name: instance(name) for name in ("one", "two")}
    for app in apps.values():
        await app.start()
    await until(lambda: sizes(*apps.values()) == [TASKS // 2, TASKS // 2])
    await instances.put(WORDS)
    await instances.until_counted(WORDS)
    (goes,) = (name for name, app in apps.items() if StreamsTaskId(1, 0) in counted(app))
    had = counted(apps[goes])
    await apps[goes].close()
    (stays,) = (app for name, app in apps.items() if name != goes)
    await until(lambda: sizes(stays) == [TASKS])
    await instances.put(["w1"])
    await instances.until_counted([*WORDS, "w1"])
    before = restored.records
    async with instance(goes) as again:
        await until(lambda: sizes(again, stays) == [TASKS // 2, TASKS // 2])
        assert counted(again) == had
        await instances.put(WORDS)
        await instances.until_counted([*WORDS * 2, "w1"])
    assert restored.records - before <= 1, "what was counted meanwhile"


async def test_one_instance_may_end_all_of_them(instances: Instances) -> None:
    def fail(_value: str) -> str:
        raise ArithmeticError("never")

    builder = StreamsBuilder()
    stream = builder.stream(instances.source, key=string(), value=string())
    stream.map_values(fail).to(instances.sink, value=string())
    apps = [
        new(
            instances,
            topology=builder.build(),
            on_uncaught_error=lambda _: OnUncaughtError.SHUTDOWN_APPLICATION,
        )
        for _ in range(2)
    ]
    for app in apps:
        await app.start()
    await until(lambda: sizes(*apps) == [PARTITIONS // 2, PARTITIONS // 2])
    await instances.put(WORDS)
    errors: list[Exception] = []
    async with asyncio.timeout(LONG_ENOUGH_S):
        for app in apps:
            with pytest.raises((StreamsError, ShutdownRequested)) as failed:
                await app.wait_ended()
            errors.append(failed.value)
    assert any("never" in str(error) for error in errors), (
        "the other one may have heard of it first"
    )
    assert {app.state for app in apps} == {ApplicationState.ERROR}


async def test_a_stream_is_joined_with_a_global_table(instances: Instances) -> None:
    """The leader counts the tasks, of which global stores have none."""
    table = f"{instances.application}-names"
    await instances.create(table)
    async with Producer(bootstrap_servers=instances.servers) as producer:
        await producer.send(table, b"1", key=b"w1", timestamp_ms=0)
    builder = StreamsBuilder()
    names = builder.global_table(table, key=string(), value=string())
    stream = builder.stream(instances.source, key=string(), value=string())
    stream.join(names, lambda _word, name: int(name), on=lambda _, word: word).to(
        instances.sink, value=long()
    )
    async with new(instances, topology=builder.build()):
        await instances.put(WORDS)

        async def are_joined() -> bool:
            return [value for _, value in await instances.updates()] == [1] * WORDS.count("w1")

        await eventually(are_joined)


async def test_a_topic_that_is_missing_is_named(instances: Instances) -> None:
    app = new(instances, topology=counting("nowhere", instances.sink))
    await app.start()
    async with asyncio.timeout(LONG_ENOUGH_S):
        with pytest.raises(TopologyError, match=r"nowhere.* create"):
            await app.wait_ended()


async def test_the_two_protocols_do_not_mix(instances: Instances) -> None:
    async with instances.new() as app:
        await until(lambda: app.state is ApplicationState.RUNNING)
        other = new(instances)
        await other.start()
        async with asyncio.timeout(LONG_ENOUGH_S):
            with pytest.raises(InconsistentGroupProtocol, match="choose the group_protocol"):
                await other.wait_ended()


async def test_the_command_line_shows_lag_and_members(instances: Instances) -> None:
    async def described(*flags: str) -> list[dict[str, object]]:
        command = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "millstream.cli.main", "groups", "describe"),
            *(instances.application, "-b", instances.servers, "--output", "jsonl", *flags),
            stdout=asyncio.subprocess.PIPE,
        )
        out, _ = await command.communicate()
        assert command.returncode == 0
        return [json.loads(line) for line in out.splitlines()]

    async with new(instances):
        await instances.put(WORDS)
        await instances.until_counted(WORDS)
        assert len(await described()) == TASKS
        (member,) = await described("--members")
        assert member["partitions"] == TASKS
    (state,) = await described("--state")
    assert (state["type"], state["state"], state["members"]) == ("classic", "Empty", 0)


async def test_threads_that_are_processes_share_the_tasks(
    instances: Instances, tmp_path: Path
) -> None:
    app = new(instances, use_processes=True, num_stream_threads=2, state_dir=str(tmp_path / "p"))
    async with app:
        await until(lambda: sorted(map(len, app.tasks.values())) == [TASKS // 2, TASKS // 2])
        await instances.put(WORDS)
        await instances.until_counted(WORDS)
