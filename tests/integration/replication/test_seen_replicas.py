"""What a leader says of its replicas, in /metrics, /readyz, /healthz and its log, while a follower goes and comes back (K8.04, K8.11, K8.13)."""

from __future__ import annotations

import json
import logging
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from millstream.cli.cluster.directory import free_ports
from millstream.cli.cluster.layout import NodeLayout
from millstream.clients import NewTopic
from millstream.clients.admin import AlterConfig, ConfigResource, ConfigResourceType
from millstream.clients.blocking import Admin, Producer
from millstream.model import TopicPartition
from millstream.testing import Cluster
from tests.patience import LONG_ENOUGH_S, wait_until

LAG_MAX_MS = 1_500
BATCH_BYTES = 10_000
MANY, FEW = 300, 20
HEALTHY = {
    "underreplicatedpartitions": 0,
    "underminisrpartitioncount": 0,
    "atminisrpartitioncount": 0,
    "reassigningpartitions": 0,
    "offlinereplicacount": 0,
}


class WatchedCluster(Cluster):
    """Each node serves metrics and health."""

    def _node_settings(self, node: NodeLayout) -> dict[str, str]:
        return super()._node_settings(node) | {"millstream.http.listener": self.page(node.id)}

    def page(self, node: int) -> str:
        if not hasattr(self, "_pages"):
            self._pages = dict(zip(self.node_ids, free_ports(len(self.node_ids)), strict=True))
        return f"http://127.0.0.1:{self._pages[node]}"

    def read(self, node: int, path: str) -> tuple[int, str]:
        try:
            with urllib.request.urlopen(
                f"{self.page(node)}{path}", timeout=LONG_ENOUGH_S
            ) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as refused:
            return refused.code, refused.read().decode()

    def metrics(self, node: int, prefix: str = "kafka_server_replicamanager_") -> dict[str, int]:
        """Returns those without labels, by what follows the prefix."""
        lines = self.read(node, "/metrics")[1].splitlines()
        pairs = [line.split() for line in lines if line.startswith(prefix) and "{" not in line]
        return {name.removeprefix(prefix): int(float(value)) for name, value in pairs}

    def says(self, node: int, **values: int) -> bool:
        """Whether the gauges are these, and as in a healthy cluster where nothing is said."""
        found = self.metrics(node)
        return {name: found[name] for name in HEALTHY | values} == HEALTHY | values


def max_lag(cluster: WatchedCluster, node: int) -> int:
    return cluster.metrics(node, "kafka_server_replicafetchermanager_")["maxlag"]


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[WatchedCluster]:
    settings = {
        "replica.lag.time.max.ms": str(LAG_MAX_MS),
        "num.replica.fetchers": "2",
        "replica.fetch.max.bytes": str(BATCH_BYTES),
        "replica.fetch.response.max.bytes": str(BATCH_BYTES),
    }
    with WatchedCluster(data=tmp_path / "c", settings=settings) as cluster:
        yield cluster


def test_the_gauges_of_a_leader_follow_its_replicas(
    cluster: WatchedCluster, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "millstream.broker.replication")
    controller = cluster.active_controller()
    leader, follower = (node for node in cluster.node_ids if node != controller)
    with (
        Admin(bootstrap_servers=cluster.address(controller)) as admin,
        Producer(bootstrap_servers=cluster.address(controller)) as producer,
    ):  # fmt: skip
        of_all = NewTopic("t", assignments=[[leader, follower, controller]] * 2, configs={"min.insync.replicas": "2"})  # fmt: skip
        of_one = NewTopic("one", assignments=[[leader]], configs={"min.insync.replicas": "1"})
        admin.create_topics([of_all, of_one]).raise_errors()
        at_min = {"atminisrpartitioncount": 1}  # one replica of one: always
        wait_until(lambda: cluster.says(leader, leadercount=3, **at_min))
        for number in range(2):
            producer.send("t", b"v", partition=number).result()
        shrunk, grown = (cluster.metrics(leader)[f"isr{name}_total"] for name in ("shrinks", "expands"))  # fmt: skip
        # Two fetchers of each follower share the partitions of their leader.
        begun = sorted(each for each in caplog.messages if each.endswith("begins"))
        assert begun == [f"fetcher {number} of broker {leader} begins" for number in (0, 0, 1, 1)]

        # A follower reaches its leader no more.
        cluster.cut(leader, follower)
        for number in range(2):
            producer.send("t", b"w", partition=number).result()  # not before it has left
        wait_until(lambda: cluster.says(leader, underreplicatedpartitions=2, atminisrpartitioncount=3))  # fmt: skip
        assert cluster.metrics(leader)["isrshrinks_total"] >= shrunk + 2
        health = json.loads(cluster.read(leader, "/healthz")[1])
        assert (health["under_replicated_partitions"], health["under_min_isr_partitions"]) == (2, 0)
        assert cluster.read(leader, "/readyz")[0] == 200, "it serves its clients"
        told = [each for each in caplog.messages if each.startswith("the ISR of t-0 shrinks")]
        expected = f"from {leader},{follower},{controller} to {leader},{controller}: broker {follower} is stuck, it has not fetched for "
        assert expected in told[-1]

        # A replica that is to move there does not get on.
        admin.alter_partition_reassignments({TopicPartition("one", 0): [leader, follower]}).raise_errors()  # fmt: skip
        wait_until(lambda: cluster.metrics(leader)["reassigningpartitions"] == 1)

        # Two in sync are too few from now on: acks=all is refused.
        topic = ConfigResource(ConfigResourceType.TOPIC, "t")
        admin.incremental_alter_configs({topic: [AlterConfig("min.insync.replicas", "3")]}).raise_errors()  # fmt: skip
        wait_until(lambda: cluster.metrics(leader)["underminisrpartitioncount"] == 2)
        health = json.loads(cluster.read(leader, "/healthz")[1])
        assert health["under_min_isr_partitions"] == 2

        cluster.heal()
        wait_until(
            lambda: cluster.says(leader, atminisrpartitioncount=2)
        )  # three of three; two of one
        assert cluster.metrics(leader)["isrexpands_total"] >= grown + 2
        assert any(
            each.startswith("the ISR of t-0 grows from ") and f"broker {follower} is back in sync" in each
            for each in caplog.messages
        )  # fmt: skip


@pytest.mark.nodes
def test_many_changes_of_isrs_are_a_few_requests(cluster: WatchedCluster) -> None:
    """K8.10: of MANY partitions a follower falls out at once, and comes back."""
    controller = cluster.active_controller()
    leader, follower = (node for node in cluster.node_ids if node != controller)
    with (
        Admin(bootstrap_servers=cluster.address(controller)) as admin,
        Producer(
            bootstrap_servers=cluster.address(controller), acks="1", enable_idempotence=False
        ) as producer,
    ):
        many = NewTopic("many", assignments=[[leader, follower, controller]] * MANY)
        admin.create_topics([many]).raise_errors()
        wait_until(lambda: cluster.says(leader, leadercount=MANY, atminisrpartitioncount=0))
        before = alterations(cluster, controller)
        cluster.cut(leader, follower)
        for number in range(MANY):
            producer.send("many", b"v", partition=number)
        producer.flush()
        wait_until(lambda: cluster.metrics(leader)["underreplicatedpartitions"] == MANY)
        fallen_out = alterations(cluster, controller)
        cluster.heal()
        wait_until(lambda: cluster.metrics(leader)["underreplicatedpartitions"] == 0)
        back = alterations(cluster, controller)
    assert 1 <= fallen_out - before <= FEW
    assert 1 <= back - fallen_out <= FEW


def alterations(cluster: WatchedCluster, controller: int) -> int:
    """Returns how many AlterPartition requests the controller has answered."""
    lines = cluster.read(controller, "/metrics")[1].splitlines()
    counted = [line for line in lines if line.startswith("kafka_network_requestmetrics_requests_total{") and 'request="AlterPartition"' in line]  # fmt: skip
    return sum(int(float(line.split()[-1])) for line in counted)
