"""What users of `millstream.testing.Cluster` get: nodes that can be killed, paused, cut off and restarted."""

from __future__ import annotations

from pathlib import Path

import pytest

from millstream.clients import NewTopic
from millstream.clients.blocking import Admin, Producer
from millstream.errors import ConfigError
from millstream.testing import Cluster, NodeStateError

WAYS = pytest.mark.parametrize(
    "in_process",
    [
        pytest.param(True, id="threads"),
        pytest.param(False, id="processes", marks=pytest.mark.nodes),
    ],
)


def another_leads(cluster: Cluster, before: int) -> int:
    while (leader := cluster.active_controller()) == before:
        pass
    return leader


def creates(cluster: Cluster, topic: str, cut_off: int | None = None) -> None:
    """Asks nodes that reach the controller: one that is cut off keeps what it is to forward for a minute, and a client waits for it."""
    asked = [cluster.address(node) for node in cluster.brokers if node != cut_off]
    with Admin(bootstrap_servers=",".join(asked)) as admin:
        while cut_off in {node.node_id for node in admin.describe_cluster().nodes}:
            pass  # until its session is over
        admin.create_topics([NewTopic(topic, 3)]).raise_errors()


@WAYS
def test_a_controller_is_killed_paused_and_cut_off_and_another_one_leads(in_process: bool) -> None:
    with Cluster(in_process=in_process) as cluster:
        assert (cluster.node_ids, cluster.brokers, cluster.controllers) == ((1, 2, 3),) * 3
        first = cluster.active_controller()
        cluster.kill(first)
        assert not cluster.is_running(first)
        second = another_leads(cluster, first)
        creates(cluster, "one")
        cluster.restart(first)
        cluster.pause(second)
        assert cluster.is_running(second)
        third = another_leads(cluster, second)
        cluster.resume(second)
        cluster.partition(third)
        another_leads(cluster, third)
        creates(cluster, "two", cut_off=third)
        cluster.heal()
        with Admin(bootstrap_servers=cluster.address(third)) as admin:
            while sorted(admin.list_topics()) != ["one", "two"]:
                pass  # it hears of them soon


def test_controllers_apart_and_a_broker_that_comes_back() -> None:
    with Cluster(1, roles="separate") as cluster:
        assert (cluster.brokers, cluster.controllers) == ((1,), (101,))
        creates(cluster, "t")
        with Producer(bootstrap_servers=cluster.bootstrap_servers) as producer:
            producer.send("t", b"1", partition=0).result()
            cluster.kill(1)
            cluster.restart(1)
            assert producer.send("t", b"2", partition=0).result().offset == 1


@pytest.mark.nodes
def test_a_node_that_was_begun_is_waited_for_by_start() -> None:
    with Cluster(1, in_process=False) as cluster:
        cluster.stop(1)
        cluster.begin(1)
        cluster.start()
        with Admin(bootstrap_servers=cluster.bootstrap_servers, bootstrap_wait_ms=0) as admin:
            assert len(admin.describe_cluster().nodes) == 1


def test_data_stays_where_it_was_given(tmp_path: Path) -> None:
    with Cluster(data=tmp_path) as cluster:
        creates(cluster, "t")
        cluster_id = cluster.cluster_id
    with Cluster(data=tmp_path) as again:
        assert again.cluster_id == cluster_id
        with Admin(bootstrap_servers=again.bootstrap_servers) as admin:
            assert list(admin.list_topics()) == ["t"]


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> Cluster:
    return Cluster(data=tmp_path_factory.mktemp("c"))


def test_what_cannot_be_done_is_told(stopped: Cluster) -> None:
    with pytest.raises(NodeStateError, match="node 2 is down"):
        stopped.pause(2)
    with pytest.raises(NodeStateError, match="there is no node 7: nodes are 1, 2, 3"):
        stopped.kill(7)
    with pytest.raises(NodeStateError, match="name nodes"):
        stopped.kill()
    with pytest.raises(NodeStateError, match="was not started"):
        stopped.partition(1)


def test_settings_that_the_cluster_makes_are_refused() -> None:
    with pytest.raises(ConfigError, match="log"):
        Cluster(settings={"log.dirs": "/tmp/x"})
    with pytest.raises(ConfigError, match="log"):
        Cluster(node_settings={1: {"log.dirs": "/tmp/x"}})


def test_settings_of_a_node_that_is_not_there_are_refused(tmp_path: Path) -> None:
    with pytest.raises(NodeStateError, match="no node 4"):
        Cluster(data=tmp_path, node_settings={4: {"broker.rack": "a"}})
