"""How long a record takes: to its acknowledgement with linger 0, and from producer to consumer at 1,000 records a second.

Ours and the other Python clients against one broker, in turn, twice; the better round counts.
Against our own broker, and against an Apache Kafka when MILLSTREAM_KAFKA_CLASSPATH names its jars.

    python -m benchmarks.client_latency [--records 3000]
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import struct
import threading
import time
from collections.abc import Callable
from typing import Final

import aiokafka
import confluent_kafka
import kafka

from benchmarks import kafka_peer
from benchmarks.kafka_peer import KafkaPeer
from millstream.clients import Consumer, NewTopic, Producer, blocking
from millstream.testing.broker import Broker

WARM_UP: Final = 300
ROUNDS: Final = 2
RATE_PER_S: Final = 1_000
VALUE: Final = b"x" * 100
STAMP: Final = struct.Struct(">d")
PADDING: Final = bytes(92)

Measure = Callable[[str, str, int], list[float]]
"""Takes bootstrap address, topic and number of records; gives seconds for each."""


def ours_acknowledged(bootstrap: str, topic: str, records: int) -> list[float]:
    async def run() -> list[float]:
        times = []
        async with Producer(bootstrap_servers=bootstrap, linger_ms=0) as producer:
            for _ in range(records):
                start = time.perf_counter()
                await (await producer.send(topic, VALUE))
                times.append(time.perf_counter() - start)
        return times

    return asyncio.run(run())


def ours_blocking_acknowledged(bootstrap: str, topic: str, records: int) -> list[float]:
    times = []
    with blocking.Producer(bootstrap_servers=bootstrap, linger_ms=0) as producer:
        for _ in range(records):
            start = time.perf_counter()
            producer.send(topic, VALUE).result()
            times.append(time.perf_counter() - start)
    return times


def confluent_acknowledged(bootstrap: str, topic: str, records: int) -> list[float]:
    producer = confluent_kafka.Producer(
        {"bootstrap.servers": bootstrap, "linger.ms": 0, "acks": "all", "enable.idempotence": True}
    )
    times = []
    for _ in range(records):
        start = time.perf_counter()
        producer.produce(topic, VALUE)
        producer.flush()
        times.append(time.perf_counter() - start)
    return times


def aiokafka_acknowledged(bootstrap: str, topic: str, records: int) -> list[float]:
    async def run() -> list[float]:
        times = []
        async with aiokafka.AIOKafkaProducer(
            bootstrap_servers=bootstrap, linger_ms=0, enable_idempotence=True
        ) as producer:
            for _ in range(records):
                start = time.perf_counter()
                await producer.send_and_wait(topic, VALUE)
                times.append(time.perf_counter() - start)
        return times

    return asyncio.run(run())


def kafka_python_acknowledged(bootstrap: str, topic: str, records: int) -> list[float]:
    producer = kafka.KafkaProducer(bootstrap_servers=bootstrap, linger_ms=0, acks="all")
    times = []
    for _ in range(records):
        start = time.perf_counter()
        producer.send(topic, VALUE).get(10)
        times.append(time.perf_counter() - start)
    producer.close()
    return times


def _paced(bootstrap: str, topic: str, records: int) -> threading.Thread:
    """A librdkafka producer, the same for every consumer: 1,000 records a second with the time in their value."""

    def run() -> None:
        producer = confluent_kafka.Producer(
            {"bootstrap.servers": bootstrap, "linger.ms": 0, "acks": "all"}
        )
        start = time.perf_counter()
        for number in range(records):
            time.sleep(max(0.0, start + number / RATE_PER_S - time.perf_counter()))
            producer.produce(topic, STAMP.pack(time.perf_counter()) + PADDING)
            producer.poll(0)
        producer.flush(10)

    return threading.Thread(target=run, daemon=True)


def _age(value: bytes | None) -> float:
    assert value is not None, "every record carries a time"
    sent: float = STAMP.unpack_from(value)[0]
    return time.perf_counter() - sent


def ours_received(bootstrap: str, topic: str, records: int) -> list[float]:
    async def run() -> list[float]:
        times: list[float] = []
        async with Consumer(bootstrap_servers=bootstrap, auto_offset_reset="earliest") as consumer:
            consumer.assign([(topic, 0)])
            _paced(bootstrap, topic, records).start()
            while len(times) < records:
                times += [_age(record.value) for record in await consumer.poll()]
        return times

    return asyncio.run(run())


def ours_blocking_received(bootstrap: str, topic: str, records: int) -> list[float]:
    times: list[float] = []
    with blocking.Consumer(bootstrap_servers=bootstrap, auto_offset_reset="earliest") as consumer:
        consumer.assign([(topic, 0)])
        _paced(bootstrap, topic, records).start()
        while len(times) < records:
            times += [_age(record.value) for record in consumer.poll()]
    return times


def confluent_received(bootstrap: str, topic: str, records: int) -> list[float]:
    consumer = confluent_kafka.Consumer(
        {"bootstrap.servers": bootstrap, "group.id": topic, "enable.auto.commit": False}
    )
    consumer.assign([confluent_kafka.TopicPartition(topic, 0, 0)])
    times: list[float] = []
    _paced(bootstrap, topic, records).start()
    while len(times) < records:
        message = consumer.poll(1)
        if message is not None and message.error() is None:
            times.append(_age(message.value()))
    consumer.close()
    return times


def aiokafka_received(bootstrap: str, topic: str, records: int) -> list[float]:
    async def run() -> list[float]:
        times: list[float] = []
        async with aiokafka.AIOKafkaConsumer(
            topic, bootstrap_servers=bootstrap, auto_offset_reset="earliest"
        ) as consumer:
            _paced(bootstrap, topic, records).start()
            while len(times) < records:
                found = await consumer.getmany(timeout_ms=1000)
                times += [_age(record.value) for batch in found.values() for record in batch]
        return times

    return asyncio.run(run())


def kafka_python_received(bootstrap: str, topic: str, records: int) -> list[float]:
    consumer = kafka.KafkaConsumer(topic, bootstrap_servers=bootstrap, auto_offset_reset="earliest")
    times: list[float] = []
    _paced(bootstrap, topic, records).start()
    while len(times) < records:
        found = consumer.poll(timeout_ms=1000)
        times += [_age(record.value) for batch in found.values() for record in batch]
    consumer.close()
    return times


ACKNOWLEDGED: Final[dict[str, Measure]] = {
    "ours": ours_acknowledged,
    "ours, blocking": ours_blocking_acknowledged,
    "confluent-kafka": confluent_acknowledged,
    "aiokafka": aiokafka_acknowledged,
    "kafka-python": kafka_python_acknowledged,
}
RECEIVED: Final[dict[str, Measure]] = {
    "ours": ours_received,
    "ours, blocking": ours_blocking_received,
    "confluent-kafka": confluent_received,
    "aiokafka": aiokafka_received,
    "kafka-python": kafka_python_received,
}


def compare(title: str, measures: dict[str, Measure], bootstrap: str, records: int) -> None:
    best: dict[str, tuple[float, float]] = {}
    for _ in range(ROUNDS):
        for name, measure in measures.items():
            topic = f"latency-{time.time_ns()}"
            with blocking.Admin(bootstrap_servers=bootstrap) as admin:
                admin.create_topics([NewTopic(topic, 1, 1)]).raise_errors()
            quantiles = statistics.quantiles(
                measure(bootstrap, topic, WARM_UP + records)[WARM_UP:], n=100
            )
            found = (quantiles[49] * 1000, quantiles[98] * 1000)
            best[name] = min(found, best.get(name, found))
    reference = best["confluent-kafka"][0]
    print(f"\n{title} ({records:,} records of 100 B)")
    for name, (p50, p99) in best.items():
        print(
            f"  {name:18} p50 {p50:7.3f} ms  p99 {p99:7.3f} ms  {p50 / reference:5.2f} x confluent-kafka's p50"
        )


def run(name: str, bootstrap: str, records: int) -> None:
    print(f"\n## against {name}")
    compare("until acknowledged, one at a time, linger 0", ACKNOWLEDGED, bootstrap, records)
    compare("from producer to consumer", RECEIVED, bootstrap, records)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=3_000)
    options = parser.parse_args()
    with Broker(in_process=False) as broker:
        run("our broker", broker.bootstrap_servers, options.records)
    if kafka_peer.is_available():
        with KafkaPeer() as peer:
            run("Apache Kafka", peer.bootstrap_servers, options.records)


if __name__ == "__main__":
    main()
