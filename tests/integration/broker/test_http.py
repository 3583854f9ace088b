"""Metrics and health over HTTP, of a node that real clients use."""

from __future__ import annotations

import http.client
import json
import re
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

import pytest
from confluent_kafka import OFFSET_BEGINNING, Consumer, Producer, TopicPartition

from millstream.protocol.api import ApiKey
from millstream.protocol.generated.describe_groups import DescribeGroupsRequest
from millstream.protocol.generated.init_producer_id import InitProducerIdRequest
from millstream.protocol.generated.metadata import MetadataRequest
from millstream.testing.broker import Broker
from tests.patience import LONG_ENOUGH_S
from tests.support.clients.raw_client import RawClient

GUIDE = Path(__file__).parents[3] / "docs" / "guide" / "operations.md"
SAMPLE = re.compile(
    r'(?P<name>[a-zA-Z_:][a-zA-Z0-9_:]*)(?P<labels>\{([a-z_]+="([^"\\\n]|\\["\\n])*",?)*\})? '
    r"(?P<value>-?\d+(\.\d+)?(e[+-]?\d+)?)"
)
LABEL = re.compile(r'([a-z_]+)="((?:[^"\\]|\\.)*)"')


@dataclass(frozen=True)
class World:
    broker: Broker
    port: int

    def get(self, path: str, method: str = "GET") -> tuple[int, str]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=LONG_ENOUGH_S)
        connection.request(method, path)
        response = connection.getresponse()
        body = response.read().decode()
        connection.close()
        return response.status, body

    def metric(self, name: str, **labels: str) -> float:
        """The one sample of that name whose labels include these."""
        (value,) = [
            value
            for sample, given, value in parse(self.get("/metrics")[1])
            if sample == name and labels.items() <= given.items()
        ]
        return value


def parse(text: str) -> list[tuple[str, dict[str, str], float]]:
    """Every line must be a comment or a sample of the family announced last."""
    samples = []
    family = ""
    for line in text.splitlines():
        if line.startswith("# TYPE "):
            family = line.split(" ")[2]
        elif not line.startswith("# HELP "):
            found = SAMPLE.fullmatch(line)
            assert found is not None, line
            assert found["name"].removeprefix(family) in {"", "_sum", "_count", "_bucket"}, line
            labels = dict(LABEL.findall(found["labels"] or ""))
            samples.append((found["name"], labels, float(found["value"])))
    return samples


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    settings = {"millstream.http.listener": f"http://127.0.0.1:{port}"}
    with Broker(settings=settings) as broker:
        with RawClient(broker.bootstrap_servers) as client:
            client.create_topic("t", 2)
        producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "log_level": 0})
        for number in range(10):
            producer.produce("t", b"x" * 100, partition=number % 2)
        assert producer.flush(LONG_ENOUGH_S) == 0
        yield World(broker, port)


def test_a_running_node_is_alive_ready_and_healthy(world: World) -> None:
    assert world.get("/livez") == (200, '{"status": "alive"}\n')
    status, body = world.get("/readyz")
    assert status == 200
    # Other tests of this world, which may have run before, let the broker create its own topics.
    with RawClient(world.broker.bootstrap_servers) as client:
        metadata = client.ask(ApiKey.METADATA, 12, MetadataRequest(topics=None))
    partitions = sum(len(topic.partitions) for topic in metadata.topics)
    assert json.loads(body) == {
        "status": "ready",
        "replicas": {
            "partitions": partitions,
            "offline": 0,
            "under_replicated": 0,
            "under_min_isr": 0,
            "at_min_isr": partitions,
            "preferred_leader_imbalance": 0,
        },
    }
    status, body = world.get("/healthz")
    assert status == 200
    assert json.loads(body)["status"] == "healthy"


def test_metrics_are_the_text_that_prometheus_reads(world: World) -> None:
    status, text = world.get("/metrics")
    assert status == 200
    samples = parse(text)
    places = [(name, tuple(sorted(labels.items()))) for name, labels, _ in samples]
    assert len(places) == len(set(places)), "a sample is given once"


def test_the_guide_names_all_metrics_and_no_others(world: World) -> None:
    text = world.get("/metrics")[1]
    there = set(re.findall(r"^# TYPE (\S+)", text, re.MULTILINE))
    table = GUIDE.read_text().partition("## Metrics")[2].partition("\n## ")[0]
    named = set(guide_names(table))
    missing = {name for name in there if not any(fnmatchcase(name, pattern) for pattern in named)}
    unknown = {
        pattern for pattern in named if not any(fnmatchcase(name, pattern) for name in there)
    }
    assert (missing, unknown) == (set(), set())


def guide_names(table: str) -> Iterator[str]:
    """Names in the first column; `a_{b,c}` stands for two, and `…` for the start of the name before it."""
    for row in table.splitlines():
        previous = ""
        for quoted in re.findall(r"`([^`]+)`", row.split("|")[1] if row.startswith("|") else ""):
            start = previous.removesuffix("_group_count") if quoted.startswith("…") else ""
            pattern = start + quoted.removeprefix("…")
            head, _, rest = pattern.partition("{")
            choices, _, tail = rest.partition("}")
            names = [head + choice + tail for choice in choices.split(",")]
            previous = names[0]
            yield from names


def test_what_a_producer_sends_is_counted(world: World) -> None:
    assert world.metric("kafka_server_brokertopicmetrics_messagesin_total", topic="t") == 10
    assert world.metric("kafka_server_brokertopicmetrics_bytesin_total", topic="t") > 1_000
    assert world.metric("kafka_log_log_logendoffset", topic="t", partition="0") == 5


def test_requests_are_counted_by_api_version_and_error(world: World) -> None:
    with RawClient(world.broker.bootstrap_servers) as client:
        client.ask(ApiKey.DESCRIBE_GROUPS, 5, DescribeGroupsRequest(groups=["none"]))
        refused = InitProducerIdRequest(transactional_id="", transaction_timeout_ms=1_000)
        client.ask(ApiKey.INIT_PRODUCER_ID, 4, refused)
    name = "kafka_network_requestmetrics"
    assert world.metric(f"{name}_requests_total", request="DescribeGroups", version="5") == 1
    assert world.metric(f"{name}_totaltimems_count", request="DescribeGroups") == 1
    assert (
        world.metric(f"{name}_errors_total", request="InitProducerId", error="INVALID_REQUEST") == 1
    )


def test_lag_is_what_a_group_has_not_committed(world: World) -> None:
    consumer = Consumer(
        {"bootstrap.servers": world.broker.bootstrap_servers, "group.id": "slow", "log_level": 0}
    )
    consumer.assign([TopicPartition("t", 0, OFFSET_BEGINNING)])
    consumer.commit(offsets=[TopicPartition("t", 0, 2)], asynchronous=False)
    consumer.close()
    group = {"group_id": "slow", "topic_name": "t"}
    assert world.metric("kafka_consumer_group_topic_partition_lag", **group, partition_id="0") == 3
    assert world.metric("kafka_consumer_group_topic_lag", **group) == 3
    assert world.metric("kafka_consumer_group_info", group_id="slow", state="Empty") == 1
    assert world.metric("kafka_server_group_coordinator_metrics_offset_commit_count") == 1


def test_only_what_is_there_is_served(world: World) -> None:
    assert world.get("/nothing")[0] == 404
    assert world.get("/livez", "POST")[0] == 405
    assert world.get("/metrics", "HEAD") == (200, "")


def test_what_is_not_http_is_told_so(world: World) -> None:
    with socket.create_connection(("127.0.0.1", world.port), timeout=LONG_ENOUGH_S) as connection:
        connection.sendall(b"hello\r\n\r\n")
        assert connection.recv(1_000).startswith(b"HTTP/1.1 400 ")


def test_a_client_that_says_nothing_does_not_hold_the_node_up_when_it_stops() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    settings = {"millstream.http.listener": f"http://127.0.0.1:{port}"}
    with socket.socket() as silent:
        with Broker(settings=settings):
            silent.connect(("127.0.0.1", port))
        silent.settimeout(LONG_ENOUGH_S)
        assert silent.recv(1) == b""
