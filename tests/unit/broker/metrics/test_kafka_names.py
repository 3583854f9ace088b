"""The metrics of the quorum, the controller and the metadata have the names of Apache Kafka 4.3.1, kept as data with the program that made it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest

from millstream.broker.metrics.controller_families import controller_families
from millstream.broker.metrics.node_metrics import NodeMetrics
from millstream.broker.metrics.quorum_families import metadata_families, quorum_families
from millstream.broker.metrics.replica_families import replica_families, replication_families
from tests.support.node_views import given_broker, given_node

_RECORDED: Final = Path(__file__).parents[3] / "golden"
GOLDEN: Final = _RECORDED / "kafka_4_3_1_quorum_metrics.tsv"
OF_REPLICAS: Final = _RECORDED / "kafka_4_3_1_replica_metrics.tsv"
OF_THE_BROKER: Final = "kafka_server_kafkaserver_brokerstate"
"""Told with the replicas."""
NOT_HERE: Final = {
    "kafka_server_kafkaserver_linux_disk_read_bytes": "exporters of the machine tell it",
    "kafka_server_kafkaserver_linux_disk_write_bytes": "the same",
    "kafka_server_kafkaserver_yammer_metrics_count": "there is no such registry",
}
ONLY_HERE: Final = {"millstream_metadata_lag_records"}
_MOVES: Final = "a move between directories is a task of its own, told by DescribeLogDirs: there are no threads that could lag or die"
_MOVERS: Final = "kafka_server_replicaalterlogdirsmanager"
REPLICAS_NOT_HERE: Final = {
    "kafka_server_replicamanager_partitionswithlatetransactionscount": "`millstream transactions list` tells them with their age",
    "kafka_server_replicafetchermanager_deadthreadcount": "a fetcher is a task, and starts again",
    "kafka_server_replicafetchermanager_minfetchrate": "bytes and lag say it",
    f"{_MOVERS}_deadthreadcount": _MOVES,
    f"{_MOVERS}_failedpartitionscount": _MOVES,
    f"{_MOVERS}_maxlag": _MOVES,
    f"{_MOVERS}_minfetchrate": _MOVES,
}
OF_TOPICS: Final = "kafka_server_brokertopicmetrics_"
"""Recorded with no other of their kind: they grow with topics."""


def exported(bean: str, attribute: str) -> str:
    """Returns the name under which the JMX exporter tells an attribute, as dashboards for Kafka know it."""
    domain, _, properties = bean.partition(":")
    keys = dict(each.split("=") for each in properties.split(","))
    name = keys.get("name")
    told = attribute if name is None else re.sub("PerSec$", "_total", name)
    parts = [domain, keys["type"], told]
    return re.sub(r"[.-]", "_", "_".join(parts)).lower()


def of_kafka(role: str, file: Path = GOLDEN) -> set[str]:
    lines = [line for line in file.read_text().splitlines() if not line.startswith("#")]
    rows = [line.split("\t") for line in lines]
    return {exported(bean, attribute) for of, bean, attribute in rows if of == role}


def of_ours(role: str) -> set[str]:
    is_controller = role == "controller"
    node = given_node(is_controller=is_controller, broker=None if is_controller else given_broker())
    every = (*controller_families(node), *quorum_families(node), *metadata_families(node))
    return {family.name for family in every}


@pytest.mark.parametrize("role", ["controller", "broker"])
def test_every_metric_of_kafka_is_here_or_has_a_reason_why_not(role: str) -> None:
    assert of_kafka(role) - of_ours(role) - NOT_HERE.keys() - {OF_THE_BROKER} == set()


def test_no_metric_has_a_name_that_kafka_does_not_know() -> None:
    known = of_kafka("controller") | of_kafka("broker")
    assert (of_ours("controller") | of_ours("broker")) - known == ONLY_HERE


def test_whatever_is_here_needs_no_reason_why_not() -> None:
    assert (of_ours("controller") | of_ours("broker")).isdisjoint(NOT_HERE)


class NoPartitions:
    def all(self) -> list[object]:
        return []

    def offline_count(self) -> int:
        return 0


def our_replicas() -> set[str]:
    broker = given_broker(partitions=NoPartitions())
    node = given_node(broker=broker, metrics=NodeMetrics(lambda: 0))
    every = (*replica_families(node, broker), *replication_families(node.metrics.replication))
    return {family.name for family in every} - {OF_THE_BROKER}


def test_every_metric_of_replicas_is_here_or_has_a_reason_why_not() -> None:
    of_theirs = of_kafka("broker", OF_REPLICAS)
    assert of_theirs - our_replicas() == REPLICAS_NOT_HERE.keys()
    ours = {name for name in our_replicas() if not name.startswith(OF_TOPICS)}
    assert ours - of_theirs == set()
