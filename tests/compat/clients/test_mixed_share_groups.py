"""Our share consumer in one share group with others: confluent-kafka's, and Java's (`make oracle`).

With MILLSTREAM_KAFKA_BOOTSTRAP=HOST:PORT the group is one of an Apache Kafka.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator

import confluent_kafka
import pytest

from millstream.clients import Producer, ShareConsumer
from millstream.testing.broker import Broker
from tests.patience import LONG_ENOUGH_S
from tests.support.clients.raw_client import RawClient
from tests.support.clients.raw_share_member import configure_group

CLASSPATH = os.environ.get("MILLSTREAM_KAFKA_CLASSPATH", "")
EACH = 50
"""Records that every member is to have had."""
WAVE = 20
pytestmark = pytest.mark.compat


@pytest.fixture(scope="module")
def bootstrap() -> Iterator[str]:
    kafka = os.environ.get("MILLSTREAM_KAFKA_BOOTSTRAP")
    if kafka:
        yield kafka
        return
    settings = {
        "group.share.heartbeat.interval.ms": "200",
        "group.share.min.heartbeat.interval.ms": "200",
        "group.share.assignment.interval.ms": "0",
    }
    with Broker(in_process=False, settings=settings) as broker:
        yield broker.bootstrap_servers


class SharedTopic:
    """A topic that a group of the same name reads, with a wave of records whenever there is nothing to do."""

    def __init__(self, bootstrap: str, name: str) -> None:
        self.bootstrap = bootstrap
        self.name = name
        self.sent = 0
        with RawClient(bootstrap) as client:
            client.create_topic(name, partitions=2)
            configure_group(client, name, auto_offset_reset="earliest")

    async def work_beside(self, theirs: Callable[[], list[bytes]]) -> list[bytes]:
        """What our member has had, once it and the others have had enough and everything is read."""
        ours: list[bytes] = []
        async with (
            Producer(bootstrap_servers=self.bootstrap) as producer,
            ShareConsumer(bootstrap_servers=self.bootstrap, group_id=self.name) as consumer,
            asyncio.timeout(LONG_ENOUGH_S),
        ):
            consumer.subscribe([self.name])
            while len(ours) + len(theirs()) < self.sent or min(len(ours), len(theirs())) < EACH:
                if min(len(ours), len(theirs())) < EACH:
                    for _ in range(WAVE):
                        value = b"%d" % self.sent
                        await producer.send(self.name, value, partition=self.sent % 2)
                        self.sent += 1
                    await producer.flush()
                records = await consumer.poll(max_records=5, timeout_ms=50)
                ours += [record.value for record in records if record.value is not None]
                assert all(record.delivery_count == 1 for record in records)
            assert set((await consumer.commit()).values()) <= {None}
        return ours


def once_each(count: int) -> list[bytes]:
    return sorted(b"%d" % number for number in range(count))


async def test_a_group_with_confluents_share_consumer(bootstrap: str, topic: str) -> None:
    shared = SharedTopic(bootstrap, topic)
    theirs: list[bytes] = []
    ends = threading.Event()
    settings = {"bootstrap.servers": bootstrap, "group.id": topic, "max.poll.records": "5"}

    def work() -> None:
        with confluent_kafka.ShareConsumer(settings) as consumer:
            consumer.subscribe([topic])
            while not ends.is_set():
                theirs.extend(message.value() for message in consumer.poll(0.1))
            consumer.commit_sync(LONG_ENOUGH_S)

    working = asyncio.create_task(asyncio.to_thread(work))
    try:
        ours = await shared.work_beside(lambda: theirs)
    finally:
        ends.set()
        await working
    assert sorted(ours + theirs) == once_each(shared.sent)


@pytest.mark.oracle
@pytest.mark.skipif(not CLASSPATH, reason="MILLSTREAM_KAFKA_CLASSPATH does not name Kafka's jars")
@pytest.mark.skipif(shutil.which("java") is None, reason="there is no java")
async def test_a_group_with_javas_share_consumer(bootstrap: str, topic: str) -> None:
    shared = SharedTopic(bootstrap, topic)
    with javas_member(bootstrap, topic) as theirs:
        ours = await shared.work_beside(lambda: list(theirs))
    assert sorted(ours + theirs) == once_each(shared.sent)


@contextlib.contextmanager
def javas_member(bootstrap: str, topic: str) -> Iterator[list[bytes]]:
    """The values that Kafka's console share consumer prints."""
    printed: list[bytes] = []
    java = subprocess.Popen(
        ["java", "-Xmx200m", "-cp", CLASSPATH, "org.apache.kafka.tools.consumer.ConsoleShareConsumer",
         "--bootstrap-server", bootstrap, "--topic", topic, "--group", topic,
         "--command-property", "max.poll.records=5"],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    assert java.stdout is not None
    lines = java.stdout
    reader = threading.Thread(target=lambda: printed.extend(line.strip() for line in lines))
    reader.start()
    try:
        yield printed
    finally:
        java.terminate()
        java.wait(LONG_ENOUGH_S)
        reader.join(LONG_ENOUGH_S)
        lines.close()
