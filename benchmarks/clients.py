"""Produce and consume records of 100 B and 1 KB: ours by record and by Arrow batch, beside the other Python clients.

One partition, acks=all, 1 MB batches, linger 5 ms, no compression. Each client in turn, twice; the better round counts.
Against our own broker, and also against an Apache Kafka, which is started when MILLSTREAM_KAFKA_CLASSPATH names its jars.
Every consumer is asked for up to 5,000 records a poll.

    python -m benchmarks.clients [--records N]
"""

from __future__ import annotations

import argparse
import asyncio
import time
from collections.abc import Callable
from typing import NamedTuple

import pyarrow as pa

from benchmarks import kafka_peer
from benchmarks.kafka_peer import KafkaPeer
from millstream.clients import Consumer, NewTopic, Producer, RangeReader, blocking
from millstream.testing.broker import Broker

BATCH_BYTES = 1_000_000
LINGER_MS = 5
ROUNDS = 2
ARROW_ROWS = 10_000
POLL_RECORDS = 5_000


class Load(NamedTuple):
    bootstrap: str
    topic: str
    records: int
    value: bytes


class Measured(NamedTuple):
    seconds: float
    cpu_seconds: float


def ours_produce(load: Load) -> None:
    async def run() -> None:
        async with Producer(
            bootstrap_servers=load.bootstrap, batch_size=BATCH_BYTES, linger_ms=LINGER_MS
        ) as producer:
            for _ in range(load.records):
                await producer.send(load.topic, load.value)
            await producer.flush()

    asyncio.run(run())


def ours_blocking_produce(load: Load) -> None:
    with blocking.Producer(
        bootstrap_servers=load.bootstrap, batch_size=BATCH_BYTES, linger_ms=LINGER_MS
    ) as producer:
        for _ in range(load.records):
            producer.send(load.topic, load.value)
        producer.flush()


def ours_arrow_produce(load: Load) -> None:
    rows = pa.RecordBatch.from_pydict({"value": pa.array([load.value] * ARROW_ROWS, pa.binary())})

    async def run() -> None:
        async with Producer(bootstrap_servers=load.bootstrap) as producer:
            for _ in range(load.records // ARROW_ROWS):
                await producer.send_batch(load.topic, rows)
            await producer.flush()

    asyncio.run(run())


def ours_consume(load: Load) -> None:
    async def run() -> None:
        async with Consumer(
            bootstrap_servers=load.bootstrap, auto_offset_reset="earliest"
        ) as consumer:
            consumer.assign([(load.topic, 0)])
            count = 0
            while count < load.records:
                count += len(await consumer.poll(max_records=POLL_RECORDS))

    asyncio.run(run())


def ours_blocking_consume(load: Load) -> None:
    with blocking.Consumer(
        bootstrap_servers=load.bootstrap, auto_offset_reset="earliest"
    ) as consumer:
        consumer.assign([(load.topic, 0)])
        count = 0
        while count < load.records:
            count += len(consumer.poll(max_records=POLL_RECORDS))


def ours_arrow_consume(load: Load) -> None:
    async def run() -> None:
        async with RangeReader(bootstrap_servers=load.bootstrap) as reader:
            count = 0
            async for batch in reader.read(load.topic, 0, 0, load.records):
                count += batch.num_rows
            assert count == load.records

    asyncio.run(run())


def confluent_produce(load: Load) -> None:
    import confluent_kafka

    producer = confluent_kafka.Producer(
        {
            "bootstrap.servers": load.bootstrap,
            "linger.ms": LINGER_MS,
            "batch.size": BATCH_BYTES,
            "acks": "all",
            "queue.buffering.max.messages": 2_000_000,
        }
    )
    for index in range(load.records):
        producer.produce(load.topic, load.value)
        if index % 10_000 == 0:
            producer.poll(0)
    producer.flush()


def confluent_consume(load: Load) -> None:
    import confluent_kafka

    consumer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": load.bootstrap,
            "group.id": "unused",
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
        }
    )
    consumer.assign([confluent_kafka.TopicPartition(load.topic, 0, 0)])
    count = 0
    while count < load.records:
        count += len(consumer.consume(POLL_RECORDS, timeout=1))
    consumer.close()


def aiokafka_produce(load: Load) -> None:
    import aiokafka

    async def run() -> None:
        async with aiokafka.AIOKafkaProducer(
            bootstrap_servers=load.bootstrap,
            linger_ms=LINGER_MS,
            max_batch_size=BATCH_BYTES,
            acks="all",
        ) as producer:
            for _ in range(load.records):
                await producer.send(load.topic, load.value)
            await producer.flush()

    asyncio.run(run())


def aiokafka_consume(load: Load) -> None:
    import aiokafka

    async def run() -> None:
        async with aiokafka.AIOKafkaConsumer(
            load.topic, bootstrap_servers=load.bootstrap, auto_offset_reset="earliest"
        ) as consumer:
            count = 0
            while count < load.records:
                found = await consumer.getmany(timeout_ms=1000, max_records=POLL_RECORDS)
                count += sum(map(len, found.values()))

    asyncio.run(run())


def kafka_python_produce(load: Load) -> None:
    import kafka

    producer = kafka.KafkaProducer(
        bootstrap_servers=load.bootstrap,
        linger_ms=LINGER_MS,
        batch_size=BATCH_BYTES,
        acks="all",
    )
    for _ in range(load.records):
        producer.send(load.topic, load.value)
    producer.flush()
    producer.close()


def kafka_python_consume(load: Load) -> None:
    import kafka

    consumer = kafka.KafkaConsumer(
        load.topic, bootstrap_servers=load.bootstrap, auto_offset_reset="earliest"
    )
    count = 0
    while count < load.records:
        found = consumer.poll(timeout_ms=1000, max_records=POLL_RECORDS)
        count += sum(map(len, found.values()))
    consumer.close()


PRODUCERS: dict[str, Callable[[Load], None]] = {
    "ours, by record": ours_produce,
    "ours, blocking": ours_blocking_produce,
    "ours, Arrow": ours_arrow_produce,
    "confluent-kafka": confluent_produce,
    "aiokafka": aiokafka_produce,
    "kafka-python": kafka_python_produce,
}
CONSUMERS: dict[str, Callable[[Load], None]] = {
    "ours, by record": ours_consume,
    "ours, blocking": ours_blocking_consume,
    "ours, Arrow": ours_arrow_consume,
    "confluent-kafka": confluent_consume,
    "aiokafka": aiokafka_consume,
    "kafka-python": kafka_python_consume,
}
PEERS = ("confluent-kafka", "aiokafka", "kafka-python")


def measure(work: Callable[[Load], None], load: Load) -> Measured:
    wall, cpu = time.perf_counter(), time.process_time()
    work(load)
    return Measured(time.perf_counter() - wall, time.process_time() - cpu)


def compare(title: str, work: dict[str, Callable[[Load], None]], load: Load) -> None:
    """A B C A B C; prints rates, processor time per record, and the ratio to the best peer."""
    best: dict[str, Measured] = {}
    for _ in range(ROUNDS):
        for name, function in work.items():
            measured = measure(function, load)
            best[name] = min(measured, best.get(name, measured))
    peer = min(best[name].seconds for name in PEERS)
    print(f"\n{title} ({load.records:,} records of {len(load.value)} B)")
    for name, measured in best.items():
        rate = load.records / measured.seconds
        cpu = measured.cpu_seconds / load.records * 1e6
        megabytes = rate * len(load.value) / 1e6
        print(
            f"  {name:18} {rate / 1e6:7.3f} M rec/s {megabytes:8.1f} MB/s {cpu:7.2f} µs CPU/rec"
            f" {peer / measured.seconds:7.2f} x best peer"
        )


def run(name: str, bootstrap: str, records: int) -> None:
    print(f"\n## against {name} at {bootstrap}")
    with blocking.Admin(bootstrap_servers=bootstrap) as admin:
        for size, count in ((100, records), (1_000, records // 2)):
            topic = f"bench-{size}-{time.time_ns()}"
            (admin.create_topics([NewTopic(topic, 1, 1)])).raise_errors()
            load = Load(bootstrap, topic, count, b"x" * size)
            compare("produce", PRODUCERS, load)
            compare("consume", CONSUMERS, load)
            admin.delete_topics([topic]).raise_errors()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=200_000, help="of 100 B; half of 1 KB")
    options = parser.parse_args()
    with Broker(in_process=False) as broker:
        run("our broker", broker.bootstrap_servers, options.records)
    if kafka_peer.is_available():
        with KafkaPeer() as peer:
            run("Apache Kafka", peer.bootstrap_servers, options.records)


if __name__ == "__main__":
    main()
