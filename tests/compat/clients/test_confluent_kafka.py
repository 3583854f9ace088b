"""confluent-kafka (librdkafka 2.16)."""

from __future__ import annotations

import time

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, ConfigResource, NewPartitions, NewTopic, ResourceType

from millstream.testing.broker import Broker
from tests.patience import LONG_ENOUGH_S, wait_until
from tests.support.clients.assignments import is_disjoint

RECORDS = 10_000
pytestmark = pytest.mark.compat


def producer(broker: Broker, **settings: object) -> Producer:
    return Producer({"bootstrap.servers": broker.bootstrap_servers, "linger.ms": 5, **settings})


def consumer(broker: Broker, group: str) -> Consumer:
    return Consumer(
        {
            "bootstrap.servers": broker.bootstrap_servers, "group.id": group, "auto.offset.reset": "earliest",
            "enable.auto.commit": False, "session.timeout.ms": 30_000, "heartbeat.interval.ms": 200,
        }
    )  # fmt: skip


def send(
    broker: Broker, topic: str, values: list[str], partition: int = 0, **settings: object
) -> None:
    failed: list[object] = []
    sender = producer(broker, **settings)
    for value in values:
        while True:
            try:
                sender.produce(
                    topic,
                    value,
                    f"key of {value}",
                    partition,
                    on_delivery=lambda e, _: e and failed.append(e),
                )
                break
            except BufferError:
                sender.poll(0.1)
    assert sender.flush(LONG_ENOUGH_S) == 0
    assert failed == []


def read(reader: Consumer, count: int) -> list[tuple[int, str]]:
    """(partition, value) of the next `count` records."""
    got: list[tuple[int, str]] = []
    deadline = time.monotonic() + LONG_ENOUGH_S
    while len(got) < count:
        assert time.monotonic() < deadline, f"{len(got)} of {count} records in {LONG_ENOUGH_S} s"
        for message in reader.consume(1000, 0.2):
            assert message.error() is None
            assert message.key() == b"key of " + message.value()
            got.append((message.partition(), message.value().decode()))
    return got


def create(broker: Broker, topic: str, partitions: int = 1, **config: str) -> AdminClient:
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    admin.create_topics([NewTopic(topic, partitions, 1, config=config)])[topic].result(
        LONG_ENOUGH_S
    )
    return admin


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
@pytest.mark.parametrize("idempotent", [False, True], ids=["plain", "idempotent"])
def test_ten_thousand_records_come_back_as_they_went(
    shared_broker: Broker, topic: str, codec: str, idempotent: bool
) -> None:
    values = [f"value-{n}" for n in range(RECORDS)]
    send(
        shared_broker,
        topic,
        values,
        **{"compression.type": codec, "enable.idempotence": idempotent},
    )
    reader = consumer(shared_broker, "readers")
    reader.assign([TopicPartition(topic, 0, 0)])
    assert read(reader, RECORDS) == [(0, value) for value in values]
    assert reader.get_watermark_offsets(TopicPartition(topic, 0), timeout=LONG_ENOUGH_S) == (
        0,
        RECORDS,
    )
    reader.close()


def test_a_group_of_two_rebalances_commits_and_resumes_after_a_restart(
    broker: Broker, topic: str
) -> None:
    create(broker, topic, partitions=2)
    for partition in (0, 1):
        send(broker, topic, [f"{partition}-{n}" for n in range(500)], partition)
    alone = consumer(broker, "pair")
    alone.subscribe([topic])
    first = read(alone, 1000)
    assert {partition for partition, _ in first} == {0, 1}
    alone.commit(asynchronous=False)

    joiner = consumer(broker, "pair")
    joiner.subscribe([topic])
    assignments = wait_for_assignments([alone, joiner])
    assert sorted(p for each in assignments for p in each) == [0, 1]
    for partition in (0, 1):
        send(broker, topic, [f"{partition}-later"], partition)
    assert sorted(value for member in (alone, joiner) for _, value in read(member, 1)) == [
        "0-later",
        "1-later",
    ]
    for member in (alone, joiner):
        member.commit(asynchronous=False)
        member.close()

    broker.restart()
    send(broker, topic, ["after restart"], 1)
    resumed = consumer(broker, "pair")
    resumed.subscribe([topic])
    assert read(resumed, 1) == [(1, "after restart")]
    committed = resumed.committed([TopicPartition(topic, p) for p in (0, 1)], timeout=LONG_ENOUGH_S)
    assert [each.offset for each in committed] == [501, 501]
    resumed.close()


def wait_for_assignments(members: list[Consumer]) -> list[list[int]]:
    """Polls until every member has partitions."""
    deadline = time.monotonic() + LONG_ENOUGH_S
    while True:
        for member in members:
            assert member.poll(0.05) is None
        assigned = [[each.partition for each in member.assignment()] for member in members]
        if all(assigned) and is_disjoint(assigned):
            return assigned
        assert time.monotonic() < deadline, f"no rebalance in {LONG_ENOUGH_S} s: {assigned}"


def test_topics_are_created_described_extended_and_deleted(
    shared_broker: Broker, topic: str
) -> None:
    admin = create(shared_broker, topic, partitions=2, **{"retention.ms": "12345"})
    resource = ConfigResource(ResourceType.TOPIC, topic)
    described = admin.describe_configs([resource])[resource].result(LONG_ENOUGH_S)
    assert (described["retention.ms"].value, described["retention.ms"].is_default) == (
        "12345",
        False,
    )
    admin.create_partitions([NewPartitions(topic, 5)])[topic].result(LONG_ENOUGH_S)
    wait_until(
        lambda: len(admin.list_topics(topic, timeout=LONG_ENOUGH_S).topics[topic].partitions) == 5
    )
    nodes = admin.describe_cluster().result(LONG_ENOUGH_S).nodes
    assert len(nodes) == len(shared_broker.bootstrap_servers.split(","))
    admin.delete_topics([topic])[topic].result(LONG_ENOUGH_S)
    wait_until(lambda: topic not in admin.list_topics(timeout=LONG_ENOUGH_S).topics)


def test_errors_of_the_admin_client_have_kafkas_names(shared_broker: Broker, topic: str) -> None:
    admin = create(shared_broker, topic)
    for bad, code in (
        (NewTopic(topic, 1, 1), KafkaError.TOPIC_ALREADY_EXISTS),
        (NewTopic("bad name", 1, 1), KafkaError.TOPIC_EXCEPTION),
        (NewTopic(topic + "-b", 0, 1), KafkaError.INVALID_PARTITIONS),
        (NewTopic(topic + "-c", 1, 3), KafkaError.INVALID_REPLICATION_FACTOR),
        (NewTopic(topic + "-d", 1, 1, config={"no.such": "x"}), KafkaError.INVALID_CONFIG),
    ):
        with pytest.raises(KafkaException) as refused:
            admin.create_topics([bad])[bad.topic].result(LONG_ENOUGH_S)
        assert refused.value.args[0].code() == code


def test_offsets_beyond_the_end_are_out_of_range(shared_broker: Broker, topic: str) -> None:
    send(shared_broker, topic, ["only"])
    reader = Consumer(
        {
            "bootstrap.servers": shared_broker.bootstrap_servers,
            "group.id": "x",
            "auto.offset.reset": "error",
        }
    )
    reader.assign([TopicPartition(topic, 0, 99)])
    deadline = time.monotonic() + LONG_ENOUGH_S
    while (message := reader.poll(0.2)) is None:
        assert time.monotonic() < deadline
    assert message.error().code() == KafkaError._AUTO_OFFSET_RESET
    reader.close()
