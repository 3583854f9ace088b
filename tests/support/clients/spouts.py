"""Spouts on topics whose records are 0, 1, 2 and so on, in groups that settle soon."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from typing import Any

from millstream.clients import (
    Admin,
    Consumer,
    NewTopic,
    Producer,
    Spout,
    SpoutMessage,
    TopicPartition,
)
from millstream.testing.broker import Broker
from tests.patience import LONG_ENOUGH_S

FAST = {
    "group.consumer.min.heartbeat.interval.ms": "50",
    "group.consumer.heartbeat.interval.ms": "50",
    "group.consumer.assignment.interval.ms": "0",
    "group.initial.rebalance.delay.ms": "0",
}


def quick_bootstrap() -> Iterator[str]:
    """A broker, or the Apache Kafka of MILLSTREAM_KAFKA_BOOTSTRAP."""
    kafka = os.environ.get("MILLSTREAM_KAFKA_BOOTSTRAP")
    if kafka:
        yield kafka
        return
    with Broker(in_process=False, settings=FAST) as broker:
        yield broker.bootstrap_servers


async def filled(bootstrap: str, topic: str, count: int, partitions: int = 1) -> str:
    """A topic with the records 0, 1, 2, ..., spread over its partitions."""
    async with Admin(bootstrap_servers=bootstrap) as admin:
        (await admin.create_topics([NewTopic(topic, partitions)])).raise_errors()
    await produce(bootstrap, topic, range(count), partitions)
    return topic


async def produce(bootstrap: str, topic: str, numbers: range, partitions: int = 1) -> None:
    async with Producer(bootstrap_servers=bootstrap) as producer:
        for number in numbers:
            await producer.send(topic, b"%d" % number, partition=number % partitions)


def spout_of(bootstrap: str, topic: str, **settings: Any) -> Spout:  # Any: settings of any kind
    return Spout(
        topic, bootstrap_servers=bootstrap, group_id=f"g-{topic}", commit_interval_ms=50, **settings
    )


async def take(spout: Spout, count: int) -> list[SpoutMessage]:
    async with asyncio.timeout(LONG_ENOUGH_S):
        return [await anext(spout) for _ in range(count)]


async def committed(bootstrap: str, topic: str, partition: int = 0) -> int | None:
    async with Consumer(bootstrap_servers=bootstrap, group_id=f"g-{topic}") as consumer:
        where = TopicPartition(topic, partition)
        position = (await consumer.committed([where]))[where]
        return None if position is None else position.offset


def values(messages: list[SpoutMessage]) -> list[int]:
    return [int(message.value) for message in messages]
