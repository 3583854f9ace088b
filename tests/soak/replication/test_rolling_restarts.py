"""Every node is stopped by SIGTERM and started again, three times over, under load: clients see nothing that they would not try again."""

from __future__ import annotations

import threading
import time
from typing import Final, Self

import pytest
from confluent_kafka import Consumer as LibrdkafkaConsumer
from confluent_kafka import KafkaError

from millstream.clients.blocking import Consumer
from millstream.clients.blocking.consumer import RebalanceListener
from millstream.errors import MillstreamError, error_for
from millstream.model import TopicPartition
from millstream.protocol.api import ApiKey
from millstream.testing import Cluster, FaultProxy, History
from millstream.testing.history import Read
from tests.soak.cluster.world import LIMIT_S, Load, say, wait_until_in_sync
from tests.soak.replication.pipelines import LibrdkafkaPipeline
from tests.soak.replication.world import (
    TOPIC,
    all_in_sync,
    check_replicas_are_equal,
    replicated,
    wait_until,
)

PARTITIONS = 3
ROUNDS = 3
GAP_AT_A_STOP_S = 2.0
OF_GROUPS: Final = frozenset({(ApiKey.HEARTBEAT, 27), (ApiKey.OFFSET_COMMIT, 27)})
"""REBALANCE_IN_PROGRESS asks a member to join again; Kafka calls it not retriable, since the same request would fail again."""

pytestmark = [
    pytest.mark.nodes,
    pytest.mark.soak,
    pytest.mark.compat,
    pytest.mark.timeout(LIMIT_S * (2 + ROUNDS)),
]


class Reading(threading.Thread):
    """A member of a group of its own, which reads and commits until its `with` block ends."""

    def __init__(self, servers: str, name: str, history: History) -> None:
        super().__init__(daemon=True, name=name)
        self.errors: list[str] = []
        self.count = 0
        self.stopping = threading.Event()
        self.servers = servers
        self.has_moved = False
        self._history = history

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stopping.set()
        self.join(LIMIT_S)
        assert not self.is_alive(), f"{self.name} does not end"

    def note(self, reads: list[Read]) -> None:
        self._history.poll(self.name, reads, moved=self.has_moved)
        self.has_moved = False
        self.count += len(reads)


class OurReading(Reading):
    def run(self) -> None:
        with Consumer(
            bootstrap_servers=self.servers, group_id=self.name, auto_offset_reset="earliest"
        ) as consumer:
            consumer.subscribe([TOPIC], listener=_Moves(self))
            while not self.stopping.is_set():
                try:
                    records = consumer.poll(timeout_ms=200)
                except MillstreamError as error:
                    self.errors.append(repr(error))
                    continue
                self.note([Read(TopicPartition(r.topic, r.partition), r.offset, r.value or b"") for r in records])  # fmt: skip


class _Moves(RebalanceListener):
    def __init__(self, reading: Reading) -> None:
        self._reading = reading

    def on_partitions_assigned(self, partitions: set[TopicPartition]) -> None:
        self._reading.has_moved = True


class LibrdkafkaReading(Reading):
    def run(self) -> None:
        consumer = LibrdkafkaConsumer(
            {
                "bootstrap.servers": self.servers, "group.id": self.name, "log_level": 0,
                "auto.offset.reset": "earliest", "error_cb": self._hear, "reconnect.backoff.max.ms": 500,
            }
        )  # fmt: skip
        consumer.subscribe([TOPIC], on_assign=self._move)
        while not self.stopping.is_set():
            message = consumer.poll(0.2)
            if message is None:
                continue
            if (error := message.error()) is not None:
                self.errors.append(str(error))
                continue
            partition = TopicPartition(TOPIC, message.partition() or 0)
            self.note([Read(partition, message.offset() or 0, message.value() or b"")])
        consumer.close()

    def _move(self, *_: object) -> None:
        self.has_moved = True

    def _hear(self, error: KafkaError) -> None:
        if error.fatal():
            self.errors.append(str(error))


def test_each_node_restarts_three_times_and_clients_only_try_again() -> None:
    with replicated(PARTITIONS) as cluster:
        with FaultProxy(cluster.bootstrap_servers, counts_refusals=True) as proxy:
            servers = proxy.bootstrap_servers
            with (
                Load(cluster, TOPIC, PARTITIONS, servers) as load,
                LibrdkafkaPipeline(
                    servers, "librdkafka", TOPIC, PARTITIONS, load.history
                ) as sending,
                OurReading(servers, "our reader", load.history) as ours,
                LibrdkafkaReading(servers, "its reader", load.history) as others,
            ):
                load.goes_on(set(load.of))
                sending.goes_on()
                _wait_for(ours, others)
                proxy.refusals.clear()
                gaps = _rolled(cluster, load)
                sending.goes_on()
                _wait_for(ours, others)
            refusals = [
                (key, error_for(code), count)
                for (key, code), count in proxy.refusals.items()
                if (key, code) not in OF_GROUPS
            ]
        assert sending.errors + ours.errors + others.errors == []
        load.check()
        check_replicas_are_equal(cluster, PARTITIONS)
        told = {f"{key.name} {type(error).__name__}": count for key, error, count in refusals}
        say(f"gaps {[round(gap, 2) for gap in gaps]} s; {told}")
        assert [str(error) for _, error, _ in refusals if not error.retriable] == []
        assert max(gaps) < GAP_AT_A_STOP_S


def _rolled(cluster: Cluster, load: Load) -> list[float]:
    """Returns for each stop how long the slowest record took, from before the stop until all replicas are in sync again."""
    gaps = []
    for _ in range(ROUNDS):
        for node in cluster.node_ids:
            for each in load.of.values():
                each.take_slowest_s()
            cluster.stop(node)
            load.goes_on(set(load.of))
            cluster.restart(node)
            wait_until_in_sync(cluster)
            wait_until(cluster, TOPIC, all_in_sync)
            load.goes_on(set(load.of))
            gaps.append(max(each.take_slowest_s() for each in load.of.values()))
    return gaps


def _wait_for(*readings: Reading) -> None:
    """Returns when each has read more."""
    before = [each.count for each in readings]
    deadline = time.monotonic() + LIMIT_S
    while not all(each.count > count for each, count in zip(readings, before, strict=True)):
        assert time.monotonic() < deadline, [
            (each.name, each.count, each.errors) for each in readings
        ]
        time.sleep(0.1)
