"""KIP-392 over brokers in three racks: a consumer reads from the follower in its rack, and from the leader where that follower is gone."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Final

import pytest
from confluent_kafka import Consumer as LibrdkafkaConsumer
from confluent_kafka import TopicPartition as LibrdkafkaPartition

from millstream.clients.blocking import Consumer, Producer
from millstream.model import TopicPartition
from millstream.testing import Cluster
from tests.soak.cluster.world import LIMIT_S, say
from tests.soak.replication.metrics import NodeMetrics
from tests.soak.replication.world import TOPIC, all_in_sync, leader_of, replicated, wait_until

RECORDS: Final = 2_000
VALUE: Final = b"v" * 1_000
RACKS: Final[Mapping[int, str]] = {1: "a", 2: "b", 3: "c"}
SELECTOR: Final = "org.apache.kafka.common.replica.RackAwareReplicaSelector"
Read = Callable[[int], int]
"""Reads so many records, or what there is after a while, and returns their number."""

pytestmark = [
    pytest.mark.nodes,
    pytest.mark.soak,
    pytest.mark.compat,
    pytest.mark.timeout(LIMIT_S * 3),
]


@contextmanager
def ours(servers: str, rack: str) -> Iterator[Read]:
    with Consumer(
        bootstrap_servers=servers, client_rack=rack, auto_offset_reset="earliest"
    ) as consumer:
        consumer.assign([TopicPartition(TOPIC, 0)])
        yield lambda wanted: _read(lambda: len(consumer.poll(timeout_ms=500)), wanted)


@contextmanager
def librdkafka(servers: str, rack: str) -> Iterator[Read]:
    consumer = LibrdkafkaConsumer(
        {
            "bootstrap.servers": servers, "client.rack": rack, "group.id": "nobody",
            "enable.auto.commit": False, "auto.offset.reset": "earliest", "log_level": 0,
        }
    )  # fmt: skip
    consumer.assign([LibrdkafkaPartition(TOPIC, 0, 0)])
    try:
        yield lambda wanted: _read(
            lambda: sum(each.error() is None for each in consumer.consume(500, 0.5)), wanted
        )
    finally:
        consumer.close()


def _read(poll: Callable[[], int], wanted: int) -> int:
    found, deadline = 0, time.monotonic() + LIMIT_S / 2
    while found < wanted and time.monotonic() < deadline:
        found += poll()
    return found


@pytest.mark.parametrize("client", [ours, librdkafka])
def test_a_consumer_reads_from_the_follower_in_its_rack(
    client: Callable[[str, str], AbstractContextManager[Read]],
) -> None:
    metrics = NodeMetrics(*RACKS)
    settings = {node: {**of, "broker.rack": RACKS[node]} for node, of in metrics.settings.items()}
    with replicated(1, settings, replica_selector_class=SELECTOR) as cluster:
        leader = leader_of(cluster)
        follower = next(node for node in cluster.node_ids if node != leader)
        with client(cluster.bootstrap_servers, RACKS[follower]) as read:
            _fill(cluster)
            assert read(RECORDS) == RECORDS  # the leader has said where to read
            before = _sent(metrics, cluster)
            _fill(cluster)
            assert read(RECORDS) == RECORDS
            after = _sent(metrics, cluster)
            sent = {node: after[node] - before[node] for node in after}
            say(f"node {leader} leads, rack of node {follower}: bytes to the consumer {sent}")
            assert sent[follower] >= RECORDS * len(VALUE)
            assert sent[leader] == 0
            cluster.stop(follower)
            _fill(cluster)
            assert read(RECORDS) == RECORDS
            cluster.restart(follower)
            wait_until(cluster, TOPIC, all_in_sync)


def _fill(cluster: Cluster) -> None:
    with Producer(bootstrap_servers=cluster.bootstrap_servers) as producer:
        for _ in range(RECORDS):
            producer.send(TOPIC, VALUE, partition=0)


def _sent(metrics: NodeMetrics, cluster: Cluster) -> dict[int, float]:
    """Returns the bytes of the topic that each node has sent to consumers; those for followers are counted apart."""
    name = "kafka_server_brokertopicmetrics_bytesout_total"
    return {node: metrics.of(node, name, {"topic": TOPIC}) for node in cluster.node_ids}
