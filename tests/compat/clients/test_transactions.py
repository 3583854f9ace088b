"""Exactly-once copies and fencing with other people's clients: librdkafka and kafka-python, both of the older protocol."""

from __future__ import annotations

import time
import warnings

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer
from confluent_kafka import TopicPartition as Position
from confluent_kafka.admin import AdminClient, NewTopic

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)
    from kafka import KafkaConsumer, KafkaProducer, TopicPartition
    from kafka.structs import OffsetAndMetadata

from millstream.testing.broker import Broker
from tests.patience import LONG_ENOUGH_S

pytestmark = [
    pytest.mark.compat,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]


def create(broker: Broker, *topics: str) -> None:
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    for created in admin.create_topics([NewTopic(topic, 1, 1) for topic in topics]).values():
        created.result(LONG_ENOUGH_S)


def producer(broker: Broker, transactional_id: str, **settings: object) -> Producer:
    made = Producer(
        {
            "bootstrap.servers": broker.bootstrap_servers,
            "transactional.id": transactional_id,
            "log_level": 0,
        }
        | {key.replace("_", "."): value for key, value in settings.items()}
    )
    made.init_transactions(LONG_ENOUGH_S)
    return made


def read(broker: Broker, topic: str) -> list[bytes]:
    """Up to the last stable offset."""
    consumer = Consumer(
        {
            "bootstrap.servers": broker.bootstrap_servers,
            "group.id": "reader",
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
            "fetch.wait.max.ms": 10,
        }
    )
    consumer.assign([Position(topic, 0, 0)])
    values = []
    deadline = time.monotonic() + LONG_ENOUGH_S
    while True:
        assert time.monotonic() < deadline, "the end is not reached"
        message = consumer.poll(1)
        if message is None:
            continue
        if message.error() is not None:
            assert message.error().code() == KafkaError._PARTITION_EOF
            break
        values.append(message.value())
    consumer.close()
    return values


def test_librdkafka_copies_exactly_once(shared_broker: Broker, topic: str) -> None:
    """The consumer's position moves with the output, or not at all."""
    source, target = f"{topic}-in", f"{topic}-out"
    create(shared_broker, source, target)
    filler = Producer({"bootstrap.servers": shared_broker.bootstrap_servers})
    for number in range(200):
        filler.produce(source, b"%d" % number)
    assert filler.flush(LONG_ENOUGH_S) == 0
    copier = producer(shared_broker, topic)
    consumer = Consumer(
        {
            "bootstrap.servers": shared_broker.bootstrap_servers,
            "group.id": topic,
            "enable.auto.commit": False,
            "fetch.wait.max.ms": 10,  # a fetch that waits at the end stands before that of the next turn
        }
    )
    copied, turn = 0, 0
    while copied < 200:
        turn += 1
        (position,) = consumer.committed([Position(source, 0)], timeout=LONG_ENOUGH_S)
        assert max(position.offset, 0) == copied
        consumer.assign([Position(source, 0, copied)])
        messages = consumer.consume(25, 5)  # each turn is full: what is missing would be waited for
        copier.begin_transaction()
        for message in messages:
            copier.produce(target, message.value())
        end = Position(source, 0, messages[-1].offset() + 1)
        copier.send_offsets_to_transaction([end], consumer.consumer_group_metadata(), LONG_ENOUGH_S)
        if turn % 3 == 0:
            copier.abort_transaction(LONG_ENOUGH_S)
        else:
            copier.commit_transaction(LONG_ENOUGH_S)
            copied += len(messages)
    consumer.close()
    assert read(shared_broker, target) == [b"%d" % number for number in range(200)]


def test_librdkafka_is_fenced_by_a_second_producer(shared_broker: Broker, topic: str) -> None:
    create(shared_broker, topic)
    first = producer(shared_broker, topic)
    first.begin_transaction()
    first.produce(topic, b"of the first")
    first.flush(LONG_ENOUGH_S)
    second = producer(shared_broker, topic)
    with pytest.raises(KafkaException) as refused:
        first.commit_transaction(LONG_ENOUGH_S)
    assert refused.value.args[0].code() in {KafkaError._FENCED, KafkaError.PRODUCER_FENCED}
    second.begin_transaction()
    second.produce(topic, b"of the second")
    second.commit_transaction(LONG_ENOUGH_S)
    assert read(shared_broker, topic) == [b"of the second"]


def test_kafka_python_commits_and_aborts(shared_broker: Broker, topic: str) -> None:
    create(shared_broker, topic)
    writer = KafkaProducer(
        bootstrap_servers=shared_broker.bootstrap_servers, transactional_id=topic
    )
    writer.init_transactions()
    for number in range(6):
        writer.begin_transaction()
        writer.send(topic, b"%d" % number)
        offsets = {TopicPartition(topic, 0): OffsetAndMetadata(number, "", -1)}
        writer.send_offsets_to_transaction(offsets, f"{topic}-group")
        if number % 2:
            writer.abort_transaction()
        else:
            writer.commit_transaction()
    writer.close()
    reader = KafkaConsumer(
        bootstrap_servers=shared_broker.bootstrap_servers,
        group_id=f"{topic}-group",
        isolation_level="read_committed",
        enable_auto_commit=False,
    )
    partition = TopicPartition(topic, 0)
    reader.assign([partition])
    assert reader.committed(partition) == 4
    reader.seek(partition, 0)
    values: list[bytes] = []
    deadline = time.monotonic() + LONG_ENOUGH_S
    while len(values) < 3:
        assert time.monotonic() < deadline, values
        values += [record.value for records in reader.poll(200).values() for record in records]
    reader.close()
    assert values == [b"0", b"2", b"4"]
