"""Which tasks there are, who has them, and what a task keeps when it goes elsewhere; the internal topics that carry it."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from datetime import timedelta

from millstream.clients import Producer
from millstream.clients.admin import ConfigResource, ConfigResourceType
from millstream.clients.group.core.consumer_protocol import decode_subscription
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.describe_groups import DescribeGroupsRequest
from millstream.streams import Materialized, StreamsBuilder, TimeWindows
from millstream.streams.application.kafka_streams import KafkaStreams
from millstream.streams.application.states import ApplicationState
from millstream.streams.processor import ProcessorContext, Record
from millstream.streams.serdes import long, string
from tests.integration.streams.application.instances import (
    PARTITIONS,
    QUICK,
    Instances,
)
from tests.patience import until
from tests.support.clients.raw_client import RawClient

ROUNDS = 30


def shares(*apps: KafkaStreams) -> list[int]:
    """How many tasks each thread has, once no instance rebalances; nothing before."""
    if any(app.state is not ApplicationState.RUNNING for app in apps):
        return []
    return sorted(len(tasks) for app in apps for tasks in app.tasks.values())


async def shared_while_paused(app: KafkaStreams, wanted: list[int]) -> None:
    """Starts it, and lets it process nothing before its threads have these numbers of tasks."""
    await app.start()
    app.pause()
    await until(lambda: shares(app) == wanted)
    app.resume()


class Seen:
    """What processors were given: by task and processor, the partitions; by partition, the records in order."""

    def __init__(self) -> None:
        self.partitions: dict[str, set[tuple[str, int]]] = defaultdict(set)
        self.processors: dict[str, set[int]] = defaultdict(set)
        self.records: dict[int, list[int]] = defaultdict(list)
        self.kept: list[object] = []
        """The processors, so that no two have one id."""

    def processor(self) -> Noting:
        return Noting(self)


class Noting:
    def __init__(self, seen: Seen) -> None:
        self._seen = seen
        seen.kept.append(self)

    def init(self, context: ProcessorContext[str, int]) -> None:
        self._context = context

    def process(self, record: Record[str, str]) -> None:
        context = self._context
        place = context.record_metadata()
        assert place is not None
        self._seen.partitions[context.task_id].add((place.topic, place.partition))
        self._seen.processors[context.task_id].add(id(self))
        self._seen.records[place.partition].append(int(record.value))
        self._context.forward(Record(record.key, int(record.value), record.timestamp))


async def test_a_partition_keeps_its_task_and_a_task_its_order_wherever_it_runs(
    instances: Instances,
) -> None:
    seen = Seen()
    builder = StreamsBuilder()
    values = builder.stream(instances.source, key=string(), value=string())
    values.process(seen.processor).to(instances.sink, key=string(), value=long())
    topology = builder.build()

    async def put(first: int) -> None:
        async with Producer(bootstrap_servers=instances.servers) as producer:
            for number in range(first, first + ROUNDS):
                for partition in range(PARTITIONS):
                    await producer.send(
                        instances.source,
                        str(number).encode(),
                        key=str(partition).encode(),
                        partition=partition,
                        timestamp_ms=number,
                    )

    first = instances.new(topology, num_stream_threads=PARTITIONS)
    second = instances.new(topology, num_stream_threads=PARTITIONS + 1)
    await put(0)
    await shared_while_paused(first, [1] * PARTITIONS)
    await instances.until_written(ROUNDS * PARTITIONS)
    had = dict(seen.partitions)
    assert had == {f"0_{n}": {(instances.source, n)} for n in range(PARTITIONS)}
    await first.close()
    await put(ROUNDS)
    await shared_while_paused(second, [0, *[1] * PARTITIONS])
    await instances.until_written(2 * ROUNDS * PARTITIONS)
    assert seen.partitions == had
    assert {len(each) for each in seen.processors.values()} == {2}, "one for each instance"
    assert len(set().union(*seen.processors.values())) == 2 * PARTITIONS, "tasks share none"
    in_order = list(range(2 * ROUNDS))
    assert seen.records == dict.fromkeys(range(PARTITIONS), in_order)
    written = defaultdict(list)
    for key, value in await instances.updates():
        written[key].append(value)
    assert written == {str(n): in_order for n in range(PARTITIONS)}


async def test_who_is_left_over_waits_and_takes_over(instances: Instances) -> None:
    narrow = f"{instances.application}-narrow"
    await instances.create(narrow, partitions=2)
    builder = StreamsBuilder()
    values = builder.stream(narrow, key=string(), value=string())
    values.map_values(len).to(instances.sink, key=string(), value=long())
    apps = [instances.new(builder.build()) for _ in range(3)]
    for app in apps:
        await app.start()
    await until(lambda: shares(*apps) == [0, 1, 1])
    busy = next(app for app in apps if shares(app) == [1])
    left = [app for app in apps if app is not busy]
    await busy.close()
    await until(lambda: shares(*left) == [1, 1])
    async with Producer(bootstrap_servers=instances.servers) as producer:
        for number in range(10):
            await producer.send(narrow, b"x", key=b"k", partition=number % 2, timestamp_ms=0)
    await instances.until_written(10)


async def test_the_group_is_told_what_an_application_reads(instances: Instances) -> None:
    repartition = f"{instances.application}-by-value-repartition"
    async with instances.new() as app:
        await until(lambda: shares(app) == [2 * PARTITIONS])
        described = await instances.admin.describe_streams_groups([instances.application])
        of_group = described.result(instances.application)
        assert [each.source_topics for each in of_group.subtopologies] == [(instances.source,), ()]
        read = [
            topic.name
            for each in of_group.subtopologies
            for topic in each.repartition_source_topics
        ]
        assert read == [repartition]

    def subscribed() -> frozenset[str]:
        request = DescribeGroupsRequest(groups=[instances.application])
        with RawClient(instances.servers) as client:
            (member,) = client.ask(ApiKey.DESCRIBE_GROUPS, 5, request).groups[0].members
        return decode_subscription(bytes(member.member_metadata), None).topics

    async with instances.new(group_protocol="classic", clients=QUICK) as app:
        await until(lambda: shares(app) == [2 * PARTITIONS])
        assert await asyncio.to_thread(subscribed) == {instances.source, repartition}


async def test_internal_topics_are_named_after_the_application_and_kept_as_their_stores(
    instances: Instances,
) -> None:
    builder = StreamsBuilder()
    words = builder.stream(instances.source, key=string(), value=string()).group_by(
        lambda _, value: value, key=string(), value=string(), name="by-value"
    )
    words.count(materialized=Materialized("counts"))
    windows = TimeWindows.tumbling(timedelta(seconds=1))
    words.windowed_by(windows).count(materialized=Materialized("windows"))
    async with instances.new(builder.build()) as app:
        await until(lambda: shares(app) == [2 * PARTITIONS])
        prefix = f"{instances.application}-"
        listed = await instances.admin.list_topics()
        mine = {each.removeprefix(prefix) for each in listed if each.startswith(prefix)}
        internal = {"by-value-repartition", "counts-changelog", "windows-changelog"}
        assert mine == internal | {"in", "out"}
        names = {prefix + each: each for each in internal}
        described = await instances.admin.describe_topics(list(names))
        assert {len(described.result(each).partitions) for each in names} == {PARTITIONS}
        resources = [ConfigResource(ConfigResourceType.TOPIC, each) for each in names]
        configs = await instances.admin.describe_configs(resources)
        policies = {
            names[each.name]: configs.result(each)["cleanup.policy"].value for each in resources
        }
        assert policies == {
            "by-value-repartition": "delete",
            "counts-changelog": "compact",
            "windows-changelog": "compact,delete",
        }
