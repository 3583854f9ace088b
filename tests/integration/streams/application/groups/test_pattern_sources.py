"""Applications that read topics by pattern: topics come and go while instances share the tasks, over a broker of ours."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from millstream.clients import Producer
from millstream.streams import Materialized, OffsetReset, StreamsBuilder, Topology
from millstream.streams.application.kafka_streams import KafkaStreams
from millstream.streams.application.states import ApplicationState
from millstream.streams.errors import TaskAssignmentError, TopologyError
from millstream.streams.serdes import long, string
from tests.integration.streams.application.instances import PARTITIONS, Instances
from tests.patience import LONG_ENOUGH_S, eventually, until

WORDS = [f"w{number % 7}" for number in range(100)]
QUICK: Mapping[str, object] = {
    "session_timeout_ms": 6_000,
    "heartbeat_interval_ms": 200,
    "metadata_max_age_ms": 200,
}


def counting(instances: Instances, *patterns: str, reset: OffsetReset | None = None) -> Topology:
    """Keys counted where they are read: a task has a store, and reads one partition of each topic that matches."""
    builder = StreamsBuilder()
    for pattern in patterns or ("of-.*",):
        stream = builder.stream(
            pattern=f"{instances.application}-{pattern}", key=string(), value=string(), reset=reset
        )
        counts = stream.group_by_key().count(materialized=Materialized(f"counts{pattern[0]}"))
        counts.to_stream().to(instances.sink, value=long())
    return builder.build()


def new(instances: Instances, topology: Topology, **settings: Any) -> KafkaStreams:
    return instances.new(topology, group_protocol="classic", clients=QUICK, **settings)


def names(instances: Instances, *kinds: str) -> list[str]:
    return [f"{instances.application}-of-{kind}" for kind in kinds]


async def create(instances: Instances, *kinds: str, partitions: int = PARTITIONS) -> None:
    await instances.create(*names(instances, *kinds), partitions=partitions)


async def delete(instances: Instances, *kinds: str) -> None:
    (await instances.admin.delete_topics(names(instances, *kinds))).raise_errors()


async def put(instances: Instances, kind: str, words: list[str] = WORDS) -> None:
    (topic,) = names(instances, kind)
    async with Producer(bootstrap_servers=instances.servers) as producer:
        for number, word in enumerate(words):
            await producer.send(topic, b"", key=word.encode(), timestamp_ms=number)


def tasks(*apps: KafkaStreams) -> list[int]:
    """The numbers of tasks of all instances."""
    return sorted(sum(map(len, app.tasks.values())) for app in apps)


async def test_topics_come_and_go_and_each_record_counts_once(instances: Instances) -> None:
    topology = counting(instances)
    async with new(instances, topology) as first, new(instances, topology) as second:
        await until(lambda: {first.state, second.state} == {ApplicationState.RUNNING})
        assert tasks(first, second) == [0, 0], "no topic matches yet"
        await create(instances, "eu")
        await put(instances, "eu")
        await instances.until_counted(WORDS)
        assert tasks(first, second) == [PARTITIONS // 2, PARTITIONS // 2]
        await create(instances, "us")
        await put(instances, "us")
        await instances.until_counted(WORDS * 2)
        assert tasks(first, second) == [PARTITIONS // 2, PARTITIONS // 2]
        await delete(instances, "eu")
        await put(instances, "us")
        await instances.until_counted(WORDS * 3)
        await delete(instances, "us")
        await until(lambda: tasks(first, second) == [0, 0])
        await create(instances, "asia")
        await put(instances, "asia")
        await instances.until_counted(WORDS * 4)


async def test_a_task_reads_the_topics_that_have_its_partition(instances: Instances) -> None:
    (wide, narrow), others = names(instances, "wide", "narrow"), ["n1", "n2"]
    await create(instances, "wide")
    async with new(instances, counting(instances)) as app:
        await put(instances, "wide")
        await instances.until_counted(WORDS)
        await create(instances, "narrow", partitions=1)
        await put(instances, "narrow", others)
        await instances.until_counted(WORDS + others)
        read = {task.partition: set(report.position) for task, report in app.reports.items()}
        assert read == {0: {wide, narrow}, 1: {wide}, 2: {wide}, 3: {wide}}
        await delete(instances, "wide")
        await until(lambda: tasks(app) == [1])
        await put(instances, "narrow", others)
        await instances.until_counted(WORDS + others * 2)


async def test_a_deleted_topic_is_left_out_before_the_next_look_at_all_topics(
    instances: Instances,
) -> None:
    """Who reads it hears of it at once."""
    await create(instances, "eu", "us")
    settings = {**QUICK, "metadata_max_age_ms": 300_000}
    app = instances.new(counting(instances), group_protocol="classic", clients=settings)
    async with app:
        await put(instances, "eu")
        await instances.until_counted(WORDS)
        await delete(instances, "eu")
        (us,) = names(instances, "us")

        async def is_left_out() -> bool:
            await put(instances, "us")
            return [set(each.position) for each in app.reports.values()] == [{us}] * PARTITIONS

        await eventually(is_left_out)


async def test_a_thread_that_is_a_process_finds_topics_too(
    instances: Instances, tmp_path: Path
) -> None:
    await create(instances, "eu")
    settings = {"use_processes": True, "state_dir": str(tmp_path / "p")}
    async with new(instances, counting(instances), **settings):
        await put(instances, "eu")
        await instances.until_counted(WORDS)
        await create(instances, "us")
        await put(instances, "us")
        await instances.until_counted(WORDS * 2)


async def test_a_source_begins_where_its_reset_says(instances: Instances) -> None:
    await create(instances, "eu")
    await put(instances, "eu", ["before"])
    topology = counting(instances, reset=OffsetReset.LATEST)
    async with new(instances, topology) as app:
        await until(lambda: tasks(app) == [PARTITIONS])
        await until(lambda: app.state is ApplicationState.RUNNING)
        await put(instances, "eu")
        await instances.until_counted(WORDS)


async def test_a_topic_that_two_patterns_match_ends_all_instances(instances: Instances) -> None:
    await create(instances, "eu")
    topology = counting(instances, "of-e.*", ".*-u.*")
    first, second = new(instances, topology), new(instances, topology)
    async with first, second:
        await until(lambda: tasks(first, second) == [PARTITIONS // 2, PARTITIONS // 2])
        await create(instances, "e-u")
        async with asyncio.timeout(LONG_ENOUGH_S):
            for app in (first, second):
                with pytest.raises((TopologyError, TaskAssignmentError)):
                    await app.wait_ended()
        assert any("narrow one of them" in str(app.error) for app in (first, second))
