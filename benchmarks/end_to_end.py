"""End to end: librdkafka produces 1,000 messages a second with linger 0, librdkafka consumes them. Ours and Kafka, A B A B.

    python -m benchmarks.end_to_end [--seconds 10]

Kafka is started when MILLSTREAM_KAFKA_CLASSPATH names its jars. The latency is from before `produce` until after `poll`.
"""

from __future__ import annotations

import argparse
import contextlib
import statistics
import struct
import time
from typing import Final

from confluent_kafka import Consumer, Producer, TopicPartition

from benchmarks import kafka_peer
from benchmarks.kafka_peer import KafkaPeer
from benchmarks.wire import Connection, create_topic
from millstream.testing.broker import Broker

MESSAGES_PER_S: Final = 1_000
_WARM_UP_MESSAGES: Final = 500
_STAMP: Final = struct.Struct(">d")
_PADDING: Final = bytes(92)


def latencies_ms(bootstrap: str, seconds: float) -> list[float]:
    connection = Connection(bootstrap)
    topic = create_topic(connection)
    connection.close()
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 0, "acks": "all"})
    consumer = Consumer(
        {"bootstrap.servers": bootstrap, "group.id": topic, "fetch.wait.max.ms": 500}
    )
    consumer.assign([TopicPartition(topic, 0, 0)])
    measured: list[float] = []
    total = _WARM_UP_MESSAGES + int(seconds * MESSAGES_PER_S)
    start = time.perf_counter()
    sent = received = 0
    deadline = start + seconds + 30
    while received < total and time.perf_counter() < deadline:
        now = time.perf_counter()
        if sent < total and now >= start + sent / MESSAGES_PER_S:
            producer.produce(topic, _STAMP.pack(now) + _PADDING)
            producer.poll(0)
            sent += 1
        message = consumer.poll(0.0002)
        if message is not None and message.error() is None:
            received += 1
            (stamp,) = _STAMP.unpack_from(message.value())
            if received > _WARM_UP_MESSAGES:
                measured.append((time.perf_counter() - stamp) * 1000)
    producer.flush(10)
    consumer.close()
    return measured


def summary(measured: list[float]) -> str:
    quantiles = statistics.quantiles(measured, n=100)
    return f"p50 {quantiles[49]:.3f} ms, p99 {quantiles[98]:.3f} ms, {len(measured)} messages"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=8.0)
    options = parser.parse_args()
    with contextlib.ExitStack() as running:
        broker = running.enter_context(Broker(in_process=False))
        peer = running.enter_context(KafkaPeer()) if kafka_peer.is_available() else None
        for _ in range(2):
            print("ours   " + summary(latencies_ms(broker.bootstrap_servers, options.seconds)))
            if peer is not None:
                print("Kafka  " + summary(latencies_ms(peer.bootstrap_servers, options.seconds)))


if __name__ == "__main__":
    main()
