"""Transactions and groups through the death of their coordinators: nothing is copied twice or left out, no acknowledgement is lost."""

from __future__ import annotations

import os
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Self

import pytest

from millstream.clients.admin import AlterConfig, ConfigResource, ConfigResourceType
from millstream.clients.blocking import Admin, Consumer, Producer, ShareConsumer
from millstream.errors import MillstreamError
from millstream.model import TopicPartition
from millstream.streams import StreamsBuilder, StreamsConfig
from millstream.streams.blocking import KafkaStreams
from millstream.streams.serdes import string
from millstream.testing import Cluster
from tests.soak.cluster.copying import Copier, LibrdkafkaCopier
from tests.soak.cluster.world import (
    KILLS,
    LIMIT_S,
    create_topic,
    read_partition,
    say,
    three,
    wait_until_in_sync,
)

RECORDS = int(os.environ.get("MILLSTREAM_SOAK_CLUSTER_RECORDS", "3000"))
PARTITIONS = 6
_AT_ONCE = 60

each_number_of_replicas = pytest.mark.parametrize("replicas", [1, 3])
"""Of the topics that are read and written. With one, what is on a dead node waits for it; with three everything goes on while it is away."""

pytestmark = [pytest.mark.nodes, pytest.mark.soak, pytest.mark.timeout(LIMIT_S * (4 + 3 * KILLS))]


def fill(cluster: Cluster, topic: str, first: int, count: int) -> None:
    with Producer(bootstrap_servers=cluster.bootstrap_servers) as producer:
        for number in range(first, first + count):
            producer.send(topic, b"%d" % number, partition=number % PARTITIONS)
        producer.flush()


class Filling(threading.Thread):
    """Fills `in` slowly, so that there is something to copy at any time."""

    def __init__(self, cluster: Cluster) -> None:
        super().__init__(daemon=True)
        self.stopping = threading.Event()
        self.count = 0
        self._cluster = cluster

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        """The cluster is there until it has ended, also where the test fails."""
        self.stopping.set()
        self.join(LIMIT_S)

    def run(self) -> None:
        with Producer(bootstrap_servers=self._cluster.bootstrap_servers) as producer:
            while self.count < RECORDS or not self.stopping.is_set():
                for number in range(self.count, self.count + _AT_ONCE):
                    partition = number % PARTITIONS
                    producer.send("in", b"%d" % number, key=b"%d" % partition, partition=partition)
                self.count += _AT_ONCE
                producer.flush()
                time.sleep(0.05)


def values(cluster: Cluster, topic: str, partition: int) -> list[bytes]:
    reads = read_partition(cluster, TopicPartition(topic, partition), "read_committed")
    return [each.value for each in reads]


@each_number_of_replicas
@pytest.mark.parametrize("kind", [Copier, LibrdkafkaCopier], ids=["ours", "librdkafka"])
@pytest.mark.compat
def test_a_transactional_copy_through_kills_of_brokers_and_coordinators(
    kind: type[Copier], replicas: int
) -> None:
    with three() as cluster:
        for topic in ("in", "out"):
            create_topic(cluster, topic, PARTITIONS, replicas)
        copier = kind(cluster.bootstrap_servers, "copier")
        with Filling(cluster) as filling:
            copier.start()
            for node in list(cluster.node_ids) * KILLS:
                wait_until_more_is_copied(copier)
                cluster.kill(node)
                if replicas > 1:
                    wait_until_more_is_copied(copier)
                cluster.restart(node)
        wanted = [values(cluster, "in", number) for number in range(PARTITIONS)]
        deadline = time.monotonic() + LIMIT_S
        while sum(len(values(cluster, "out", n)) for n in range(PARTITIONS)) < filling.count:
            assert time.monotonic() < deadline, (copier.committed, copier.failures[-3:])
            time.sleep(0.5)
        copier.stopping.set()
        copier.join(LIMIT_S)
        say(
            f"{copier.committed} records in committed transactions, failures: {Counter(copier.failures)}"
        )
        assert [values(cluster, "out", number) for number in range(PARTITIONS)] == wanted


def coordinator(cluster: Cluster, group: str, kind: str) -> int:
    with Admin(bootstrap_servers=cluster.bootstrap_servers) as admin:
        describe = {
            "classic": admin.describe_classic_groups,
            "consumer": admin.describe_consumer_groups,
            "share": admin.describe_share_groups,
            "streams": admin.describe_streams_groups,
        }
        found = describe[kind]([group]).result(group).coordinator
    assert found is not None
    return found


class Member(threading.Thread):
    """Reads all that comes to `t` in a group; what it was given is counted."""

    def __init__(self, cluster: Cluster, protocol: str) -> None:
        super().__init__(daemon=True, name=protocol)
        self.stopping = threading.Event()
        self.given: Counter[bytes] = Counter()
        self.errors: list[MillstreamError] = []
        self._cluster = cluster

    def run(self) -> None:
        with self._consumer() as consumer:
            consumer.subscribe(["t"])
            while not self.stopping.is_set():
                try:
                    for record in consumer.poll(timeout_ms=200):
                        self.given[record.value or b""] += 1
                    consumer.commit()
                except MillstreamError as error:
                    self.errors.append(error)

    def _consumer(self) -> Consumer[bytes, bytes] | ShareConsumer[bytes, bytes]:
        servers = self._cluster.bootstrap_servers
        if self.name == "share":
            return ShareConsumer(bootstrap_servers=servers, group_id="share")
        return Consumer(
            bootstrap_servers=servers, group_id=self.name, group_protocol=self.name,
            auto_offset_reset="earliest", enable_auto_commit=False,
        )  # fmt: skip


@each_number_of_replicas
@pytest.mark.parametrize("kind", ["classic", "consumer", "share"])
def test_a_group_lives_through_the_death_of_its_coordinator(kind: str, replicas: int) -> None:
    with three() as cluster:
        create_topic(cluster, "t", PARTITIONS, replicas)
        if kind == "share":
            group = ConfigResource(ConfigResourceType.GROUP, "share")
            earliest = AlterConfig("share.auto.offset.reset", "earliest")
            with Admin(bootstrap_servers=cluster.bootstrap_servers) as admin:
                admin.incremental_alter_configs({group: [earliest]}).raise_errors()
        members = [Member(cluster, kind) for _ in range(2)]
        for member in members:
            member.start()
        sent = 0
        for _ in range(1 + KILLS):
            fill(cluster, "t", sent, 300)
            sent += 300
            wait_until_given(members, sent)
            node = coordinator(cluster, kind, kind)
            cluster.kill(node)
            if replicas > 1:
                fill(cluster, "t", sent, 300)
                sent += 300
                wait_until_given(members, sent)
            cluster.restart(node)
            wait_until_in_sync(cluster)
        fill(cluster, "t", sent, 300)
        sent += 300
        wait_until_given(members, sent)
        for member in members:
            member.stopping.set()
        for member in members:
            member.join(LIMIT_S)
        given = members[0].given + members[1].given
        again = sum(count - 1 for count in given.values())
        say(
            f"{kind}: {sent} records, {again} of them again; {Counter(map(repr, members[0].errors + members[1].errors))}"
        )
        assert set(given) == {b"%d" % number for number in range(sent)}
        late = Member(cluster, kind)
        late.start()
        time.sleep(5)
        late.stopping.set()
        late.join(LIMIT_S)
        assert not late.given, "what was committed or acknowledged came again"


@each_number_of_replicas
@pytest.mark.parametrize("protocol", ["streams", "classic"])
def test_an_application_lives_through_the_death_of_its_coordinator(
    protocol: str, replicas: int, tmp_path: Path
) -> None:
    """Exactly once: its group, its transactions and its topics are on the brokers that are killed."""
    with three() as cluster:
        for topic in ("in", "out"):
            create_topic(cluster, topic, PARTITIONS, replicas)
        builder = StreamsBuilder()
        builder.stream("in", key=string(), value=string()).to("out", key=string(), value=string())
        config = StreamsConfig(
            "copier", processing_guarantee="exactly_once_v2", group_protocol=protocol, state_dir=str(tmp_path),
        )  # fmt: skip
        servers = {"bootstrap.servers": cluster.bootstrap_servers}
        with KafkaStreams(builder.build(), config, servers) as application:
            with Filling(cluster) as filling:
                for _ in range(1 + KILLS):
                    wait_until_more_is_there(cluster, application)
                    node = coordinator(cluster, "copier", protocol)
                    cluster.kill(node)
                    if replicas > 1:
                        wait_until_more_is_there(cluster, application)
                    cluster.restart(node)
            deadline = time.monotonic() + LIMIT_S
            while copied(cluster) < filling.count:
                assert time.monotonic() < deadline, application.state
                time.sleep(0.2)
        say(f"{protocol}: {filling.count} records copied")
        numbers = [int(each) for n in range(PARTITIONS) for each in values(cluster, "out", n)]
        for key in range(PARTITIONS):
            of_key = [number for number in numbers if number % PARTITIONS == key]
            assert of_key == list(range(key, filling.count, PARTITIONS))


def wait_until_more_is_copied(copier: Copier) -> None:
    before, deadline = copier.committed, time.monotonic() + LIMIT_S
    while copier.committed < before + 2 * _AT_ONCE:
        assert time.monotonic() < deadline, (copier.committed, copier.failures[-3:])
        time.sleep(0.01)


def wait_until_more_is_there(cluster: Cluster, application: KafkaStreams) -> None:
    count, deadline = copied(cluster), time.monotonic() + LIMIT_S
    while copied(cluster) < count + 2 * _AT_ONCE:
        assert time.monotonic() < deadline, application.state
        time.sleep(0.1)


def copied(cluster: Cluster) -> int:
    return sum(len(values(cluster, "out", number)) for number in range(PARTITIONS))


def wait_until_given(members: list[Member], count: int) -> None:
    deadline = time.monotonic() + LIMIT_S
    while len(members[0].given + members[1].given) < count:
        assert time.monotonic() < deadline, [
            (len(each.given), each.errors[-2:]) for each in members
        ]
        time.sleep(0.05)
