"""A cluster of three combined nodes as processes with Kafka's time-outs, load on all its partitions, and what its logs tell of elections."""

from __future__ import annotations

import os
import re
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import Final, Literal, NamedTuple, Self

from millstream.clients import NewTopic
from millstream.clients.blocking import Admin, Consumer, Producer
from millstream.errors import MillstreamError
from millstream.model import TopicPartition
from millstream.testing import Cluster, History
from millstream.testing.history import Read
from millstream.testing.history_check import illegal

KILLS: Final = int(os.environ.get("MILLSTREAM_SOAK_CLUSTER_KILLS", "1"))
"""Of each kind. The issue's own figures are 20 of controllers and 10 of each broker."""
LIMIT_S: Final = 120
PAUSE_S: Final = 0.005
DEFAULTS: Final[Mapping[str, str]] = {
    "broker.session.timeout.ms": "9000",
    "broker.heartbeat.interval.ms": "2000",
    "millstream.flush.on.ack": "auto",
}
_FAULT: Final = re.compile(r"^Traceback.*|^.* (?:ERROR|CRITICAL) .*", re.MULTILINE)
_ELECTION: Final = re.compile(
    r"^(\S+) INFO \[node (\d+)\] .*metadata quorum: (?:node \d+ is )?(\w+) in epoch (\d+), leader (-?\d+): (.*)$",
    re.MULTILINE,
)


def say(what: str) -> None:
    """Tells a figure to whoever runs the tests with `-s`."""
    sys.stdout.write(f"{what}\n")


@contextmanager
def three(
    node_settings: Mapping[int, Mapping[str, str]] | None = None,
    roles: Literal["combined", "separate"] = "combined",
    **settings: str,
) -> Iterator[Cluster]:
    """`settings`: of all nodes, with underscores for the dots of their names; `node_settings`: of single ones, as `Cluster` takes them."""
    given = {key.replace("_", "."): value for key, value in settings.items()}
    with Cluster(
        roles=roles,
        in_process=False,
        settings={**DEFAULTS, **given},
        node_settings=node_settings,
        start_timeout_s=LIMIT_S,
    ) as made:
        yield made
        for node in made.node_ids:
            found = _FAULT.findall(made.log(node).read_text())
            assert not found, f"node {node}: {found}"


def create_topic(cluster: Cluster, name: str, partitions: int, replicas: int = 1) -> dict[int, int]:
    """Returns which broker leads each partition. All replicas but one must have a write."""
    configs: dict[str, str | None] = {"min.insync.replicas": str(max(1, replicas - 1))}
    with Admin(bootstrap_servers=cluster.bootstrap_servers) as admin:
        admin.create_topics([NewTopic(name, partitions, replicas, configs)]).raise_errors()
        while True:
            described = admin.describe_topics([name])
            if name not in described.errors():
                return {each.partition: each.leader for each in described.result(name).partitions}


class PartitionLoad(threading.Thread):
    """One record after the other to one partition, each acknowledged before the next, until it is told to stop."""

    def __init__(self, bootstrap: str, partition: TopicPartition, history: History) -> None:
        super().__init__(daemon=True)
        self.partition = partition
        self.slowest_s = 0.0
        self.acknowledged = 0
        self.errors: list[Exception] = []
        self.stopping = threading.Event()
        self._servers = bootstrap
        self._history = history

    def run(self) -> None:
        topic, number = self.partition
        with Producer(bootstrap_servers=self._servers) as producer:
            sent = 0
            while not self.stopping.is_set():
                value = b"%d" % sent
                send = self._history.send(str(self.partition), self.partition, value)
                before = time.monotonic()
                try:
                    send.acknowledge(producer.send(topic, value, partition=number).result().offset)
                except MillstreamError as error:
                    self.errors.append(error)
                else:
                    self.acknowledged += 1
                self.slowest_s = max(self.slowest_s, time.monotonic() - before)
                sent += 1
                time.sleep(PAUSE_S)

    def take_slowest_s(self) -> float:
        slowest_s, self.slowest_s = self.slowest_s, 0.0
        return slowest_s


class Load:
    """A `PartitionLoad` for each partition of a topic, and what became of all records at the end."""

    def __init__(
        self, cluster: Cluster, topic: str, partitions: int, bootstrap_servers: str = ""
    ) -> None:
        """`bootstrap_servers`: those of the cluster, or of what stands before it."""
        self._cluster = cluster
        self.history = History()
        servers = bootstrap_servers or cluster.bootstrap_servers
        self.of = {
            number: PartitionLoad(servers, TopicPartition(topic, number), self.history)
            for number in range(partitions)
        }

    def __enter__(self) -> Self:
        for load in self.of.values():
            load.start()
        return self

    def __exit__(self, *_: object) -> None:
        for load in self.of.values():
            load.stopping.set()
        for load in self.of.values():
            load.join(LIMIT_S)

    @property
    def acknowledged(self) -> int:
        return sum(load.acknowledged for load in self.of.values())

    def goes_on(self, partitions: set[int], at_least: int = 5) -> None:
        """Returns when each of these partitions has taken more records."""
        before = {number: self.of[number].acknowledged for number in partitions}
        deadline = time.monotonic() + LIMIT_S
        while any(self.of[n].acknowledged - before[n] < at_least for n in partitions):
            assert time.monotonic() < deadline, "the load stands still"
            time.sleep(0.02)

    def check(self) -> None:
        """All that was acknowledged is there, once and in order; nobody was told of an error."""
        errors = [error for load in self.of.values() for error in load.errors]
        assert not errors, f"{len(errors)} errors: {errors[:10]}"
        check_history(self._cluster, self.history, [load.partition for load in self.of.values()])


def check_history(cluster: Cluster, history: History, partitions: Iterable[TopicPartition]) -> None:
    """Reads the partitions from their beginning to their end beside what clients have read already, and checks all of it."""
    for partition in partitions:
        history.poll(f"reader of {partition}", read_partition(cluster, partition))
    history.is_complete = True
    found = illegal(history)
    assert not found, f"{len(found)} anomalies: {found[:10]}"


def read_partition(
    cluster: Cluster, partition: TopicPartition, isolation: str = "read_uncommitted"
) -> list[Read]:
    """Returns a partition from its beginning to its end."""
    found: list[Read] = []
    with Consumer(
        bootstrap_servers=cluster.bootstrap_servers,
        isolation_level=isolation,
        auto_offset_reset="earliest",
    ) as consumer:
        consumer.assign([partition])
        end = consumer.end_offsets([partition])[partition]
        consumer.seek_to_beginning(partition)
        while consumer.position(partition) < end:
            found += [
                Read(partition, record.offset, record.value or b"")
                for record in consumer.poll(timeout_ms=500)
            ]
    return found


class RoleChange(NamedTuple):
    at_s: float
    node: int
    role: str
    epoch: int
    leader: int
    why: str


def elections(cluster: Cluster) -> list[RoleChange]:
    """Returns what the nodes logged of elections, in the order of their clocks, which are one."""
    changes = [
        RoleChange(
            datetime.fromisoformat(found[1]).timestamp(), int(found[2]), found[3], int(found[4]), int(found[5]), found[6],
        )
        for node in cluster.controllers
        for found in _ELECTION.finditer(cluster.log(node).read_text())
    ]  # fmt: skip
    return sorted(changes)


def epoch_of(cluster: Cluster) -> int:
    """Returns the epoch of the quorum, as its leader tells it."""
    with Admin(bootstrap_servers=cluster.bootstrap_servers) as admin:
        return admin.describe_metadata_quorum().leader_epoch


def another_leads(cluster: Cluster, before: int) -> int:
    while (leader := cluster.active_controller()) == before:
        pass
    return leader


def wait_until_in_sync(cluster: Cluster) -> None:
    """Until every voter has what the leader has, and all brokers are unfenced."""
    deadline = time.monotonic() + LIMIT_S
    with Admin(bootstrap_servers=cluster.bootstrap_servers) as admin:
        while True:
            quorum = admin.describe_metadata_quorum()
            behind = [each for each in quorum.voters if each.log_end_offset < quorum.high_watermark]
            if not behind and len(admin.describe_cluster().nodes) == len(cluster.brokers):
                return
            assert time.monotonic() < deadline, f"{quorum}"
            time.sleep(0.05)
