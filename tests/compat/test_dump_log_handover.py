"""A data directory goes from us to Apache Kafka 4.3 and back: `make oracle` with MILLSTREAM_KAFKA_CLASSPATH set."""

from __future__ import annotations

import time

from confluent_kafka import OFFSET_BEGINNING, Consumer, Producer, TopicPartition

from millstream.testing.broker import Broker
from tests.patience import LONG_ENOUGH_S
from tests.support.kafka_node import NEEDS_KAFKA, kafka_node, running

pytestmark = NEEDS_KAFKA


def produce(bootstrap: str, values: list[str], codec: str) -> None:
    failures = []
    producer = Producer(
        {"bootstrap.servers": bootstrap, "compression.type": codec, "enable.idempotence": True, "message.timeout.ms": 40_000, "log_level": 0}
    )  # fmt: skip
    for value in values:
        producer.produce("carried", value, on_delivery=lambda error, _: failures.append(error))
    assert producer.flush(LONG_ENOUGH_S) == 0
    assert not any(failures), failures


def consume(bootstrap: str, count: int) -> list[str]:
    consumer = Consumer(
        {"bootstrap.servers": bootstrap, "group.id": "none", "check.crcs": True, "log_level": 0}
    )
    consumer.assign([TopicPartition("carried", 0, OFFSET_BEGINNING)])
    found: list[str] = []
    deadline = time.monotonic() + 60
    while len(found) < count and time.monotonic() < deadline:
        for message in consumer.consume(1_000, 1):
            assert not message.error() or message.error().retriable(), message.error()
            if not message.error():
                found.append(message.value().decode())
    consumer.close()
    return found


def test_kafka_opens_and_continues_our_directory_and_we_open_it_again(tmp_path):
    data = tmp_path / "data"
    ours = [f"ours {number}" for number in range(1_000)]
    theirs = [f"kafka {number}" for number in range(1_000)]
    with Broker(in_process=False, data=data, settings={"num.partitions": "1"}) as broker:
        produce(broker.bootstrap_servers, ours, "zstd")
    with running(kafka_node(data, tmp_path)) as bootstrap:
        assert consume(bootstrap, 1_000) == ours
        produce(bootstrap, theirs, "lz4")
    with Broker(in_process=False, data=data) as broker:
        assert consume(broker.bootstrap_servers, 2_000) == ours + theirs
