"""What our transactional producer commits, librdkafka reads; what it aborts, it does not."""

from __future__ import annotations

import time

import pytest
from confluent_kafka import Consumer, KafkaError
from confluent_kafka import TopicPartition as Position

from millstream.clients import ConsumerGroupMetadata, OffsetAndMetadata, TopicPartition, blocking
from millstream.testing.broker import Broker
from tests.patience import LONG_ENOUGH_S

pytestmark = pytest.mark.compat


def test_librdkafka_reads_exactly_the_committed_records(shared_broker: Broker, topic: str) -> None:
    source = TopicPartition(topic, 0)
    group = f"g-{topic}"
    expected = []
    with blocking.Producer(
        bootstrap_servers=shared_broker.bootstrap_servers,
        transactional_id=topic,
        value_serializer=str.encode,
    ) as producer:
        for turn in range(9):
            values = [f"{turn}-{number}" for number in range(20)]
            producer.init_transactions()  # a fresh fence for each batch
            producer.begin_transaction()
            for value in values:
                producer.send(topic, value)
            producer.flush()
            producer.send_offsets_to_transaction(
                {source: OffsetAndMetadata(turn + 1)}, ConsumerGroupMetadata(group)
            )
            if turn % 3 == 1:
                producer.abort_transaction()
            else:
                producer.commit_transaction()
                expected += values
    consumer = Consumer(
        {
            "bootstrap.servers": shared_broker.bootstrap_servers,
            "group.id": group,
            "isolation.level": "read_committed",
            "enable.auto.commit": False,
        }
    )
    consumer.assign([Position(topic, 0, 0)])
    read: list[str] = []
    deadline = time.monotonic() + LONG_ENOUGH_S
    while len(read) < len(expected):
        assert time.monotonic() < deadline, read
        message = consumer.poll(1)
        if message is not None and message.error() is None:
            read.append(message.value().decode())
        elif message is not None:
            assert message.error().code() != KafkaError._ALL_BROKERS_DOWN
    assert read == expected
    (committed,) = consumer.committed([Position(topic, 0)], timeout=LONG_ENOUGH_S)
    consumer.close()
    assert committed.offset == 9
