"""An application whose tasks run here, one run at a time, and which crashes where a test says."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Self

from millstream.clients import Admin, NewTopic, Producer, RangeReader
from millstream.model import TopicPartition
from millstream.runtime.system import SystemClock
from millstream.streams import StreamsBuilder
from millstream.streams.config import ProcessingGuarantee, StreamsConfig
from millstream.streams.runtime.clients import TaskClients
from millstream.streams.runtime.report import TaskReport
from millstream.streams.runtime.snapshots.description import SnapshotPlan
from millstream.streams.runtime.spec import TaskEnvironment, TaskSpec
from millstream.streams.runtime.steps import ObservedStep, Step
from millstream.streams.runtime.tasks.active_task import ActiveTask
from millstream.streams.runtime.tasks.task_start import TaskStart
from millstream.streams.serdes import long, string
from millstream.streams.topology import Topology

EARLIEST, LATEST = -2, -1


class Crash(Exception):
    pass


def counting(source: str, sink: str) -> Topology:
    """Values of `source` counted, over a repartition topic, into `sink`."""
    builder = StreamsBuilder()
    (
        builder.stream(source, key=string(), value=string())
        .group_by(lambda _, value: value, key=string(), value=string(), name="by-value")
        .count()
        .to_stream()
        .to(sink, value=long())
    )
    return builder.build()


class World:
    """Topics, clients, and the tasks of partition 0. `crash_at` makes the next run raise after that step."""

    def __init__(
        self, application: str, admin: Admin, reader: RangeReader, servers: str, directory: Path
    ) -> None:
        self.application, self.admin, self.reader, self.servers = (
            application,
            admin,
            reader,
            servers,
        )
        self.source, self.sink = f"{application}-in", f"{application}-out"
        self.other_source = f"{application}-added"
        """Of a later version."""
        self.directory = directory
        self.topology = counting(self.source, self.sink)
        self.config = StreamsConfig(
            application_id=application, processing_guarantee=ProcessingGuarantee.EXACTLY_ONCE_V2
        )
        self.crash_at: Step | None = None
        self.once_after: tuple[Step, Callable[[], object]] | None = None
        """The step after which something happens once, while the process stands still."""
        self.transaction_timeout_ms = 60_000
        self.max_block_ms = 60_000
        self.snapshots: SnapshotPlan | None = None
        self.kernel = ThreadPoolExecutor(1)
        self.producers: list[Producer] = []

    @classmethod
    @asynccontextmanager
    async def open(cls, servers: str, directory: Path, application: str) -> AsyncIterator[Self]:
        async with (
            Admin(bootstrap_servers=servers) as admin,
            RangeReader(bootstrap_servers=servers, isolation_level="read_committed") as reader,
        ):
            world = cls(application, admin, reader, servers, directory)
            await world.create(world.source, world.sink)
            for group in world.topology.sub_topologies:
                mine = world.topology.topics_of(group, application)
                await world.create(*mine.repartition, *mine.changelogs)
            yield world
            world.kernel.shutdown()

    @asynccontextmanager
    async def second_owner(self, directory: Path) -> AsyncIterator[World]:
        """Another process with the same application, on another disk."""
        async with (
            Admin(bootstrap_servers=self.servers) as admin,
            RangeReader(bootstrap_servers=self.servers, isolation_level="read_committed") as reader,
        ):
            world = World(self.application, admin, reader, self.servers, directory)
            yield world
            world.kernel.shutdown()

    async def create(self, *names: str, partitions: int = 1) -> None:
        # The times of records are those of 1970: a broker would delete them when it next looks.
        kept: dict[str, str | None] = {"retention.ms": "-1"}
        wanted = [NewTopic(name, partitions, configs=kept) for name in names]
        (await self.admin.create_topics(wanted)).raise_errors()

    async def put(self, values: Sequence[str], topic: str | None = None) -> None:
        async with Producer(bootstrap_servers=self.servers) as producer:
            for number, value in enumerate(values):
                await producer.send(
                    topic or self.source,
                    value.encode(),
                    key=str(number).encode(),
                    timestamp_ms=number,
                )

    async def put_keys(self, keys: Sequence[str]) -> None:
        async with Producer(bootstrap_servers=self.servers) as producer:
            for key in keys:
                await producer.send(self.source, b"", key=key.encode(), timestamp_ms=0)

    async def results(self, topic: str | None = None) -> list[tuple[str, int]]:
        """What a read_committed consumer sees of the output, or of another topic of counts."""
        return [
            (row["key"].decode(), int.from_bytes(row["value"], "big"))
            async for row in self.records(topic or self.sink)
        ]

    async def records(self, topic: str) -> AsyncIterator[dict[str, bytes]]:
        end = (await self.reader.offsets(topic, LATEST))[0]
        start = (await self.reader.offsets(topic, EARLIEST))[0]
        async for batch in self.reader.read(topic, 0, start, end):
            for row in batch.to_pylist():
                yield row

    async def ends(self, topics: Sequence[str]) -> dict[str, int]:
        return {topic: (await self.reader.offsets(topic, LATEST))[0] for topic in topics}

    async def committed(self) -> Mapping[TopicPartition, int]:
        found = (await self.admin.list_consumer_group_offsets([self.application])).result(
            self.application
        )
        return {tp: found.result(tp).offset for tp in found}

    def spec(self, sub_topology: int) -> TaskSpec:
        return TaskSpec(
            topology=self.topology,
            sub_topology=sub_topology,
            config=self.config,
            state_directory=str(self.directory / "state"),
            snapshots=self.snapshots,
        )

    def environment(self) -> TaskEnvironment:
        return TaskEnvironment(
            TaskClients(self.reader, self.admin, self._producer),
            SystemClock(),
            self.kernel,
            self._observe,
        )

    async def start(self, sub_topology: int) -> ActiveTask:
        return await TaskStart(self.spec(sub_topology), 0, self.environment()).start()

    async def run(self, sub_topology: int, ends: Mapping[str, int] | None = None) -> TaskReport:
        """Starts the task, runs it up to `ends` or over all there is, and closes it."""
        spec = self.spec(sub_topology)
        task = await self.start(sub_topology)
        try:
            return await task.run(await self.ends(spec.sources) if ends is None else ends)
        finally:
            await task.close()

    async def run_all(self) -> list[TaskReport]:
        return [await self.run(number) for number in range(len(self.topology.sub_topologies))]

    def guarantee(self, guarantee: ProcessingGuarantee) -> None:
        self.config = replace(self.config, processing_guarantee=guarantee)

    def _observe(self, step: ObservedStep, _task_id: str) -> None:
        if step is self.crash_at:
            self.crash_at = None
            raise Crash(step)
        if self.once_after is not None and step is self.once_after[0]:
            (_, happen), self.once_after = self.once_after, None
            happen()

    def _producer(self, transactional_id: str | None) -> Producer:
        producer = Producer(
            bootstrap_servers=self.servers,
            transactional_id=transactional_id,
            transaction_timeout_ms=self.transaction_timeout_ms,
            max_block_ms=self.max_block_ms,
            linger_ms=0,
        )
        self.producers.append(producer)
        return producer
