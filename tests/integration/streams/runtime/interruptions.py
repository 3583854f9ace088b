"""An application of many tasks that is interrupted by chance, and what it must have written in the end.

Every task is run in micro-batches of random size. Runs crash at random steps; what a crash leaves behind is a producer that was
closed, or one that lives on as in a paused process. Between runs tasks are closed, moved to another directory, robbed of
their stores or given an older copy of them. What each micro-batch has read is noted, and goes record by record through the same
sub-topology with stores in memory: that is what must be found.
"""

from __future__ import annotations

import random
import shutil
from collections import defaultdict
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, NamedTuple, Self

from millstream.clients import Admin, NewTopic, Producer, RangeReader
from millstream.clients.producer.core.murmur2 import partition_for_key
from millstream.runtime.system import SystemClock
from millstream.streams import StreamsConfig
from millstream.streams.config import ProcessingGuarantee, TimeAcrossRepartitions
from millstream.streams.kernel import (
    Headers,
    RawBatch,
    SinkBatch,
    StreamTask,
    TaskOutput,
    TaskTopics,
)
from millstream.streams.runtime.clients import TaskClients
from millstream.streams.runtime.spec import TaskEnvironment, TaskSpec
from millstream.streams.runtime.steps import ObservedStep, Step
from millstream.streams.runtime.tasks.active_task import ActiveTask
from millstream.streams.runtime.tasks.task_start import TaskStart
from millstream.streams.runtime.upstreams.origin_headers import ORIGIN_HEADER
from millstream.streams.state import in_memory_stores
from millstream.streams.state.store import StateStore
from millstream.streams.topology import Topology
from millstream.streams.topology.partition_counts import partition_counts
from millstream.testing.streams.topology_test_driver import TopologyTestDriver
from tests.integration.streams.runtime.shapes import Shape

EARLIEST, LATEST = -2, -1
CACHE_BYTES: Final = 10 << 20
DENSE, SPARSE = 40, 14
BATCH_MAX: Final = 8
MORE_STEPS: Final = 3
STARTING: Final = (Step.STARTING, Step.FENCED, Step.RESTORED)
ANY: Final = -1
"""The partition of records without a key, which may go to any."""
KEYS: Final = "abcde"
EVENT_TIME_MS: Final = 60_000
HOUR_MS: Final = 3_600_000

TaskKey = tuple[int, int]
"""Sub-topology and partition."""
Rows = Mapping[bytes, bytes]


class Crash(Exception):
    pass


class Written(NamedTuple):
    """A record as readers see it."""

    topic: str
    partition: int
    key: bytes | None
    value: bytes | None
    timestamp: int
    headers: Headers


class _Cluster(NamedTuple):
    admin: Admin
    reader: RangeReader
    servers: str


class _Producer(Producer):
    """May be left behind as it is, as by a process that stands still."""

    is_left = False

    async def close(self, timeout_ms: int | None = None) -> None:
        if not self.is_left:
            await super().close(timeout_ms)


@dataclass
class Interruption:
    """What is to happen to a task in its next run, and whether it came to that."""

    step: Step
    leaves_producer: bool
    happened: bool = False


@dataclass
class _Task:
    """A task of the application as its owner knows it: its place, and the micro-batches that it has committed."""

    spec: TaskSpec
    partition: int
    directories: tuple[Path, Path]
    at: int = 0
    active: ActiveTask | None = None
    position: dict[str, int] = field(default_factory=dict)
    committed: list[dict[str, int]] = field(default_factory=list)

    @property
    def stores(self) -> Path:
        return self.directories[self.at] / self.spec.task_id(self.partition)


class InterruptedApplication:
    """`open` creates the topics; `run` works through all input; `check` compares. Repeats itself with its seed, but for the wall clock."""

    def __init__(
        self, shape: Shape, seed: str, name: str, cluster: _Cluster, directory: Path
    ) -> None:
        self.chance = random.Random(seed)
        self.shape, self.name, self.directory = shape, name, directory
        self.admin, self.reader, self.servers = cluster
        self.partitions = self.chance.choice((1, 1, 2))
        topology = shape.build(f"{name}-")
        self.topology: Topology = (
            topology.with_own_changelogs() if self.chance.random() < 0.5 else topology
        )
        self.config = StreamsConfig(
            application_id=name,
            processing_guarantee=ProcessingGuarantee.EXACTLY_ONCE_V2,
            cache_max_bytes=CACHE_BYTES if shape.is_cached else 0,
        )
        self.kernel = ThreadPoolExecutor(1)
        self.tasks: dict[TaskKey, _Task] = {}
        self.left: list[_Producer] = []
        self.interrupted_at: list[Step] = []
        self._next: Interruption | None = None
        self._running: tuple[_Task, Mapping[str, int]] | None = None

    @classmethod
    @asynccontextmanager
    async def open(
        cls, shape: Shape, seed: str, name: str, servers: str, directory: Path
    ) -> AsyncIterator[Self]:
        async with (
            Admin(bootstrap_servers=servers) as admin,
            RangeReader(bootstrap_servers=servers, isolation_level="read_committed") as reader,
        ):
            cluster = _Cluster(admin, reader, servers)
            application = cls(shape, seed, name, cluster, directory)
            await application._create_topics()
            try:
                yield application
            finally:
                await application._end()

    # Topics and input.

    async def _create_topics(self) -> None:
        outside = dict.fromkeys((*self._sources(), f"{self.name}-out"), self.partitions)
        counts = partition_counts(self.topology, self.name, outside)
        wanted = [NewTopic(topic, count) for topic, count in outside.items()]
        for group in self.topology.sub_topologies:
            mine = self.topology.topics_of(group, self.name)
            count = max(counts[topic] for topic in mine.sources)
            internal = {topic: counts[topic] for topic in mine.repartition}
            internal |= {topic: count for topic in mine.changelogs if topic not in mine.sources}
            settings = {**mine.repartition, **mine.changelogs}
            wanted += [
                NewTopic(topic, number, configs=dict(settings[topic]))
                for topic, number in internal.items()
            ]
            for partition in range(count):
                here = (self.directory / "here", self.directory / "there")
                self.tasks[group.id, partition] = _Task(
                    self._spec(group.id, here[0]), partition, here
                )
        (await self.admin.create_topics(wanted)).raise_errors()

    def _sources(self) -> list[str]:
        return [f"{self.name}-{source}" for source in self.shape.sources]

    def _spec(self, sub_topology: int, directory: Path) -> TaskSpec:
        return TaskSpec(
            topology=self.topology,
            sub_topology=sub_topology,
            config=self.config,
            state_directory=str(directory),
        )

    async def put_input(self) -> None:
        """Dense and sparse topics over the same time, with records out of order, some of them late; the last one closes all windows."""
        base_ms = SystemClock().now().wall_ms // HOUR_MS * HOUR_MS
        async with Producer(bootstrap_servers=self.servers, linger_ms=0) as producer:
            for number, source in enumerate(self.shape.sources):
                count = SPARSE if number else DENSE
                for at, key, value in self._records(source, count * self.partitions):
                    await producer.send(
                        f"{self.name}-{source}", value, key=key, timestamp_ms=base_ms + at,
                        partition=partition_for_key(key, self.partitions),
                        headers=[("n", b"%d" % at)] if at % 3 == 0 else [],
                    )  # fmt: skip

    def _records(self, source: str, count: int) -> Iterator[tuple[int, bytes, bytes | None]]:
        times = sorted(self.chance.sample(range(EVENT_TIME_MS), count))
        for number, time in enumerate(times):
            at = time if self.chance.random() < 0.8 else max(0, time - self.chance.randrange(9_000))
            deletes = source in self.shape.tables and self.chance.random() < 0.2
            value = None if deletes else f"{source[0]}{number}".encode()
            yield at, self.chance.choice(KEYS).encode(), value
        for key in KEYS:  # all partitions are brought to one time
            yield 3 * EVENT_TIME_MS, key.encode(), f"{source[0]}{count}".encode()

    # Running.

    async def run(self) -> None:
        """Until every task has read everything, and every step has been interrupted somewhere."""
        steps = [*Step, *self.chance.choices(list(Step), k=MORE_STEPS)]
        self.chance.shuffle(steps)
        while due := await self._due():
            task, ends = self.chance.choice(due)
            left = sum(sum(ends.values()) - sum(task.position.values()) for task, ends in due)
            if steps and (left <= 2 * BATCH_MAX * (len(steps) + 1) or self.chance.random() < 0.8):
                self._next = Interruption(steps.pop(), self.chance.random() < 0.5)
                if self._next.step in STARTING:
                    await self._close(task)
            try:
                await self._run(task, self._cut(task, ends))
            except Crash:
                await self._after_crash(task)
            if self._next is not None and not self._next.happened:
                steps.insert(self.chance.randrange(len(steps) + 1), self._next.step)
            self._next = None
            await self._disturb(task)

    async def _due(self) -> list[tuple[_Task, dict[str, int]]]:
        due = []
        for task in self.tasks.values():
            found = {
                topic: (await self.reader.offsets(topic, LATEST))[task.partition]
                for topic in task.spec.sources
            }
            if any(end > task.position.get(topic, 0) for topic, end in found.items()):
                due.append((task, found))
        return due

    def _cut(self, task: _Task, ends: Mapping[str, int]) -> dict[str, int]:
        """Some of what is there, of each topic another part."""
        starts = {topic: task.position.get(topic, 0) for topic in ends}
        cut = {
            topic: min(end, starts[topic] + self.chance.randrange(BATCH_MAX + 1))
            for topic, end in ends.items()
        }
        if cut == starts:
            cut = {topic: min(end, starts[topic] + 1) for topic, end in ends.items()}
        return cut

    async def _run(self, task: _Task, ends: Mapping[str, int]) -> None:
        self._running = (task, ends)
        if task.active is None:
            task.spec = self._spec(task.spec.sub_topology, task.directories[task.at])
            task.active = await TaskStart(task.spec, task.partition, self._environment()).start()
            assert dict(task.active.position) == {
                topic: task.position.get(topic, 0) for topic in task.spec.sources
            }
        await task.active.run(ends)

    async def _after_crash(self, task: _Task) -> None:
        active, task.active = task.active, None
        if active is not None:
            await active.close()

    async def _disturb(self, task: _Task) -> None:
        """Between two runs of a task."""
        match self.chance.randrange(10):
            case 0 | 1:
                await self._close(task)
            case 2:
                await self._close(task)
                shutil.rmtree(task.stores, ignore_errors=True)
            case 3 | 4:
                await self._close(task)
                task.at = 1 - task.at
            case 5:
                await self._close(task)
                self._copy(task.stores, self._older(task))
            case 6 if self._older(task).exists():
                await self._close(task)
                self._copy(self._older(task), task.stores)
            case 7 if self.left:
                await self._go_on(self.left.pop())
            case _:
                pass

    def _older(self, task: _Task) -> Path:
        return self.directory / "older" / task.spec.task_id(task.partition)

    def _copy(self, source: Path, target: Path) -> None:
        shutil.rmtree(target, ignore_errors=True)
        if source.exists():
            shutil.copytree(source, target)

    async def _close(self, task: _Task) -> None:
        if task.active is not None:
            await task.active.close()
            task.active = None

    async def _go_on(self, producer: _Producer) -> None:
        """A process that stood still wakes up, and commits: it must not succeed where another has taken its place."""
        transactional_id = producer.config.transactional_id
        owner = next(
            task
            for task in self.tasks.values()
            if task.spec.transactional_id(task.partition) == transactional_id
        )
        if owner.active is None:
            self.left.append(producer)
            return
        with suppress(
            Exception
        ):  # fenced, or without a transaction; the end shows that it changes nothing
            await producer.commit_transaction()
        producer.is_left = False
        await producer.close(timeout_ms=0)

    def _environment(self) -> TaskEnvironment:
        clients = TaskClients(self.reader, self.admin, self._producer)
        return TaskEnvironment(clients, SystemClock(), self.kernel, self._observe)

    def _producer(self, transactional_id: str | None) -> Producer:
        self._made = _Producer(
            bootstrap_servers=self.servers, transactional_id=transactional_id, linger_ms=0
        )
        return self._made

    def _observe(self, step: ObservedStep, _task_id: str) -> None:
        assert self._running is not None, "a task is run"
        task, ends = self._running
        if step is Step.COMMITTED:
            task.committed.append(dict(ends))
            task.position |= ends
        interruption = self._next
        if interruption is not None and step is interruption.step and not interruption.happened:
            interruption.happened = True
            self.interrupted_at.append(interruption.step)
            producer = self._made if task.active is None else task.active._producer
            if interruption.leaves_producer:
                assert isinstance(producer, _Producer), "all are made here"
                producer.is_left = True
                self.left.append(producer)
            raise Crash(step)

    async def _end(self) -> None:
        for task in self.tasks.values():
            await self._close(task)
        for producer in self.left:
            producer.is_left = False
            await producer.close(timeout_ms=0)
        self.kernel.shutdown()

    # What is there.

    async def written(self, topic: str, count: int) -> list[Written]:
        """What a read_committed reader sees of all partitions."""
        starts, ends = [await self.reader.offsets(topic, at) for at in (EARLIEST, LATEST)]
        return [
            Written(topic, ANY if row[0] is None else partition, *row)
            for partition in range(count)
            async for row, _ in self._rows(topic, partition, starts[partition], ends[partition])
        ]

    async def _rows(
        self, topic: str, partition: int, start: int, end: int
    ) -> AsyncIterator[tuple[tuple[Any, ...], int]]:
        """Key, value, timestamp and headers of each record, and its offset. What repartition topics say of origins is not the application's."""
        async for batch in self.reader.read(topic, partition, start, end, columns=("headers",)):
            for row in batch.to_pylist():
                headers = tuple(
                    (each["key"], each["value"])
                    for each in row["headers"] or ()
                    if each["key"] != ORIGIN_HEADER
                )
                yield (row["key"], row["value"], row["timestamp"], headers), row["offset"]

    async def stores(
        self, key: TaskKey, directory: Path
    ) -> dict[str, tuple[Rows, Mapping[str, int]]]:
        """Rows and times of each store, after the task was started here."""
        task = self.tasks[key]
        await self._close(task)
        spec = self._spec(key[0], directory)
        self._running = (task, {})
        active = await TaskStart(spec, key[1], self._environment()).start()
        try:
            assert active._task is not None, "it has been started"
            return {name: _contents(store) for name, store in active._task.stores.items()}
        finally:
            await active.close()

    async def partition_count(self, topic: str) -> int:
        return len((await self.admin.describe_topics([topic])).result(topic).partitions)

    # What should be there.

    async def expected(self, key: TaskKey) -> OneByOne:
        """The task as the test driver would have run it: over what it has committed, one record at a time, without a cache."""
        task = self.tasks[key]
        alone = OneByOne(self.topology, key, replace(self.config, cache_max_bytes=0))
        position = dict.fromkeys(task.spec.sources, 0)
        for ends in task.committed:
            read = {}
            for topic, end in ends.items():
                rows = self._rows(topic, task.partition, position[topic], end)
                read[topic] = [(offset, row) async for row, offset in rows]
                position[topic] = max(position[topic], end)
            alone.take(read)
        return alone

    async def driven(self, alone: Mapping[TaskKey, OneByOne]) -> list[Written]:
        """What the test driver writes to the output, given the input in the order in which the tasks have taken it. One partition."""
        out, inputs = f"{self.name}-out", {}
        for topic in self._sources():
            end = (await self.reader.offsets(topic, LATEST))[0]
            inputs[topic] = {offset: row async for row, offset in self._rows(topic, 0, 0, end)}
        config = replace(self.config, cache_max_bytes=0)
        with TopologyTestDriver(self.topology, config) as driver:
            for topic, offset in (place for key in sorted(alone) for place in alone[key].order):
                if topic in inputs:
                    record, value, timestamp, headers = inputs[topic][offset]
                    driver.pipe_bytes(topic, record, value, timestamp=timestamp, headers=headers)
            return [
                Written(out, 0, each.key, each.value, each.timestamp, tuple(each.headers))
                for each in driver.read_bytes(out)
            ]


class OneByOne:
    """A sub-topology in memory, record by record, as `TopologyTestDriver` runs all of them."""

    def __init__(self, topology: Topology, key: TaskKey, config: StreamsConfig) -> None:
        config = replace(config, batch_records_max=1)
        is_kafka = config.time_across_repartitions is TimeAcrossRepartitions.KAFKA
        topics = TaskTopics(by_arrival=is_kafka)
        self._task = StreamTask(topology, key[0], key[1], in_memory_stores(), config, topics=topics)
        self._partition = key[1]
        self.sinks: list[SinkBatch] = []
        self.order: list[tuple[str, int]] = []
        """Topic and offset of each record, as they were processed."""

    def take(self, read: Mapping[str, Sequence[tuple[int, tuple[Any, ...]]]]) -> None:
        for topic, found in read.items():
            columns: list[list[Any]] = [
                list(column) for column in zip(*(row for _, row in found), strict=True)
            ]
            if found:
                keys, values, timestamps, headers = columns
                offsets = [offset for offset, _ in found]
                self._task.add(topic, RawBatch(keys, values, timestamps, offsets, headers))
        before = self._task.inputs.position
        while (output := self._task.process(0, records_max=1)).processed:
            after = self._task.inputs.position
            (topic,) = (topic for topic in after if after[topic] != before.get(topic))
            self.order.append((topic, after[topic][self._partition]))
            before = after
            self._collect(output)
            self._collect(self._task.prepare_commit().output)
            self._task.commit()

    def _collect(self, output: TaskOutput) -> None:
        self.sinks += output.sinks.values()

    def stores(self) -> dict[str, tuple[Rows, Mapping[str, int]]]:
        return {name: _contents(store) for name, store in self._task.stores.items()}

    def close(self) -> None:
        self._task.close()

    def written(self, counts: Mapping[str, int]) -> Iterator[Written]:
        for batch in self.sinks:
            keys = batch.keys if batch.partition_keys is None else batch.partition_keys
            chosen = batch.partitions or [None] * len(keys)
            for row, (key, partition) in enumerate(zip(keys, chosen, strict=True)):
                if partition is None:
                    partition = ANY if key is None else partition_for_key(key, counts[batch.topic])
                yield Written(
                    batch.topic, partition, batch.keys[row], batch.values[row],
                    batch.timestamps[row], tuple(batch.headers[row]),
                )  # fmt: skip


def _contents(store: StateStore) -> tuple[Rows, Mapping[str, int]]:
    return dict(store.rows.scan(b"", None)), store.known_times()


def by_key(records: Iterable[Written]) -> dict[tuple[str, int, bytes | None], list[Written]]:
    found: dict[tuple[str, int, bytes | None], list[Written]] = defaultdict(list)
    for record in records:
        found[record.topic, record.partition, record.key].append(record)
    return found
