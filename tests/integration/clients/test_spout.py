"""The spout against a broker: what is acked is committed, what is not is given out again.

With MILLSTREAM_KAFKA_BOOTSTRAP=HOST:PORT the same tests run against an Apache Kafka.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from millstream.clients import (
    Admin,
    Consumer,
    NewTopic,
    Producer,
    Spout,
    SpoutMessage,
    TopicPartition,
)
from tests.patience import LONG_ENOUGH_S, eventually

NewName = Callable[[], str]
PROTOCOLS = pytest.mark.parametrize("protocol", ["classic", "consumer"])


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


def spout_of(bootstrap: str, topic: str, **settings: object) -> Spout:
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


@PROTOCOLS
async def test_what_is_acked_without_a_gap_is_committed(
    bootstrap: str, new_topic: NewName, protocol: str
) -> None:
    topic = await filled(bootstrap, new_topic(), 5)
    async with spout_of(bootstrap, topic, group_protocol=protocol) as spout:
        messages = await take(spout, 5)
        assert values(messages) == [0, 1, 2, 3, 4]
        for number in (0, 1, 3):
            messages[number].ack()

        async def two_are() -> bool:
            return await committed(bootstrap, topic) == 2

        await eventually(two_are)
        messages[2].ack()
    assert await committed(bootstrap, topic) == 4
    async with spout_of(bootstrap, topic) as spout:
        assert values(await take(spout, 1)) == [4]
