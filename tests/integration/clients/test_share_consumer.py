"""Share consumers on a running broker: who gets what, and what becomes of it (KIP-932).

With MILLSTREAM_KAFKA_BOOTSTRAP=HOST:PORT the same tests run against an Apache Kafka.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator
from typing import Unpack

import pytest

from millstream.clients import AcknowledgeType, Producer, ShareConsumer
from millstream.clients.core.config.share import ShareConsumerSettings
from millstream.clients.core.values import ConsumerRecord
from millstream.testing.broker import Broker
from millstream.testing.raw_client import RawClient
from millstream.testing.raw_share_member import configure_group

ACCEPT, RELEASE, REJECT, RENEW = AcknowledgeType
QUICK = {
    "group.share.heartbeat.interval.ms": "100",
    "group.share.min.heartbeat.interval.ms": "100",
    "group.share.assignment.interval.ms": "0",
    "group.share.min.record.lock.duration.ms": "1000",
}
"""Partitions are assigned soon, and locks may be short."""
LIMIT_S = 30
NewName = Callable[[], str]


@pytest.fixture(scope="module")
def bootstrap() -> Iterator[str]:
    kafka = os.environ.get("MILLSTREAM_KAFKA_BOOTSTRAP")
    if kafka:
        yield kafka
        return
    with Broker(in_process=False, settings=QUICK) as broker:
        yield broker.bootstrap_servers


class World:
    """A topic, and a group of the same name that reads it from the start."""

    def __init__(self, bootstrap: str, name: str, partitions: int = 1) -> None:
        self.bootstrap = bootstrap
        self.name = name
        with RawClient(bootstrap) as client:
            client.create_topic(name, partitions=partitions)
        self.configure(auto_offset_reset="earliest")

    def configure(self, **settings: object) -> None:
        with RawClient(self.bootstrap) as client:
            configure_group(client, self.name, **settings)

    async def produce(self, count: int, partitions: int = 1) -> None:
        async with Producer(bootstrap_servers=self.bootstrap) as producer:
            for number in range(count):
                await producer.send(self.name, b"%d" % number, partition=number % partitions)

    def member(self, **settings: Unpack[ShareConsumerSettings]) -> ShareConsumer:
        consumer = ShareConsumer(bootstrap_servers=self.bootstrap, group_id=self.name, **settings)
        consumer.subscribe([self.name])
        return consumer


@pytest.fixture
def world(bootstrap: str, new_topic: NewName) -> World:
    return World(bootstrap, new_topic())


async def some(consumer: ShareConsumer, **options: int) -> list[ConsumerRecord]:
    """The first poll that returns something."""
    async with asyncio.timeout(LIMIT_S):
        while not (records := await consumer.poll(**options)):
            pass
    return records


def seen(records: list[ConsumerRecord]) -> list[tuple[int, int | None]]:
    return [(record.offset, record.delivery_count) for record in records]


# ---- implicit mode


async def test_the_next_poll_accepts_what_the_last_one_returned(world: World) -> None:
    await world.produce(3)
    async with world.member() as consumer:
        assert seen(await some(consumer)) == [(0, 1), (1, 1), (2, 1)]
        await world.produce(1)
        assert seen(await some(consumer)) == [(3, 1)]
    async with world.member() as successor:
        assert seen(await some(successor)) == [(3, 2)], "closing accepts nothing"
        assert set((await successor.commit()).values()) == {None}
    async with world.member() as last:
        assert await last.poll(timeout_ms=1_000) == []
