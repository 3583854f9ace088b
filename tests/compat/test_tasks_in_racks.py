"""Tasks run where their partitions are: two instances over an Apache Kafka whose two nodes stand in two racks.

`make oracle` with MILLSTREAM_KAFKA_CLASSPATH set. A broker of ours is one node, in one rack.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from millstream.clients import NewTopic, Producer
from millstream.streams import StreamsBuilder
from millstream.streams.application.kafka_streams import KafkaStreams
from millstream.streams.serdes import long, string
from tests.integration.streams.application.instances import (
    QUICK,
    Instances,
)
from tests.oracle.clients.kafka_cluster import KafkaCluster, is_available
from tests.patience import eventually, until

pytestmark = [
    pytest.mark.oracle,
    pytest.mark.skipif(
        not is_available(), reason="needs Java and MILLSTREAM_KAFKA_CLASSPATH, where the jars are"
    ),
    pytest.mark.timeout(300),
]
NODE_OF = [1, 2, 2, 1]
"""By partition. Tasks that are shared out one after the other, or in halves, are not placed like that."""


@pytest.fixture(scope="module")
def kafka() -> Iterator[KafkaCluster]:
    with KafkaCluster(2, {"broker.rack": "rack-{node}"}) as running:
        yield running


def partitions(app: KafkaStreams) -> list[int]:
    return sorted(task.partition for tasks in app.tasks.values() for task in tasks)


@pytest.mark.parametrize("strategy", ["min_traffic", "balance_subtopology"])
async def test_each_instance_reads_what_is_in_its_rack(
    kafka: KafkaCluster, tmp_path: Path, strategy: str
) -> None:
    name = f"near-{strategy.replace('_', '-')}"
    async with Instances.open(kafka.bootstrap_servers, tmp_path, name) as instances:

        async def has_both_nodes() -> bool:
            return len((await instances.admin.describe_cluster()).nodes) == len(set(NODE_OF))

        await eventually(has_both_nodes)
        topic = f"{name}-placed"
        placed = NewTopic(topic, assignments=[[node] for node in NODE_OF])
        (await instances.admin.create_topics([placed])).raise_errors()
        builder = StreamsBuilder()
        values = builder.stream(topic, key=string(), value=string())
        values.map_values(len).to(instances.sink, key=string(), value=long())
        apps = {
            node: instances.new(
                builder.build(),
                group_protocol="classic",
                clients={**QUICK, "client_rack": f"rack-{node}"},
                rack_aware_assignment_strategy=strategy,
            )
            for node in set(NODE_OF)
        }
        for app in apps.values():
            await app.start()
        wanted = {
            node: [partition for partition, on in enumerate(NODE_OF) if on == node] for node in apps
        }
        await until(lambda: {node: partitions(app) for node, app in apps.items()} == wanted)
        async with Producer(bootstrap_servers=instances.servers) as producer:
            for partition in range(len(NODE_OF)):
                await producer.send(topic, b"x", key=b"k", partition=partition, timestamp_ms=0)
        await instances.until_written(len(NODE_OF))
