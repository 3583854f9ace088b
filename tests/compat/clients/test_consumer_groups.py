"""librdkafka's consumer with `group.protocol=consumer` (KIP-848), alone and beside members of the classic protocol."""

from __future__ import annotations

import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Sequence

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient, NewTopic

from millstream.testing.broker import Broker
from tests.patience import LONG_ENOUGH_S

PARTITIONS = 6
pytestmark = pytest.mark.compat

FAST = {
    "group.consumer.min.heartbeat.interval.ms": "100",
    "group.consumer.heartbeat.interval.ms": "100",
    "group.consumer.min.session.timeout.ms": "3000",
    "group.consumer.session.timeout.ms": "6000",
    "group.consumer.assignment.interval.ms": "100",
    "group.initial.rebalance.delay.ms": "0",
}


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker(in_process=False, settings=FAST) as running:
        yield running


@pytest.fixture
def topic(broker: Broker) -> str:
    """Six partitions with ten records each."""
    name = f"topic-{uuid.uuid4().hex[:8]}"
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    admin.create_topics([NewTopic(name, PARTITIONS, 1)])[name].result(LONG_ENOUGH_S)
    send(broker, name, 60)
    return name


def send(broker: Broker, topic: str, count: int) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    for number in range(count):
        producer.produce(topic, str(number), partition=number % PARTITIONS)
    assert producer.flush(LONG_ENOUGH_S) == 0


class Members:
    """Consumers of one group, polled together; closed or forgotten by the end of the test."""

    def __init__(self, broker: Broker, subscription: str) -> None:
        self.broker = broker
        self.subscription = subscription
        self.group_id = f"group-{uuid.uuid4().hex[:8]}"
        self.running: list[Consumer] = []
        self.values: list[str] = []

    def add(self, protocol: str = "consumer", **settings: object) -> Consumer:
        said = {
            "bootstrap.servers": self.broker.bootstrap_servers,
            "group.id": self.group_id,
            "group.protocol": protocol,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            **settings,
        }
        if protocol == "classic":
            said |= {"session.timeout.ms": 30_000, "heartbeat.interval.ms": 100}
        consumer = Consumer(said)
        consumer.subscribe([self.subscription])
        self.running.append(consumer)
        return consumer

    def remove(self, consumer: Consumer) -> None:
        self.running.remove(consumer)
        consumer.close()

    def poll_until(self, is_done: Callable[[], bool]) -> None:
        """Everybody polls, and commits what it got."""
        deadline = time.monotonic() + LONG_ENOUGH_S
        while not is_done():
            assert time.monotonic() < deadline, (self.shares(), len(self.values))
            for consumer in self.running:
                for message in consumer.consume(100, 0.05):
                    assert message.error() is None, message.error()
                    self.values.append(message.value().decode())
                    consumer.commit(message, asynchronous=True)

    def shares(self) -> list[int]:
        return sorted(len(consumer.assignment()) for consumer in self.running)

    def settle(self, shares: Sequence[int]) -> list[int]:
        """How many partitions each has, once that is `shares`."""
        self.poll_until(lambda: self.shares() == list(shares))
        return self.shares()


@pytest.fixture
def members(broker: Broker, topic: str) -> Iterator[Members]:
    group = Members(broker, topic)
    yield group
    for consumer in list(group.running):
        group.remove(consumer)


def test_members_share_partitions_and_read_each_record_once(members: Members) -> None:
    for _ in range(3):
        members.add()
    assert members.settle([2, 2, 2]) == [2, 2, 2]
    members.poll_until(lambda: len(members.values) >= 60)
    assert sorted(members.values, key=int) == [str(number) for number in range(60)]


def test_who_leaves_gives_its_partitions_to_the_others(members: Members) -> None:
    first, _ = members.add(), members.add()
    assert members.settle([3, 3]) == [3, 3]
    members.remove(first)
    assert members.settle([6]) == [6]


def test_who_is_not_heard_of_loses_its_partitions(members: Members, broker: Broker) -> None:
    """A member that was killed: a process of its own that joins and dies."""
    program = (
        "import os, time\nfrom confluent_kafka import Consumer\n"
        f"c = Consumer({{'bootstrap.servers': '{broker.bootstrap_servers}', 'group.id': '{members.group_id}', "
        "'group.protocol': 'consumer'})\n"
        f"c.subscribe(['{members.subscription}'])\n"
        "while not c.assignment(): c.poll(0.1)\nos.kill(os.getpid(), 9)"
    )
    subprocess.run([sys.executable, "-c", program], timeout=LONG_ENOUGH_S, check=False)
    members.add()
    assert members.settle([6]) == [6]


def test_topics_are_found_by_regular_expression(members: Members, broker: Broker) -> None:
    prefix = members.subscription
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    admin.create_topics([NewTopic(f"{prefix}-more", 2, 1)])[f"{prefix}-more"].result(LONG_ENOUGH_S)
    members.subscription = f"^{prefix}.*"
    members.add()
    assert members.settle([8]) == [8]


def test_a_static_member_comes_back_to_its_partitions(members: Members) -> None:
    members.add(**{"group.instance.id": "1"})
    second = members.add(**{"group.instance.id": "2"})
    assert members.settle([3, 3]) == [3, 3]
    had = {(p.topic, p.partition) for p in second.assignment()}
    members.remove(second)
    again = members.add(**{"group.instance.id": "2"})
    assert members.settle([3, 3]) == [3, 3]
    assert {(p.topic, p.partition) for p in again.assignment()} == had


def test_members_of_both_protocols_share_one_group(members: Members) -> None:
    """The group is upgraded with the first consumer and becomes classic again with the last."""
    classic = members.add("classic")
    assert members.settle([6]) == [6]
    modern = members.add("consumer")
    assert members.settle([3, 3]) == [3, 3]
    members.add("classic")
    assert members.settle([2, 2, 2]) == [2, 2, 2]
    members.remove(modern)
    assert members.settle([3, 3]) == [3, 3]
    members.remove(classic)
    assert members.settle([6]) == [6]
    members.poll_until(lambda: len(set(members.values)) == 60)


def test_the_group_goes_on_after_a_crash_of_the_broker(members: Members, broker: Broker) -> None:
    members.add()
    members.add()
    assert members.settle([3, 3]) == [3, 3]
    members.poll_until(lambda: len(members.values) >= 60)
    for consumer in members.running:
        consumer.commit(offsets=consumer.position(consumer.assignment()), asynchronous=False)
    broker.kill()
    broker.start()
    send(broker, members.subscription, 60)
    members.poll_until(lambda: len(members.values) >= 120)
    assert members.shares() == [3, 3]
    assert len(members.values) == 120
