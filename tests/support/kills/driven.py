"""Applications whose outputs and stores must be those of the test driver, which takes the same input in the order of its times."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any, Final

from millstream.clients import Admin, NewTopic, Producer, RangeReader
from millstream.runtime.system import SystemClock
from millstream.streams import StoreType, StreamsBuilder, StreamsConfig
from millstream.streams.config import ProcessingGuarantee
from millstream.streams.runtime.clients import TaskClients
from millstream.streams.runtime.global_stores import GlobalStores
from millstream.streams.runtime.spec import TaskEnvironment, TaskSpec
from millstream.streams.runtime.tasks.task_start import TaskStart
from millstream.streams.state.store import StateStore
from millstream.streams.topology import Topology
from millstream.testing.streams.topology_test_driver import TopologyTestDriver
from tests.patience import WAITS_FOR_CLUSTER
from tests.support.kills.topologies import OUT, PARTITIONS, Given, Seen, unseen

APPLICATION_ID: Final = "killed"
HOUR_MS: Final = 3_600_000
EARLIEST, LATEST = -2, -1
NUMBERED: Final = ("KSTREAM-JOIN", "KSTREAM-OUTERTHIS", "KSTREAM-OUTEROTHER")
Row = tuple[bytes | None, bytes | None]
Contents = Mapping[str, Mapping[bytes, bytes]]
"""By store, its rows."""


@dataclass(frozen=True)
class DrivenShape:
    """`is_in_order`: the values of a key come in one order. With a cache only some of them need to come, and the last one."""

    build: Callable[[StreamsBuilder, Seen], Topology]
    given: Callable[[], Iterator[Given]]
    is_in_order: bool = True
    cache_max_bytes: int = 0
    limit: int | None = 20
    """Records of a micro-batch."""
    store_type: StoreType = StoreType.ROCKSDB
    partitions: int = PARTITIONS
    """Of each topic, those of the application included."""
    is_backlog: bool = False
    """All input is there before the application starts."""
    guarantee: ProcessingGuarantee = ProcessingGuarantee.EXACTLY_ONCE_V2
    """At least once values are words, each for a record; those of a key's last value are all of the key's."""

    def topology(self, seen: Seen = unseen) -> Topology:
        return self.build(StreamsBuilder(store_type=self.store_type), seen)

    @property
    def config(self) -> StreamsConfig:
        return StreamsConfig(
            application_id=APPLICATION_ID, cache_max_bytes=self.cache_max_bytes,
            processing_guarantee=self.guarantee,
        )  # fmt: skip

    async def prepare(self, servers: str) -> None:
        """Creates topics and puts the input."""
        await self.create_topics(servers)
        await put(servers, self.given(), base_ms())

    async def create_topics(self, servers: str) -> None:
        async with Admin(**WAITS_FOR_CLUSTER, bootstrap_servers=servers) as admin:
            wanted = [NewTopic(each, self.partitions) for each in (*self._sources(), OUT)]
            (await admin.create_topics(wanted)).raise_errors()

    async def check(self, servers: str, directory: Path) -> None:
        """Raises AssertionError. `directory` holds the stores of each place where the application has run."""
        outputs, stores = await self._driven(servers)
        found_outputs = [(row["key"], row["value"]) async for row in read(servers, OUT)]
        if self.guarantee is ProcessingGuarantee.AT_LEAST_ONCE:
            check_nothing_is_lost(found_outputs, outputs)
            return
        self._check_outputs(found_outputs, outputs)
        restored = await self._stores(servers, directory / "nowhere")
        assert restored.keys() == stores.keys()
        for name, rows in stores.items():
            mine, expected = comparable(name, restored[name]), comparable(name, rows)
            assert mine == expected, f"{name}: {mine - expected} for {expected - mine}"
        for state in directory.glob(f"**/state/{APPLICATION_ID}"):  # noqa: ASYNC240  # nothing else runs
            assert await self._stores(servers, state) == restored, f"{state} is not its changelogs"

    async def _driven(self, servers: str) -> tuple[list[Row], Contents]:
        config = StreamsConfig(application_id=APPLICATION_ID)
        inputs = [(row, topic) for topic in self._sources() async for row in read(servers, topic)]
        with TopologyTestDriver(self.topology().with_own_changelogs(), config) as driver:
            for row, topic in sorted(inputs, key=lambda each: int(each[0]["timestamp"])):
                driver.pipe_bytes(topic, row["key"], row["value"], timestamp=row["timestamp"])
            written = [(each.key, each.value) for each in driver.read_bytes(OUT)]
            return written, {name: contents(store) for name, store in driver.stores().items()}

    def _check_outputs(self, found: list[Row], expected: list[Row]) -> None:
        if self.cache_max_bytes:
            for key, values in by_key(expected).items():
                mine = by_key(found)[key]
                places = [values.index(value) for value in mine]
                assert places == sorted(set(places)), f"{key!r}: nothing twice, and in order"
                assert mine[-1] == values[-1], f"{key!r}: the last value is there"
            assert by_key(found).keys() == by_key(expected).keys()
        else:
            rows, wanted = Counter(found), Counter(expected)
            assert rows == wanted, f"{rows - wanted} instead of {wanted - rows}"
            if self.is_in_order:
                assert by_key(found) == by_key(expected)

    async def _stores(self, servers: str, directory: Path) -> Contents:
        """The rows of all tasks, after each was started over the stores in a directory."""
        found: dict[str, dict[bytes, bytes]] = {}
        topology = self.topology().with_own_changelogs()
        config = StreamsConfig(
            application_id=APPLICATION_ID, processing_guarantee=ProcessingGuarantee.EXACTLY_ONCE_V2
        )
        async with environment(servers) as given, AsyncExitStack() as last_first:
            specs = [
                TaskSpec(
                    topology=topology, sub_topology=group.id, config=config,
                    state_directory=str(directory),
                )
                for group in topology.sub_topologies
            ]  # fmt: skip
            shared = await GlobalStores.open(specs[0], given)
            last_first.push_async_callback(shared.close)
            found.update({name: contents(store) for name, store in shared.stores.items()})
            for spec, partition in product(specs, range(self.partitions)):
                if topology.sub_topologies[spec.sub_topology].is_global:
                    continue
                task = await TaskStart(spec, partition, given, shared).start()
                assert task._task is not None, "it has been started"
                for name, store in task._task.stores.items():
                    found.setdefault(name, {}).update(contents(store))
                await task.close()
        return found

    def _sources(self) -> list[str]:
        return sorted({each.topic for each in self.given()})


def base_ms() -> int:
    """The time that those of records begin with, a round one of today."""
    return SystemClock().now().wall_ms // HOUR_MS * HOUR_MS


async def put(servers: str, given: Iterable[Given], base: int) -> None:
    async with Producer(**WAITS_FOR_CLUSTER, bootstrap_servers=servers) as producer:
        for each in given:
            await producer.send(
                each.topic, each.value, key=each.key, timestamp_ms=base + each.at_ms,
                partition=each.partition,
            )  # fmt: skip


def comparable(store: str, rows: Mapping[bytes, bytes]) -> Counter[tuple[bytes, bytes]]:
    """Rows without what the test driver, with its one partition, counts for itself: places and numbers of records."""
    if "SUPPRESS" in store or "SUBSCRIPTION" in store:  # values name partitions and offsets
        return Counter((key, b"") for key in rows)
    if store.startswith(NUMBERED):  # keys end with a number
        return Counter((key[:-4], value) for key, value in rows.items())
    return Counter(rows.items())


def check_nothing_is_lost(found: list[Row], expected: list[Row]) -> None:
    """Raises AssertionError. What is done again after a kill may count twice, and what comes late then was there before."""
    wanted = {key: words(values[-1]) for key, values in by_key(expected).items()}
    mine = {key: words(values[-1]) for key, values in by_key(found).items()}
    assert mine.keys() == wanted.keys(), f"{mine.keys() ^ wanted.keys()} are there once only"
    lost = {key: each - mine[key] for key, each in wanted.items() if not each <= mine[key]}
    assert not lost, f"lost: {lost}"
    assert mine == wanted, "nothing is in a wrong place"


def words(value: bytes | None) -> set[bytes]:
    return set((value or b"").split())


def by_key(rows: list[Row]) -> dict[bytes | None, list[bytes | None]]:
    found: dict[bytes | None, list[bytes | None]] = {}
    for key, value in rows:
        found.setdefault(key, []).append(value)
    return found


def contents(store: StateStore) -> dict[bytes, bytes]:
    return dict(store.rows.scan(b"", None))


@asynccontextmanager
async def environment(servers: str) -> AsyncIterator[TaskEnvironment]:
    async with (
        Admin(**WAITS_FOR_CLUSTER, bootstrap_servers=servers) as admin,
        RangeReader(
            **WAITS_FOR_CLUSTER, bootstrap_servers=servers, isolation_level="read_committed"
        ) as reader,
    ):

        def producer(transactional_id: str | None) -> Producer:
            return Producer(
                **WAITS_FOR_CLUSTER, bootstrap_servers=servers, transactional_id=transactional_id
            )

        with ThreadPoolExecutor(1) as kernel:
            yield TaskEnvironment(TaskClients(reader, admin, producer), SystemClock(), kernel)


async def read(servers: str, topic: str) -> AsyncIterator[dict[str, Any]]:
    """What a read_committed reader sees: key, value, offset and timestamp."""
    async with RangeReader(
        **WAITS_FOR_CLUSTER, bootstrap_servers=servers, isolation_level="read_committed"
    ) as reader:
        starts, ends = await reader.offsets(topic, EARLIEST), await reader.offsets(topic, LATEST)
        for partition, end in ends.items():
            async for batch in reader.read(topic, partition, starts[partition], end):
                for row in batch.to_pylist():
                    yield row
