"""Runs a case as an application on Spark, interrupted as its seed says, and gathers what it leaves behind."""

from __future__ import annotations

import asyncio
import random
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from streams.case_runner import _stores

from millstream.clients import Admin, NewTopic, Producer, RangeReader
from millstream.runtime.system import SystemClock
from millstream.spark import PipelineFailed, Progress, RunnerOptions, SparkStreams
from millstream.spark.pipeline import micro_batches
from millstream.spark.pipeline.jobs import TaskJobs
from millstream.spark.pipeline.messages import Reply, RunTask
from millstream.streams import StreamsConfig, Topology
from millstream.streams.kernel import Headers
from millstream.streams.runtime.clients import TaskClients
from millstream.streams.runtime.global_stores import GlobalStores
from millstream.streams.runtime.report import TaskReport
from millstream.streams.runtime.spec import TaskEnvironment, TaskSpec
from millstream.streams.runtime.task import ActiveTask
from millstream.streams.state.store import StateStore
from millstream.streams.topology.partition_counts import partition_counts
from spark_cases.conversion import Input, LiveCase, Mode, Way, with_application

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EARLIEST, LATEST = -2, -1
LIMITS = (1, 2, 3, 5, 8, 20, None)
"""Records of a micro-batch, over all partitions. One with a record cache: the driver empties it after every record, ours after every micro-batch."""
RESTARTS = 0.25
"""How often an application is closed and made anew between two portions; in half of these cases its stores are deleted."""
RESTARTS_MAX = 3
ROUNDS_MAX = 20
TOPICS_S = 30
_NUMBERS = count()

GLOBAL = -1
TaskKey = tuple[int, int]
"""Sub-topology and partition."""
Rows = Mapping[bytes, bytes]


class Written(NamedTuple):
    """A record as readers see it."""

    topic: str
    partition: int
    key: bytes | None
    value: bytes | None
    timestamp: int
    headers: Headers


class Cluster:
    """The brokers of all cases. `delete_all` ends a case: its clients know topics that the next one makes anew."""

    def __init__(self, servers: str) -> None:
        self.servers = servers
        self._runner = asyncio.Runner()
        self._admin: Admin | None = None
        self._reader: RangeReader | None = None

    def __enter__(self) -> Self:
        self.run(self._open())
        return self

    def __exit__(self, *_: object) -> None:
        self.run(self._close())
        self._runner.close()

    def run(self, work: Any) -> Any:
        return self._runner.run(work)

    async def _open(self) -> None:
        self._admin = Admin(bootstrap_servers=self.servers)
        self._reader = RangeReader(bootstrap_servers=self.servers, isolation_level="read_committed")

    async def _close(self) -> None:
        await self.admin.close()
        await self.reader.close()

    @property
    def admin(self) -> Admin:
        assert self._admin is not None, "it is used as a context manager"
        return self._admin

    @property
    def reader(self) -> RangeReader:
        assert self._reader is not None, "it is used as a context manager"
        return self._reader

    def create(self, topics: Mapping[str, int]) -> None:
        wanted = [
            NewTopic(name, partitions, 1, configs={"retention.ms": "-1"})
            for name, partitions in topics.items()
        ]
        self.run(self.admin.create_topics(wanted)).raise_errors()
        self._await_topics(lambda names: names >= topics.keys())

    def delete_all(self) -> None:
        def are_gone(names: set[str]) -> bool:
            if names:  # some may be gone, and the broker does not know it yet
                self.run(self.admin.delete_topics(list(names)))
            return not names

        self._await_topics(are_gone)
        self.run(self._close())
        self.run(self._open())

    def _await_topics(self, are_as_wanted: Callable[[set[str]], bool]) -> None:
        """A broker of Kafka hears of topics after its controller has answered."""
        ends_s = time.monotonic() + TOPICS_S
        while not are_as_wanted(set(self.run(self.admin.list_topics(include_internal=False)))):
            assert time.monotonic() < ends_s, "the topics of a case do not come or go"
            time.sleep(0.02)

    def put(self, portion: Sequence[Input], aborted: Sequence[Input], *, plain: bool) -> None:
        self.run(self._put(portion, aborted, plain=plain))

    async def _put(
        self, portion: Sequence[Input], aborted: Sequence[Input], *, plain: bool
    ) -> None:
        if plain:
            async with Producer(bootstrap_servers=self.servers, linger_ms=0) as producer:
                await _send(producer, portion)
            return
        async with Producer(
            bootstrap_servers=self.servers, linger_ms=0, transactional_id="input"
        ) as producer:
            await producer.init_transactions()
            if aborted:
                await producer.begin_transaction()
                await _send(producer, aborted)
                await producer.flush()
                await producer.abort_transaction()
            await producer.begin_transaction()
            await _send(producer, portion)
            await producer.commit_transaction()

    def written(self, topics: Iterable[str]) -> list[tuple[int, Written]]:
        """Every readable record of these topics, each with its offset."""
        return list(self.run(self._written(list(topics))))

    async def _written(self, topics: Sequence[str]) -> list[tuple[int, Written]]:
        found: list[tuple[int, Written]] = []
        for topic in topics:
            starts = await self.reader.offsets(topic, EARLIEST)
            ends = await self.reader.offsets(topic, LATEST)
            for partition, end in sorted(ends.items()):
                rows = self.reader.read(
                    topic, partition, starts[partition], end, columns=("headers",)
                )
                async for batch in rows:
                    found += (_row(topic, partition, each) for each in batch.to_pylist())
        return found


async def _send(producer: Producer, records: Sequence[Input]) -> None:
    for each in records:
        await producer.send(
            each.topic,
            each.value,
            key=each.key,
            partition=each.partition,
            timestamp_ms=each.timestamp,
            headers=list(each.headers),
        )


def _row(topic: str, partition: int, row: dict[str, Any]) -> tuple[int, Written]:
    headers = tuple((each["key"], each["value"]) for each in row["headers"] or ())
    written = Written(topic, partition, row["key"], row["value"], row["timestamp"], headers)
    return row["offset"], written


@dataclass
class Stores:
    """The stores of all tasks: their rows by task and name, and those that can be decoded, as an oracle shows them."""

    rows: dict[TaskKey, dict[str, Rows]] = field(default_factory=dict)
    shown: dict[str, list] = field(default_factory=dict)

    def add(self, key: TaskKey, stores: Mapping[str, StateStore], case: LiveCase) -> None:
        self.rows[key] = {name: dict(store.rows.scan(b"", None)) for name, store in stores.items()}
        opened = _Opened(stores)
        self.shown |= _stores(opened, case.spec, list(case.piped), set(case.reference.asked))


@dataclass(frozen=True)
class _Opened:
    """Stands for a test driver, whose stores are shown."""

    opened: Mapping[str, StateStore]

    def stores(self) -> Mapping[str, StateStore]:
        return self.opened


@dataclass
class Found:
    """What an application has left behind. `positions`: where each micro-batch of a task has ended.

    `outside`: the partitions of the topics that are not its own; `counts`: of those that it reads, too.
    """

    config: StreamsConfig
    outside: dict[str, int]
    counts: dict[str, int]
    records: list[tuple[int, Written]] = field(default_factory=list)
    kept: Stores = field(default_factory=Stores)
    restored: Stores = field(default_factory=Stores)
    positions: dict[TaskKey, list[dict[str, int]]] = field(default_factory=dict)
    dropped: int = 0
    failure: str = ""
    restarts: int = 0
    jobs: int = 0


class Application:
    """One case on one cluster. `run` may be called once."""

    def __init__(
        self, case: LiveCase, way: Way, cluster: Cluster, session: SparkSession, directory: Path
    ) -> None:
        self.case, self.way, self.cluster, self.session = case, way, cluster, session
        self.id = f"{case.config.application_id}-{next(_NUMBERS)}"
        self.config: StreamsConfig = with_application(case, self.id)
        self.directory = directory / self.id
        self.topology: Topology = case.topology.with_own_changelogs()
        self.chance = random.Random(way.seed)
        self.limit = 1 if case.config.cache_max_bytes else self.chance.choice(LIMITS)
        self.is_plain = case.knows_offsets or self.chance.random() < 0.5
        outside = dict.fromkeys(case.topics, way.partitions)
        outside |= dict.fromkeys(case.global_topics, 1)
        matched = self.topology.with_pattern_topics(outside)
        counts = partition_counts(matched, self.id, outside)
        self.found = Found(self.config, outside, outside | counts)

    def __str__(self) -> str:
        return (
            f"{self.way.seed}: {self.way.partitions} partitions, {len(self.way.portions)} portions, limit {self.limit}, "
            f"{'plain' if self.is_plain else 'transactional'}, {self.found.restarts} restarts"
        )

    def run(self) -> Found:
        """Leaves its topics."""
        self.cluster.create(self.found.outside)
        with self._kept_topics():
            self._run()
        self.found.records = self.cluster.written(self._topics_to_read())
        if not self.found.failure:
            self.cluster.run(self._look())
        shutil.rmtree(self.directory, ignore_errors=True)
        return self.found

    def _topics_to_read(self) -> list[str]:
        topics = set(self.found.outside)
        if self.way.mode is Mode.TASKS:
            for group in self.topology.sub_topologies:
                topics.update(self.topology.topics_of(group, self.id).repartition)
        return sorted(topics)

    # Running.

    def _run(self) -> None:
        application = self._open()
        try:
            if self.case.begins_at_the_end:
                self._work(application)
            for number, portion in enumerate(self.way.portions):
                if number and self._is_restart():
                    application.close()
                    if self.chance.random() < 0.5:
                        shutil.rmtree(self.directory, ignore_errors=True)
                    self.found.restarts += 1
                    application = self._open()
                aborted = self.chance.sample(portion, min(2, len(portion)))
                self.cluster.put(portion, aborted, plain=self.is_plain)
                self._work(application)
        except PipelineFailed as error:
            self.found.failure = str(error)
        finally:
            application.close()

    def _is_restart(self) -> bool:
        may = self.case.can_restart and self.found.restarts < RESTARTS_MAX
        return may and self.chance.random() < RESTARTS

    def _open(self) -> SparkStreams:
        options = RunnerOptions(
            bootstrap_servers=self.cluster.servers,
            directory=str(self.directory),
            records_per_trigger_max=self.limit,
        )
        application = SparkStreams(self.topology, self.config, self.session, options)
        self._note_positions(application._jobs)
        return application

    def _work(self, application: SparkStreams) -> None:
        """Until nothing is left, of what the application writes for itself either."""
        for _ in range(ROUNDS_MAX):
            before = self.found.jobs
            application.run_available(self._take)
            if self.found.jobs == before:
                return
            if not self._feeds_itself:
                return
        raise AssertionError(f"{self.way.seed} does not come to an end")

    @property
    def _feeds_itself(self) -> bool:
        sources = {topic for topics in self.case.groups.values() for topic in topics}
        return "pattern" in self.case.text or any(
            topic in sources
            for group in self.case.topology.sub_topologies
            for topic in self.case.topology.topics_of(group, "app").sinks
        )

    def _take(self, progress: Progress) -> None:
        self.found.dropped += progress.dropped_records
        self.found.jobs += progress.input_records > 0

    def _note_positions(self, jobs: TaskJobs) -> None:
        """Has the places noted where each micro-batch of a task ends."""
        run = jobs.run

        def noted(requests: Sequence[RunTask], description: str) -> list[Reply]:
            replies = run(requests, description)
            for request, reply in zip(requests, replies, strict=True):
                if isinstance(reply, TaskReport):
                    key = (request.sub_topology, request.partition)
                    self.found.positions.setdefault(key, []).append(dict(reply.position))
            return replies

        jobs.run = noted  # type: ignore[method-assign]

    @contextmanager
    def _kept_topics(self) -> Iterator[None]:
        """Keeps repartition topics, where they must be read afterwards."""
        purge = micro_batches.MicroBatches._purge
        if self.way.mode is Mode.TASKS:
            micro_batches.MicroBatches._purge = lambda _batches: None  # type: ignore[method-assign]
        try:
            yield
        finally:
            micro_batches.MicroBatches._purge = purge  # type: ignore[method-assign]

    # What is there afterwards.

    async def _look(self) -> None:
        """Reads the stores as they were left, and as they come from their changelogs alone."""
        state = self.directory / "state" / self.id
        with ThreadPoolExecutor(1) as kernel:
            clients = TaskClients(self.cluster.reader, self.cluster.admin, self._producer)
            environment = TaskEnvironment(clients, SystemClock(), kernel)
            for directory, left in (
                (state, self.found.kept),
                (self.directory / "new", self.found.restored),
            ):
                await self._look_in(directory, environment, left)

    async def _look_in(self, directory: Path, environment: TaskEnvironment, left: Stores) -> None:
        global_stores = None
        if self.topology.global_stores:
            first = self.topology.sub_topologies[0].id
            global_stores = await GlobalStores.open(self._spec(first, directory, None), environment)
            left.add((GLOBAL, 0), global_stores.stores, self.case)
        try:
            for key, positions in sorted(self.found.positions.items()):
                spec = self._spec(key[0], directory, tuple(positions[-1]))
                active = await ActiveTask.start(spec, key[1], environment, global_stores)
                try:
                    assert active._task is not None, "it has been started"
                    left.add(key, active._task.stores, self.case)
                finally:
                    await active.close()
        finally:
            if global_stores is not None:
                await global_stores.close()

    def _spec(self, sub_topology: int, directory: Path, topics: tuple[str, ...] | None) -> TaskSpec:
        return TaskSpec(
            topology=self.topology,
            sub_topology=sub_topology,
            config=self.config,
            state_directory=str(directory),
            topics=topics,
        )

    def _producer(self, transactional_id: str | None) -> Producer:
        return Producer(
            bootstrap_servers=self.cluster.servers, linger_ms=0, transactional_id=transactional_id
        )
