"""Followers that fall behind, come back or are lost: the in-sync set tells it, and acks=all asks for enough of them."""

from __future__ import annotations

import re
import threading
import time
from typing import Final, Self

import pytest

from millstream.clients.blocking import Consumer, Producer
from millstream.errors import MillstreamError
from millstream.model import TopicPartition
from millstream.testing import Cluster
from tests.soak.cluster.world import LIMIT_S, Load, say, wait_until_in_sync
from tests.soak.replication.metrics import NodeMetrics
from tests.soak.replication.world import (
    LAG_S,
    SESSION_S,
    TOPIC,
    all_in_sync,
    create_replicated,
    leader_of,
    replicated,
    wait_until,
)

ALTER_PARTITIONS_A_SECOND_MAX: Final = 10
"""Of all brokers together: each asks once, waits for the answer, and asks for all that has come up meanwhile."""

pytestmark = [pytest.mark.nodes, pytest.mark.soak, pytest.mark.timeout(LIMIT_S * 5)]


def _follower(cluster: Cluster) -> int:
    """A follower that is not the active controller: the quorum is left alone."""
    kept = {leader_of(cluster), cluster.active_controller()}
    return next(node for node in cluster.node_ids if node not in kept)


def test_a_follower_that_fetches_no_more_leaves_and_comes_back() -> None:
    with replicated(1) as cluster, Load(cluster, TOPIC, 1) as load:
        load.goes_on({0})
        follower = _follower(cluster)
        cluster.pause(follower)
        left_s = wait_until(
            cluster, TOPIC, lambda found: bool(found) and follower not in found[0].isr
        )
        cluster.resume(follower)
        back_s = wait_until(cluster, TOPIC, all_in_sync)
        say(f"out after {left_s:.1f} s, back after {back_s:.1f} s")
        assert left_s < 1.5 * LAG_S
        assert back_s < 10


def test_too_few_replicas_take_no_more_records_and_the_mark_stands_still() -> None:
    with replicated(1) as cluster:
        create_replicated(cluster, "strict", 1, min_insync_replicas=3)
        partition = TopicPartition("strict", 0)
        follower = next(n for n in cluster.node_ids if n != leader_of(cluster, name="strict"))
        servers = ",".join(cluster.address(node) for node in cluster.node_ids if node != follower)
        with (
            Producer(
                bootstrap_servers=servers, delivery_timeout_ms=5_000, request_timeout_ms=4_000
            ) as careful,
            Producer(bootstrap_servers=servers, acks=1, enable_idempotence=False) as careless,
            Consumer(bootstrap_servers=servers) as consumer,
        ):
            careful.send("strict", b"before", partition=0).result()
            cluster.kill(follower)
            wait_until(cluster, "strict", lambda found: bool(found) and len(found[0].isr) == 2)
            with pytest.raises(MillstreamError, match="in-sync"):
                careful.send("strict", b"refused", partition=0).result()
            careless.send("strict", b"one", partition=0).result()
            time.sleep(2)
            assert consumer.end_offsets([partition]) == {partition: 1}
            cluster.restart(follower)
            wait_until(cluster, "strict", all_in_sync)
            careful.send("strict", b"after", partition=0).result()
            assert consumer.end_offsets([partition]) == {partition: 3}


def test_two_clean_stops_and_a_kill_lose_nothing() -> None:
    """KIP-966: the last in-sync replicas stay eligible, also when the set has become smaller than it must be."""
    with replicated(1) as cluster:
        with Load(cluster, TOPIC, 1) as load:
            load.goes_on({0})
        leader = leader_of(cluster)
        others = [node for node in cluster.node_ids if node != leader]
        cluster.stop(others[0])
        cluster.stop(others[1])
        cluster.kill(leader)
        cluster.begin(*others)
        time.sleep(1)
        cluster.start()
        wait_until_in_sync(cluster)
        wait_until(cluster, TOPIC, all_in_sync)
        load.check()


def test_a_thousand_partitions_of_a_dead_broker_are_led_again_soon() -> None:
    """Leaders ask the controller in batches, and nobody else is taken for dead while it answers them."""
    metrics = NodeMetrics(1, 2, 3, 101, 102, 103)
    with replicated(1, metrics.settings, "separate") as cluster:
        create_replicated(cluster, "many", 1_000)
        dead = leader_of(cluster, name="many")
        with _AlterPartitions(cluster, metrics) as asked:
            cluster.kill(dead)
            seconds = wait_until(
                cluster,
                "many",
                lambda found: (
                    len(found) == 1_000 and all(each.leader not in (dead, -1) for each in found)
                ),
            )
            with Producer(bootstrap_servers=cluster.bootstrap_servers) as producer:
                for number in range(1_000):
                    producer.send("many", b"to be fetched", partition=number)
            cluster.restart(dead)
            wait_until(cluster, "many", all_in_sync)
        say(
            f"1,000 partitions led after {seconds:.1f} s; {asked.count:.0f} AlterPartition requests, "
            f"{asked.most_a_second:.0f} in a second at most"
        )
        assert seconds < SESSION_S + 3
        assert 0 < asked.most_a_second <= ALTER_PARTITIONS_A_SECOND_MAX
        assert fenced(cluster) == {dead}
        with Consumer(bootstrap_servers=cluster.bootstrap_servers) as consumer:
            ends = consumer.end_offsets([TopicPartition("many", number) for number in range(1_000)])
        assert set(ends.values()) == {1}


class _AlterPartitions(threading.Thread):
    """Counts AlterPartition requests that the active controller answers, for each second, until its `with` block ends.

    Its node is no broker: brokers on the same node would ask without a request.
    """

    def __init__(self, cluster: Cluster, metrics: NodeMetrics) -> None:
        super().__init__(daemon=True)
        self._controller = cluster.active_controller()
        self._metrics = metrics
        self._ending = threading.Event()
        self._at: list[tuple[float, float]] = []
        self._errors: list[OSError] = []

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ending.set()
        self.join(LIMIT_S)
        assert not self._errors, f"not counted all the while: {self._errors}"

    def run(self) -> None:
        name = "kafka_network_requestmetrics_requests_total"
        while not self._ending.wait(0.05):  # so often that a burst is seen wherever a second begins
            try:
                count = self._metrics.of(self._controller, name, {"request": "AlterPartition"})
            except OSError as error:
                self._errors.append(error)
            else:
                self._at.append((time.monotonic(), count))

    @property
    def count(self) -> float:
        return self._at[-1][1] - self._at[0][1]

    @property
    def most_a_second(self) -> float:
        """The most that were answered between two looks which are a second apart at most."""
        return max(
            later - earlier
            for number, (at, earlier) in enumerate(self._at)
            for then, later in self._at[number:]
            if then - at <= 1
        )


def fenced(cluster: Cluster) -> set[int]:
    """Returns the brokers that a controller has fenced since the cluster was started."""
    logs = "\n".join(cluster.log(node).read_text() for node in cluster.controllers)
    return {int(node) for node in re.findall(r"broker (\d+) of epoch \d+ is fenced", logs)}
