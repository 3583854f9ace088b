"""Instances of one application that counts words, with its topics, and what readers see of its results."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, Self

from millstream.clients import Admin, NewTopic, Producer, RangeReader
from millstream.model import TopicPartition
from millstream.runtime import Clock
from millstream.streams import (
    Materialized,
    StateRestoreListener,
    StreamsBuilder,
    StreamsConfig,
    Topology,
)
from millstream.streams.application.clients import ClientSupplier
from millstream.streams.application.kafka_streams import KafkaStreams
from millstream.streams.handlers import UncaughtErrorHandler, shut_down_client
from millstream.streams.runtime.steps import Observer, observe_nothing
from millstream.streams.serdes import long, string
from tests.patience import eventually

PARTITIONS = 4


def counting(source: str, sink: str) -> Topology:
    """Values counted over a repartition topic."""
    builder = StreamsBuilder()
    (
        builder.stream(source, key=string(), value=string())
        .group_by(lambda _, value: value, key=string(), value=string(), name="by-value")
        .count(materialized=Materialized("counts"))
        .to_stream()
        .to(sink, value=long())
    )
    return builder.build()


QUICK: Mapping[str, object] = {"session_timeout_ms": 6_000, "heartbeat_interval_ms": 200}
"""Settings of clients in a classic group, where members that are killed are to be missed soon."""


class Restored:
    """Counts what is restored."""

    def __init__(self) -> None:
        self.records = 0

    def on_restore_start(self, *_: object) -> None:
        """Says nothing new."""

    def on_batch_restored(
        self, _changelog: TopicPartition, _store: str, _end: int, restored: int
    ) -> None:
        self.records += restored

    def on_restore_end(self, *_: object) -> None:
        """As above."""

    def on_restore_suspended(self, *_: object) -> None:
        """As above."""


class Instances:
    def __init__(
        self, servers: str, directory: Path, application: str, stack: AsyncExitStack
    ) -> None:
        self.servers, self.directory, self.application = servers, directory, application
        self.source, self.sink = f"{application}-in", f"{application}-out"
        self.topology = counting(self.source, self.sink)
        self._stack = stack
        self._number = 0

    @classmethod
    @asynccontextmanager
    async def open(
        cls, servers: str, directory: Path, application: str, topics: tuple[str, str] | None = None
    ) -> AsyncIterator[Self]:
        """`topics`: source and sink, where they have names of their own."""
        async with AsyncExitStack() as stack:
            instances = cls(servers, directory, application, stack)
            if topics is not None:
                instances.source, instances.sink = topics
            instances.admin = await stack.enter_async_context(Admin(bootstrap_servers=servers))
            instances.reader = await stack.enter_async_context(
                RangeReader(bootstrap_servers=servers, isolation_level="read_committed")
            )
            await instances.create(instances.source, instances.sink)
            yield instances

    admin: Admin
    reader: RangeReader

    async def create(self, *names: str, partitions: int = PARTITIONS) -> None:
        # The times of records are those of 1970: a broker would delete them when it next looks.
        kept: dict[str, str | None] = {"retention.ms": "-1"}
        wanted = [NewTopic(name, partitions, configs=kept) for name in names]
        (await self.admin.create_topics(wanted)).raise_errors()

    def new(
        self,
        topology: Topology | None = None,
        *,
        on_uncaught_error: UncaughtErrorHandler = shut_down_client,
        restore_listener: StateRestoreListener | None = None,
        clients: Mapping[str, object] | None = None,
        supplier: ClientSupplier | None = None,
        clock: Clock | None = None,
        observe: Observer = observe_nothing,
        **settings: Any,  # Any: settings of any type
    ) -> KafkaStreams:
        """Makes an instance with a disk of its own, exactly once unless told otherwise. `supplier` is instead of `clients`."""
        self._number += 1
        config = StreamsConfig(
            application_id=self.application,
            **{
                "processing_guarantee": "exactly_once_v2",
                "state_dir": str(self.directory / str(self._number)),
            }
            | settings,
        )
        instance = KafkaStreams(
            topology or self.topology,
            config,
            supplier or {"bootstrap_servers": self.servers, **(clients or {})},
            clock=clock,
            on_uncaught_error=on_uncaught_error,
            restore_listener=restore_listener,
            observe=observe,
        )
        self._stack.push_async_callback(instance.close)
        return instance

    async def put(self, values: Sequence[str]) -> None:
        async with Producer(bootstrap_servers=self.servers) as producer:
            for number, value in enumerate(values):
                await producer.send(
                    self.source, value.encode(), key=str(number).encode(), timestamp_ms=number
                )

    async def updates(self) -> list[tuple[str, int]]:
        """What a read_committed consumer sees of the output."""
        found = []
        starts = await self.reader.offsets(self.sink, -2)
        for partition, end in (await self.reader.offsets(self.sink, -1)).items():
            async for batch in self.reader.read(self.sink, partition, starts[partition], end):
                found += [
                    (row["key"].decode(), int.from_bytes(row["value"], "big"))
                    for row in batch.to_pylist()
                ]
        return found

    async def until_written(self, count: int) -> None:
        async def written() -> bool:
            return len(await self.updates()) == count

        await eventually(written)

    async def until_counted(self, values: Sequence[str]) -> None:
        """Waits until each value has been counted, and checks that each count went up by one at a time."""
        wanted = Counter(values)

        async def counted() -> bool:
            return dict(sorted(await self.updates())) == wanted

        await eventually(counted)
        each = sorted((value, n) for value, total in wanted.items() for n in range(1, total + 1))
        assert sorted(await self.updates()) == each, "each update is there once"
