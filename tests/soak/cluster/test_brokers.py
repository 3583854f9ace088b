"""Brokers that are killed, stopped and paused under load: what was acknowledged is there once, and the others notice nothing."""

from __future__ import annotations

import threading
import time

import pytest

from millstream.clients.blocking import Admin, Consumer
from millstream.errors import MillstreamError
from millstream.model import TopicPartition
from millstream.testing import Cluster
from tests.soak.cluster.world import (
    KILLS,
    LIMIT_S,
    Load,
    create_topic,
    say,
    three,
    wait_until_in_sync,
)

PARTITIONS = 6
SESSION_S = 9.0

pytestmark = [pytest.mark.nodes, pytest.mark.soak, pytest.mark.timeout(LIMIT_S * (2 + 3 * KILLS))]


class Committer(threading.Thread):
    """A member of a group that commits what it read; its committed offsets must not go back."""

    def __init__(self, cluster: Cluster, group: str, protocol: str) -> None:
        super().__init__(daemon=True)
        self.group = group
        self.stopping = threading.Event()
        self.seen = 0
        self.went_back: list[str] = []
        self.errors: list[MillstreamError] = []
        self._cluster = cluster
        self._protocol = protocol

    def run(self) -> None:
        highest: dict[TopicPartition, int] = {}
        with Consumer(
            bootstrap_servers=self._cluster.bootstrap_servers,
            group_id=self.group,
            group_protocol=self._protocol,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
        ) as consumer:
            consumer.subscribe(["t"])
            while not self.stopping.is_set():
                try:
                    self.seen += len(consumer.poll(timeout_ms=200))
                    consumer.commit()
                    committed = consumer.committed(consumer.assignment())
                except MillstreamError as error:
                    self.errors.append(error)  # a commit between two generations of the group fails
                    continue
                for partition, at in committed.items():
                    if at is None:
                        continue
                    if at.offset < highest.get(partition, 0):
                        self.went_back.append(f"{partition} {highest[partition]} -> {at.offset}")
                    highest[partition] = max(at.offset, highest.get(partition, 0))


@pytest.mark.parametrize("how", ["kill", "stop"])
def test_every_broker_in_turn_goes_and_comes_back(how: str) -> None:
    with three() as cluster:
        leaders = create_topic(cluster, "t", PARTITIONS)
        committers = [Committer(cluster, kind, kind) for kind in ("classic", "consumer")]
        for committer in committers:
            committer.start()
        with Load(cluster, "t", PARTITIONS) as load:
            load.goes_on(set(leaders))
            for node in list(cluster.node_ids) * KILLS:
                others = {number for number, at in leaders.items() if at != node}
                getattr(cluster, how)(node)
                load.goes_on(others)
                cluster.restart(node)
                load.goes_on(set(leaders))
                wait_until_in_sync(cluster)
            slowest = max(each.slowest_s for each in load.of.values())
        load.check()
        for committer in committers:
            committer.stopping.set()
        for committer in committers:
            committer.join(LIMIT_S)
            say(f"{committer.group}: {committer.seen} records read, errors {committer.errors[:3]}")
            assert committer.went_back == []
        say(f"{how}: {3 * KILLS} times, {load.acknowledged} records, slowest {slowest:.1f} s")


def test_a_paused_broker_is_fenced_and_its_late_answers_harm_nobody() -> None:
    with three() as cluster:
        leaders = create_topic(cluster, "t", PARTITIONS)
        leader = cluster.active_controller()
        with Load(cluster, "t", PARTITIONS) as load:
            for node in (next(n for n in cluster.node_ids if n != leader), leader):
                load.goes_on(set(leaders))
                cluster.pause(node)
                paused_s = time.monotonic()
                others = [cluster.address(n) for n in cluster.node_ids if n != node]
                with Admin(bootstrap_servers=",".join(others)) as admin:
                    while node in {each.node_id for each in admin.describe_cluster().nodes}:
                        assert time.monotonic() - paused_s < LIMIT_S, "it is not fenced"
                        time.sleep(0.1)
                say(f"node {node} fenced {time.monotonic() - paused_s:.1f} s after its pause")
                load.goes_on({number for number, at in leaders.items() if at != node})
                cluster.resume(node)
                wait_until_in_sync(cluster)
        load.check()
