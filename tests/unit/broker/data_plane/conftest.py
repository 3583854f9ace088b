"""A node with one topic of two partitions on a simulated disk: what the data-plane handlers see."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any

import pytest

from millstream.broker.config.broker_config import broker_config
from millstream.broker.config.dynamic_config import DynamicConfig
from millstream.broker.fetch.fetch_sessions import FetchSessions
from millstream.broker.metrics.node_metrics import NodeMetrics
from millstream.broker.produce.ordered_appends import OrderedAppends
from millstream.broker.quotas.node_quotas import NodeQuotas
from millstream.broker.requests.handler_services import bound
from millstream.broker.requests.purgatory import Purgatory
from millstream.broker.requests.request_context import RequestContext
from millstream.broker.storage.durability import Durability
from millstream.errors import KafkaStorageError, UnknownTopicOrPartition
from millstream.log import LogEnvironment, PartitionLog, SavedState
from millstream.metadata.broker_registration import BrokerRegistration
from millstream.metadata.image import (
    MetadataImage,
    PartitionImage,
    TopicImage,
    TopicsImage,
    frozen_mapping,
)
from millstream.metadata.topic_config import LogConfig
from millstream.model import BrokerId, TopicPartition, Uuid
from millstream.quota.rate import QuotaWindows
from millstream.records.builder import BatchOptions, build_batch
from millstream.records.record import Record
from millstream.replication import Partition
from millstream.replication.followers import ReplicationRules
from millstream.replication.throttle import ReplicationThrottles
from millstream.runtime import Instant
from tests.support.handler_services import GivenMetadata, handler_services, request_context
from tests.support.led_partition import registered
from tests.support.simulated_disk import SimFileSystem

TOPIC_ID = Uuid(b"t" * 16)


class ManualClock:
    def __init__(self) -> None:
        self.instant = Instant(1_000_000, 0)

    def now(self) -> Instant:
        return self.instant

    def advance(self, milliseconds: int) -> None:
        self.instant = Instant(
            self.instant.wall_ms + milliseconds, self.instant.monotonic_ms + milliseconds
        )


class CountingRandom:
    def __init__(self) -> None:
        self.count = 0

    def random(self) -> float:
        return 0.5

    def randrange(self, stop: int) -> int:
        self.count += 1
        return self.count % stop

    def randbytes(self, count: int) -> bytes:
        return bytes(count)


class InlinePool:
    """Waits for the disk here and now."""

    async def run(self, work: Callable[[], object]) -> object:
        return work()

    unpack = run


class LoopTasks:
    """Tasks of the running loop."""

    def start(self, coroutine: Coroutine[None, None, None], name: str) -> None:
        asyncio.get_running_loop().create_task(coroutine, name=name)


@dataclass
class InlineFlusher:
    """Syncs at once; counts how often somebody asked."""

    world: DataPlane
    calls: int = 0

    async def flush_to(self, log: PartitionLog, offset: int) -> None:
        self.calls += 1
        if log.recovery_point < offset:
            log.flush(self.world.clock.now())

    def start_flush(self, log: PartitionLog) -> None:
        self.calls += 1
        log.flush(self.world.clock.now())


class DataPlane:
    def __init__(self) -> None:
        self.clock = ManualClock()
        self.disk = SimFileSystem()
        self.purgatory = Purgatory(self.clock)
        self.flusher = InlineFlusher(self)
        self.hosted: dict[tuple[str, int], Partition] = {}
        self.brokers: dict[BrokerId, BrokerRegistration] = {}
        self.due: list[Partition] = []
        self.images: list[PartitionImage] = []
        for number in range(2):
            self.host("t", number)
        topic = TopicImage("t", TOPIC_ID, tuple(self.images))
        image = MetadataImage(
            topics=TopicsImage(frozen_mapping({"t": topic}), frozen_mapping({TOPIC_ID: topic})),
            brokers=self.brokers,
        )
        self.config = DynamicConfig(broker_config({"fetch.max.bytes": str(1 << 30)}))
        self.services = handler_services(
            partitions=self,
            metadata=GivenMetadata(image),
            config=self.config,
            clock=self.clock,
            log_flusher=self.flusher,
            durability=Durability(
                self.flusher,
                self.purgatory,
                lambda: self.services.config.current.millstream_flush_on_ack,
            ),
            disk_pool=InlinePool(),
            ordered_appends=OrderedAppends(LoopTasks()),
            purgatory=self.purgatory,
            metrics=NodeMetrics(lambda: 0),
            quotas=NodeQuotas(QuotaWindows(), QuotaWindows(), self.clock),
            throttles=ReplicationThrottles.of(BrokerId(1), QuotaWindows()),
            fetch_sessions=FetchSessions(CountingRandom(), self.purgatory, slots_max=2),
        )

    def host(self, topic: str, number: int, config: LogConfig | None = None) -> Partition:
        name = TopicPartition(topic, number)
        environment = LogEnvironment(self.disk, CountingRandom())
        log = PartitionLog.open(
            name,
            f"/d/{name}",
            environment,
            config or LogConfig(),
            saved=SavedState(),
            now=self.clock.now(),
        )
        partition = self.hosted[name] = Partition(
            log,
            TOPIC_ID,
            1,
            0,
            self.purgatory.wake,
            rules=ReplicationRules(self.brokers.get),
            on_alteration_due=self.due.append,
        )
        partition.on_growth = self.purgatory.note_growth
        image = PartitionImage(partition=number, replicas=(1,), isr=(1,), leader=1, leader_epoch=3)
        partition.apply(image, self.clock.now())
        self.images.append(image)
        return partition

    def replicate(self, number: int = 0, isr: tuple[int, ...] = (1, 2, 3), **fields: Any) -> None:
        """Gives a partition the replicas 1, 2 and 3; this broker leads unless it is told otherwise."""
        for each in (1, 2, 3):
            self.brokers.setdefault(BrokerId(each), registered(each))
        fields = {"leader": 1, "leader_epoch": 3} | fields
        image = PartitionImage(partition=number, replicas=(1, 2, 3), isr=isr, **fields)
        self.hosted["t", number].apply(image, self.clock.now())

    def host_again(self, partition: Partition) -> None:
        """One that another data plane has opened."""
        partition._on_progress = self.purgatory.wake
        self.hosted[partition.topic_partition] = partition

    def get(self, topic: str, number: int) -> Partition:
        if (topic, number) not in self.hosted:
            raise UnknownTopicOrPartition
        return self.hosted[topic, number]

    def give(self, **services: Any) -> None:
        self.services = replace(self.services, **services)

    def configure(self, **settings: Any) -> None:
        self.config.current = replace(self.config.current, **settings)

    def context(self, version: int, **who: Any) -> RequestContext:
        return request_context(version, now=self.clock.now(), **who)

    def ask(self, handler: ModuleType, request: object, version: int, **who: Any) -> Any:
        """What `handler` answers, or what waits for it."""
        return bound(handler.handle, self.services)(request, self.context(version, **who))

    def batch(self, *values: bytes, key: bytes | None = b"k", **options) -> memoryview:
        records = [
            Record(offset=i, timestamp=1_000, key=key, value=value)
            for i, value in enumerate(values)
        ]
        return memoryview(build_batch(records, BatchOptions(**options)))

    def write(self, number: int, *values: bytes) -> int:
        return self.hosted["t", number].append(self.batch(*values), self.clock.now()).first_offset


@pytest.fixture
async def plane() -> DataPlane:
    return DataPlane()


@pytest.fixture
def storage_error() -> type[KafkaStorageError]:
    return KafkaStorageError
