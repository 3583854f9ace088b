"""What a client costs before it does anything: import time, memory with 1,000 partitions, an idle consumer's processor time.

Each client in a fresh process, in turn, twice; the better round counts.

    python -m benchmarks.client_footprint [--partitions 1000] [--idle-seconds 10]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Final

import psutil

from millstream.clients import NewTopic, blocking
from millstream.testing.broker import Broker

ROUNDS: Final = 2
IMPORTS: Final = {
    "ours": "from millstream.clients import Producer, Consumer, Admin",
    "confluent-kafka": "from confluent_kafka import Producer, Consumer; from confluent_kafka.admin import AdminClient",
    "aiokafka": "from aiokafka import AIOKafkaProducer, AIOKafkaConsumer; from aiokafka.admin import AIOKafkaAdminClient",
    "kafka-python": "from kafka import KafkaProducer, KafkaConsumer, KafkaAdminClient",
}


def import_ms(statement: str) -> float:
    """Beyond what an empty interpreter takes, as that interpreter sees it."""
    program = f"import time; t = time.perf_counter(); {statement}; print(time.perf_counter() - t)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return float(done.stdout) * 1000


def rss_bytes() -> int:
    return int(psutil.Process().memory_info().rss)


def idle_ours(bootstrap: str, topic: str, partitions: int, seconds: float) -> tuple[float, float]:
    from millstream.clients import Consumer

    async def run() -> tuple[float, float]:
        async with Consumer(bootstrap_servers=bootstrap, group_id="ours") as consumer:
            before = rss_bytes()
            consumer.assign([(topic, partition) for partition in range(partitions)])
            return await watch(consumer.poll, before, partitions, seconds)

    return asyncio.run(run())


def idle_aiokafka(
    bootstrap: str, topic: str, partitions: int, seconds: float
) -> tuple[float, float]:
    import aiokafka

    async def run() -> tuple[float, float]:
        async with aiokafka.AIOKafkaConsumer(
            bootstrap_servers=bootstrap, group_id="aiokafka"
        ) as consumer:
            before = rss_bytes()
            consumer.assign([aiokafka.TopicPartition(topic, p) for p in range(partitions)])
            return await watch(
                lambda: consumer.getmany(timeout_ms=1000), before, partitions, seconds
            )

    return asyncio.run(run())


async def watch(
    poll: Callable[[], object], before: int, partitions: int, seconds: float
) -> tuple[float, float]:
    """(bytes per partition, share of one core) of a consumer that polls and gets nothing."""

    async def until(deadline: float) -> None:
        while time.monotonic() < deadline:
            await poll()  # type: ignore[misc]  # both consumers' polls are coroutines

    await until(time.monotonic() + 3)
    start, cpu = time.monotonic(), time.process_time()
    await until(start + seconds)
    share = (time.process_time() - cpu) / (time.monotonic() - start)
    return (rss_bytes() - before) / partitions, share


def idle_confluent(
    bootstrap: str, topic: str, partitions: int, seconds: float
) -> tuple[float, float]:
    import confluent_kafka

    consumer = confluent_kafka.Consumer({"bootstrap.servers": bootstrap, "group.id": "confluent"})
    before = rss_bytes()
    consumer.assign([confluent_kafka.TopicPartition(topic, p) for p in range(partitions)])
    deadline = time.monotonic() + 3
    while time.monotonic() < deadline:
        consumer.poll(1)
    start, cpu = time.monotonic(), time.process_time()
    while time.monotonic() < start + seconds:
        consumer.poll(1)
    share = (time.process_time() - cpu) / (time.monotonic() - start)
    grown = rss_bytes() - before
    consumer.close()
    return grown / partitions, share


def idle_kafka_python(
    bootstrap: str, topic: str, partitions: int, seconds: float
) -> tuple[float, float]:
    import kafka

    consumer = kafka.KafkaConsumer(bootstrap_servers=bootstrap, group_id="kafka-python")
    before = rss_bytes()
    consumer.assign([kafka.TopicPartition(topic, p) for p in range(partitions)])
    deadline = time.monotonic() + 3
    while time.monotonic() < deadline:
        consumer.poll(1000)
    start, cpu = time.monotonic(), time.process_time()
    while time.monotonic() < start + seconds:
        consumer.poll(1000)
    share = (time.process_time() - cpu) / (time.monotonic() - start)
    grown = rss_bytes() - before
    consumer.close()
    return grown / partitions, share


IDLE: Final[dict[str, Callable[[str, str, int, float], tuple[float, float]]]] = {
    "ours": idle_ours,
    "confluent-kafka": idle_confluent,
    "aiokafka": idle_aiokafka,
    "kafka-python": idle_kafka_python,
}


def in_fresh_process(name: str, *arguments: object) -> tuple[float, float]:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.client_footprint", "--only", name, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=True,
    )
    per_partition, share = json.loads(done.stdout.splitlines()[-1])
    return per_partition, share


def compare(partitions: int, seconds: float) -> None:
    print("\nimport of producer, consumer and admin")
    for name, statement in IMPORTS.items():
        print(f"  {name:18} {min(import_ms(statement) for _ in range(5)):6.0f} ms")
    with Broker(in_process=False) as broker:
        topic = "footprint"
        with blocking.Admin(bootstrap_servers=broker.bootstrap_servers) as admin:
            admin.create_topics([NewTopic(topic, partitions, 1)]).raise_errors()
        print(f"\na consumer of {partitions:,} partitions that gets nothing")
        for name in IDLE:
            rounds = [
                in_fresh_process(name, broker.bootstrap_servers, topic, partitions, seconds)
                for _ in range(ROUNDS)
            ]
            memory, share = (min(values) for values in zip(*rounds, strict=True))
            print(f"  {name:18} {memory / 1024:6.1f} KiB a partition  {share:6.2%} of a core")
        one = in_fresh_process("ours", broker.bootstrap_servers, topic, 1, seconds)
        print(f"  ours, 1 partition  {one[1]:33.2%} of a core")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--partitions", type=int, default=1_000)
    parser.add_argument("--idle-seconds", type=float, default=10)
    parser.add_argument("--only", nargs=5, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.only is None:
        compare(options.partitions, options.idle_seconds)
        return
    name, bootstrap, topic, partitions, seconds = options.only
    print(json.dumps(IDLE[name](bootstrap, topic, int(partitions), float(seconds))))


if __name__ == "__main__":
    main()
