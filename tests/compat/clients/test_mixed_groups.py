"""Our consumers with those of others in one group: each partition has one owner, and each record is read once.

With MILLSTREAM_KAFKA_BOOTSTRAP=HOST:PORT against an Apache Kafka. Java's consumer takes part in `make oracle`.
"""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Callable, Iterator

import pytest

from millstream.clients import Admin, NewTopic, Producer
from millstream.testing.broker import Broker
from tests.compat.clients.group_readers import (
    CLASSPATH,
    Book,
    JavaReader,
    LibrdkafkaReader,
    OurReader,
    Reader,
    until_read,
    until_shared,
)

PARTITIONS = 6
BATCH = 120
FAST = {
    "group.consumer.min.heartbeat.interval.ms": "100",
    "group.consumer.heartbeat.interval.ms": "100",
    "group.consumer.min.session.timeout.ms": "3000",
    "group.consumer.session.timeout.ms": "30000",
    "group.consumer.assignment.interval.ms": "100",
    "group.initial.rebalance.delay.ms": "0",
}
pytestmark = pytest.mark.compat


@pytest.fixture(scope="module")
def bootstrap() -> Iterator[str]:
    kafka = os.environ.get("MILLSTREAM_KAFKA_BOOTSTRAP")
    if kafka:
        yield kafka
        return
    with Broker(in_process=False, settings=FAST) as running:
        yield running.bootstrap_servers


async def new_topic(bootstrap: str) -> str:
    name = f"mixed-{uuid.uuid4().hex[:8]}"
    async with Admin(bootstrap_servers=bootstrap) as admin:
        (await admin.create_topics([NewTopic(name, PARTITIONS)])).raise_errors()
    return name


class Sending:
    """Numbers, round and round the partitions."""

    def __init__(self, producer: Producer, topic: str) -> None:
        self._producer = producer
        self._topic = topic
        self.count = 0

    async def more(self) -> int:
        """Returns how many there are now."""
        for _ in range(BATCH):
            await self._producer.send(
                self._topic, str(self.count).encode(), partition=self.count % PARTITIONS
            )
            self.count += 1
        await self._producer.flush()
        return self.count


async def check_each_record_is_read_once(
    bootstrap: str, protocol: str, foreign: Callable[[str, str, str, str, Book], Reader]
) -> None:
    """Ours alone, with a foreign one, with another of ours; the foreign one leaves, the first one leaves."""
    topic = await new_topic(bootstrap)
    book = Book()
    running: list[Reader] = []
    async with Producer(bootstrap_servers=bootstrap) as producer:
        sending = Sending(producer, topic)

        async def settle() -> None:
            await until_shared(running, PARTITIONS)
            await until_read(book, await sending.more())

        try:
            running.append(OurReader("a-ours", bootstrap, topic, protocol, book))
            await settle()
            running.append(foreign("b-foreign", bootstrap, topic, protocol, book))
            await settle()
            running.append(OurReader("c-ours", bootstrap, topic, protocol, book))
            await settle()
            await running.pop(1).stop()
            await settle()
            await running.pop(0).stop()
            await settle()
        finally:
            for reader in running:
                await reader.stop()
    assert book.count == sending.count
    assert book.more_than_once() == {}
    assert book.by_reader()["b-foreign"] > 0


@pytest.mark.parametrize("protocol", ["range", "roundrobin", "cooperative-sticky", "consumer"])
async def test_ours_and_librdkafkas_share_a_group(bootstrap: str, protocol: str) -> None:
    await check_each_record_is_read_once(bootstrap, protocol, LibrdkafkaReader)


@pytest.mark.oracle
@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.skipif(
    not CLASSPATH or shutil.which("java") is None,
    reason="MILLSTREAM_KAFKA_CLASSPATH does not name Kafka's jars, or there is no java",
)
@pytest.mark.parametrize(
    "protocol", ["range", "roundrobin", "sticky", "cooperative-sticky", "consumer"]
)
async def test_ours_and_javas_share_a_group(bootstrap: str, protocol: str) -> None:
    await check_each_record_is_read_once(bootstrap, protocol, JavaReader)
