"""A whole node, producers and a group of consumers in one virtual loop, with a bad network between them and a disk that loses power.

Time is virtual, chance is seeded: a seed always tells the same story, `SimNetwork.trace` word for word.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from dataclasses import dataclass, field

from millstream.broker.config.broker_config import broker_config
from millstream.broker.node.process import NodeProcess
from millstream.clients import Admin, Consumer, Delivery, NewTopic, Producer, TopicPartition
from millstream.errors import KafkaError, MillstreamError
from millstream.net.network import Environment
from millstream.testing.sim_random import SimRandom
from tests.sim.network import SimNetwork, Weather
from tests.sim.virtual_time import VirtualClock
from tests.support.simulated_disk import SimFileSystem

BOOTSTRAP = "broker:9092"
TOPIC = "events"
GROUP = "readers"
PARTITIONS = 3
CALM = Weather()
STORM = Weather(delay_max_ms=150, cut=0.01, swallow=0.002)


@dataclass
class SimNode:
    """One broker and its disk; it can lose its power and come back."""

    network: SimNetwork
    disk: SimFileSystem = field(default_factory=SimFileSystem)
    lives: int = 0

    async def start(self) -> None:
        self.lives += 1
        settings = {"listeners": f"PLAINTEXT://{BOOTSTRAP}", "log.dirs": "/data", "node.id": "1"}
        self._process = NodeProcess(
            broker_config(settings),
            VirtualClock(),
            SimRandom(self.network.seed * 100 + self.lives),
            self.disk,
            self.network.host("broker"),
            now_s=asyncio.get_running_loop().time,
        )
        ready = asyncio.Event()
        self._running = asyncio.get_running_loop().create_task(
            self._process.run(lambda _report: ready.set())
        )
        started = asyncio.get_running_loop().create_task(ready.wait())
        await asyncio.wait({self._running, started}, return_when=asyncio.FIRST_COMPLETED)
        if not ready.is_set():
            started.cancel()
            await self._running

    async def stop(self) -> None:
        self._process.request_stop()
        await self._running

    async def lose_power(self) -> None:
        """What was not synced is gone. It comes back after a while."""
        self._process.request_abort()
        with contextlib.suppress(MillstreamError):
            await self._running
        self.disk.crash()
        await asyncio.sleep(self.network.chance.uniform(0.5, 3))
        await self.start()


@dataclass
class World:
    seed: int
    network: SimNetwork = field(init=False)
    acknowledged: set[bytes] = field(default_factory=set)
    """What producers were told is written."""
    processed: Counter[bytes] = field(default_factory=Counter)
    """What members of the group were given, however often."""

    def __post_init__(self) -> None:
        self.network = SimNetwork(self.seed)
        self.node = SimNode(self.network)
        self._clients = 0
        self._progress = asyncio.Event()

    def environment(self) -> Environment:
        """A host of its own for each client."""
        self._clients += 1
        chance = SimRandom(self.seed * 1_000 + self._clients)
        return Environment(VirtualClock(), chance, self.network.host(f"client-{self._clients}"))

    async def create_topic(self) -> None:
        async with Admin(
            bootstrap_servers=BOOTSTRAP, client_id="admin", environment=self.environment()
        ) as admin:
            (await admin.create_topics([NewTopic(TOPIC, PARTITIONS)])).raise_errors()

    async def produce(self, name: str, count: int) -> None:
        """Sends `count` different values, in its own time, and notes which of them are acknowledged."""
        chance = self.network.chance
        async with Producer(
            bootstrap_servers=BOOTSTRAP,
            client_id=name,
            linger_ms=20,
            request_timeout_ms=3_000,
            delivery_timeout_ms=600_000,
            environment=self.environment(),
        ) as producer:
            sent: list[tuple[bytes, Delivery]] = []
            for number in range(count):
                value = b"%s-%d" % (name.encode(), number)
                sent.append((value, await producer.send(TOPIC, value, key=b"%d" % (number % 7))))
                await asyncio.sleep(chance.uniform(0, 0.3))
            for value, delivery in sent:
                with contextlib.suppress(KafkaError):
                    await delivery
                    self.acknowledged.add(value)

    async def consume(self, name: str, protocol: str, done: asyncio.Event) -> None:
        """A member of the group: what it is given it processes, then it commits."""
        async with Consumer(
            bootstrap_servers=BOOTSTRAP,
            client_id=name,
            group_id=GROUP,
            group_protocol=protocol,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            request_timeout_ms=3_000,
            environment=self.environment(),
        ) as consumer:
            consumer.subscribe([TOPIC])
            while not done.is_set():
                with contextlib.suppress(KafkaError):
                    records = await consumer.poll(timeout_ms=500)
                    self.processed.update(record.value or b"" for record in records)
                    self._progress.set()
                    if records:
                        await consumer.commit(timeout_ms=5_000)

    async def everything_is_processed(self) -> None:
        """Waits until the group was given all that was acknowledged."""
        while not self.acknowledged <= self.processed.keys():
            self._progress.clear()
            await self._progress.wait()

    async def log(self) -> list[bytes]:
        """All that is in the topic now."""
        async with Consumer(
            bootstrap_servers=BOOTSTRAP,
            client_id="reader",
            auto_offset_reset="earliest",
            environment=self.environment(),
        ) as consumer:
            partitions = [TopicPartition(TOPIC, index) for index in range(PARTITIONS)]
            consumer.assign(partitions)
            ends = await consumer.end_offsets(partitions)
            values: list[bytes] = []
            while any([await consumer.position(each) < ends[each] for each in partitions]):
                values += [record.value or b"" for record in await consumer.poll()]
            return values
