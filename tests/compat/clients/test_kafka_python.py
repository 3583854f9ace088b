"""kafka-python 3 (pure Python)."""

from __future__ import annotations

import importlib.util
import time
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, closing

import pytest

with warnings.catch_warnings():
    warnings.simplefilter(
        "ignore", DeprecationWarning
    )  # its loader of schemas uses what Python deprecates
    from kafka import KafkaConsumer, KafkaProducer, TopicPartition
    from kafka.admin import KafkaAdminClient, NewTopic

from millstream.testing.broker import Broker
from tests.patience import LONG_ENOUGH_S, wait_until
from tests.support.clients.assignments import is_disjoint

RECORDS = 10_000
pytestmark = [
    pytest.mark.compat,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]


@pytest.fixture
def members(broker: Broker) -> Iterator[ExitStack]:
    """Closes consumers before their broker ends: what is left of one asks for it until the process ends."""
    with ExitStack() as opened:
        yield opened


def send(
    broker: Broker, topic: str, values: list[str], partition: int = 0, codec: str | None = None
) -> None:
    producer = KafkaProducer(
        bootstrap_servers=broker.bootstrap_servers, compression_type=codec, linger_ms=5
    )
    futures = [
        producer.send(topic, value.encode(), b"key of " + value.encode(), partition=partition)
        for value in values
    ]
    producer.flush(LONG_ENOUGH_S)
    assert futures[-1].get(LONG_ENOUGH_S).offset >= len(values) - 1
    producer.close()


def consumer(broker: Broker, group: str | None = None) -> KafkaConsumer:
    return KafkaConsumer(
        bootstrap_servers=broker.bootstrap_servers, group_id=group, auto_offset_reset="earliest",
        enable_auto_commit=False, session_timeout_ms=30_000, heartbeat_interval_ms=200,
        reconnect_backoff_max_ms=200,  # a broker that restarts is asked again soon
    )  # fmt: skip


def subscribed(broker: Broker, topic: str) -> KafkaConsumer:
    """A member of group "pair" that knows the topic: as leader it would share out nothing of one that it has not heard of yet."""
    member = consumer(broker, "pair")
    member.subscribe([topic])
    wait_until(lambda: bool(member.partitions_for_topic(topic)))
    return member


def read(reader: KafkaConsumer, count: int) -> list[tuple[int, str]]:
    got: list[tuple[int, str]] = []
    deadline = time.monotonic() + LONG_ENOUGH_S
    while len(got) < count:
        assert time.monotonic() < deadline, f"{len(got)} of {count} records in {LONG_ENOUGH_S} s"
        for records in reader.poll(200).values():
            for record in records:
                assert record.key == b"key of " + record.value
                got.append((record.partition, record.value.decode()))
    return got


def needs(package: str, codec: str) -> object:
    missing = importlib.util.find_spec(package) is None
    return pytest.param(
        codec, marks=pytest.mark.skipif(missing, reason=f"kafka-python needs {package} for {codec}")
    )


@pytest.mark.parametrize(
    "codec",
    [None, "gzip", needs("snappy", "snappy"), needs("lz4", "lz4"), needs("zstandard", "zstd")],
)
def test_ten_thousand_records_come_back_as_they_went(
    shared_broker: Broker, topic: str, codec: str | None
) -> None:
    values = [f"value-{n}" for n in range(RECORDS)]
    send(shared_broker, topic, values, codec=codec)
    reader = consumer(shared_broker)
    partition = TopicPartition(topic, 0)
    reader.assign([partition])
    assert read(reader, RECORDS) == [(0, value) for value in values]
    assert reader.end_offsets([partition]) == {partition: RECORDS}
    reader.close()


def test_a_group_of_two_rebalances_commits_and_resumes_after_a_restart(
    broker: Broker, topic: str, members: ExitStack
) -> None:
    admin = KafkaAdminClient(bootstrap_servers=broker.bootstrap_servers)
    admin.create_topics([NewTopic(topic, 2, 1)])
    admin.close()
    for partition in (0, 1):
        send(broker, topic, [f"{partition}-{n}" for n in range(500)], partition)
    alone = members.enter_context(closing(subscribed(broker, topic)))
    assert {partition for partition, _ in read(alone, 1000)} == {0, 1}
    alone.commit()

    joiner = members.enter_context(closing(subscribed(broker, topic)))
    assigned = wait_for_assignments([alone, joiner])
    assert sorted(p for each in assigned for p in each) == [0, 1]
    for partition in (0, 1):
        send(broker, topic, [f"{partition}-later"], partition)
    assert sorted(value for member in (alone, joiner) for _, value in read(member, 1)) == [
        "0-later",
        "1-later",
    ]
    for member in (alone, joiner):
        member.commit()
        member.close()

    broker.restart()
    send(broker, topic, ["after restart"], 1)
    resumed = members.enter_context(closing(subscribed(broker, topic)))
    assert read(resumed, 1) == [(1, "after restart")]
    assert [resumed.committed(TopicPartition(topic, p)) for p in (0, 1)] == [501, 501]


def test_a_consumer_that_stays_reads_on_after_a_restart(
    broker: Broker, topic: str, members: ExitStack
) -> None:
    """The restart changes the leader epoch; kafka-python then waits for OffsetForLeaderEpoch."""
    send(broker, topic, ["before"])
    reader = members.enter_context(closing(consumer(broker)))
    reader.assign([TopicPartition(topic, 0)])
    assert read(reader, 1) == [(0, "before")]
    broker.restart()
    send(broker, topic, ["after"])
    assert read(reader, 1) == [(0, "after")]


def wait_for_assignments(members: list[KafkaConsumer]) -> list[list[int]]:
    deadline = time.monotonic() + LONG_ENOUGH_S
    while True:
        for member in members:
            assert member.poll(50) == {}
        assigned = [[each.partition for each in member.assignment()] for member in members]
        if all(assigned) and is_disjoint(assigned):
            return assigned
        assert time.monotonic() < deadline, f"no rebalance in {LONG_ENOUGH_S} s: {assigned}"
