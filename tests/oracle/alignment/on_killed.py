"""A case as instances of `KafkaStreams` that are processes: killed with SIGKILL at any step of their tasks and started again,
or at least once and left alone, with commits so far apart that tasks know of those of others by what they commit for them.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import shutil
import signal
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import orjson
from live_cases.cluster import LATEST, Cluster
from live_cases.conversion import Input
from live_cases.end_of_input import EndOfInput
from live_cases.on_threads import DAY_MS

from alignment.case import APPLICATION, Case
from alignment.comparison import compared_topics
from alignment.judge import judge
from millstream.streams.config import GroupProtocol, ProcessingGuarantee
from tests.patience import LONG_ENOUGH_S
from tests.support.kills.killed_instances import SETTINGS
from tests.support.kills.nursed import Nursery

MODULE: Final = "alignment.killed_instance"
KILLS: Final = 0.04
"""Of the steps of tasks."""
KILLS_MAX: Final = 5
PATIENCE_S: Final = 4 * LONG_ENOUGH_S
USES_PROCESSES: Final = 0.3
"""Of those that are left alone."""
LOSES_DISK: Final = 0.4
HOUR_MS: Final = 3_600_000
"""Between commits that nobody else waits for, and until a task that does not move is not waited for."""
BROKER_SETTINGS: Final = SETTINGS
"""Members that are killed are missed soon."""


@dataclass(frozen=True)
class KilledWay:
    """`chance` decides who is killed when, and how many records are read at a time.

    `is_killed`: exactly once, or else at least once and an hour between two commits that nobody waits for.
    """

    instances: int
    threads: int
    protocol: GroupProtocol
    chance: str
    is_killed: bool = True
    uses_processes: bool = False

    def __str__(self) -> str:
        threads = f"{self.threads} {'processes' if self.uses_processes else 'threads'}"
        what = "which are killed" if self.is_killed else "at least once"
        return f"{self.instances} instances of {threads}, {what}, {self.protocol}"


def random_way_of_processes(chance: str) -> KilledWay:
    """Tasks of classic groups may repeat records when they move, so these are not asked."""
    rng = random.Random(chance)
    return KilledWay(
        instances=rng.choice((2, 2, 3)),
        threads=rng.choice((1, 1, 2)),
        protocol=GroupProtocol.STREAMS,
        chance=chance,
        is_killed=False,
        uses_processes=rng.random() < USES_PROCESSES,
    )


def random_killed_way(chance: str) -> KilledWay:
    rng = random.Random(chance)
    return KilledWay(
        instances=rng.choice((1, 1, 2)),
        threads=rng.choice((1, 2, 4)),
        protocol=rng.choice(list(GroupProtocol)),
        chance=chance,
    )


def killed_ways() -> list[KilledWay]:
    """Those of the case of orders."""
    return [
        KilledWay(instances, threads, GroupProtocol.STREAMS, "orders")
        for instances, threads in ((1, 1), (1, 2), (2, 1), (2, 2))
    ]


class RunningKilled:
    """One case on one cluster. `run` may be called once; it leaves the topics."""

    def __init__(
        self, case: Case, way: KilledWay, cluster: Cluster, application_id: str, directory: Path
    ) -> None:
        self._case, self._way, self._cluster = case, way, cluster
        self._chance = random.Random(way.chance)
        self._directory, self._application = directory, application_id
        self._settings = {
            "application_id": application_id,
            "processing_guarantee": ProcessingGuarantee.EXACTLY_ONCE_V2,
            "use_processes": way.uses_processes,
            "num_stream_threads": way.threads,
            "group_protocol": way.protocol,
            "commit_interval_ms": self._chance.choice((20, 20, 200)),
            "poll_ms": 20,
            "batch_records_max": self._chance.choice((1, 7, 65_536)),
            "buffered_records_per_partition": self._chance.choice((1, 20, 10_000)),
            "num_standby_replicas": self._chance.choice((0, 0, 1)),
            "probing_rebalance_interval_ms": 500,
            "repartition_purge_interval_ms": DAY_MS,
        }
        if not way.is_killed:
            self._settings |= {
                "processing_guarantee": ProcessingGuarantee.AT_LEAST_ONCE,
                "commit_interval_ms": HOUR_MS,
                "upstream_timeout_ms": HOUR_MS,
            }
        self._clients = {
            "bootstrap_servers": cluster.servers,
            "max_partition_fetch_bytes": self._chance.choice((500, 5_000, 1_048_576)),
            "heartbeat_interval_ms": 200,
            "session_timeout_ms": 3_000,
        }
        sources = {
            topic
            for group in case.topology.sub_topologies
            for topic in case.topology.source_topics(group, application_id)
        }
        self._end = EndOfInput(cluster, application_id, sources)
        self.kills = 0

    def run(self) -> None:
        """Raises AssertionError where it does not come to an end, or an instance ends by itself."""
        self._directory.mkdir(parents=True)
        self._cluster.put(self._at_first, (), plain=self._chance.random() < 0.5)
        self._cluster.run(self._run())

    @property
    def _at_first(self) -> Sequence[Input]:
        return self._case.inputs if self._way.is_killed else self._case.portions[0]

    async def _run(self) -> None:
        async with Nursery.open(MODULE, {}) as nursery, self._kept(nursery):
            if self._way.is_killed:
                await self._end.wait((), PATIENCE_S)
            else:
                await self._work_through()

    async def _work_through(self) -> None:
        """Puts one portion after another: each once all has come of those before, by which alone the end is known."""
        portions = self._case.portions
        await self._until_written(replace(self._case, portions=portions[:1]))
        for number, portion in enumerate(portions[1:], 2):
            await self._cluster.send(portion, (), plain=True)
            await self._until_written(replace(self._case, portions=portions[:number]))

    async def _until_written(self, case: Case) -> None:
        logs, wanted = judge(case).logs(), Counter[str]()
        for (topic, _), by_task in logs.items():
            wanted[topic] += sum(map(len, by_task.values()))
        names = {
            topic: f"{self._application}{topic.removeprefix(APPLICATION)}"
            if topic.startswith(f"{APPLICATION}-")
            else topic
            for topic in compared_topics(case)
            if wanted[topic]
        }
        ends_s = time.monotonic() + PATIENCE_S
        while missing := await self._missing({names[topic]: wanted[topic] for topic in names}):
            assert time.monotonic() < ends_s, f"is not written: {missing}"
            await asyncio.sleep(0.05)

    async def _missing(self, wanted: Mapping[str, int]) -> dict[str, int]:
        """By topic, how many of so many records are not there yet."""
        there = set(await self._cluster.admin.list_topics(include_internal=False))
        missing: dict[str, int] = {}
        for topic, count in wanted.items():
            ends = await self._cluster.reader.offsets(topic, LATEST) if topic in there else {}
            if sum(ends.values()) < count:
                missing[topic] = count - sum(ends.values())
        return missing

    @contextlib.asynccontextmanager
    async def _kept(self, nursery: Nursery) -> AsyncIterator[None]:
        ending = asyncio.Event()
        async with asyncio.TaskGroup() as group:
            for number in range(self._way.instances):
                group.create_task(self._keep(nursery, number, ending))
            yield
            ending.set()

    async def _keep(self, nursery: Nursery, number: int, ending: asyncio.Event) -> None:
        """Starts an instance again whenever it was killed, and ends it at the event."""
        end = asyncio.create_task(ending.wait())
        log, disk = self._directory / f"log-{number}", self._directory / f"disk-{number}"
        while not ending.is_set():
            kills = KILLS if self._way.is_killed and self.kills < KILLS_MAX else 0.0
            pid, exited = await nursery.start(
                log, self._described(kills), orjson.dumps(self._clients).decode(), str(disk),
                str(self._chance.random()),
            )  # fmt: skip
            first: set[asyncio.Future[Any]] = {end, exited}  # Any: of two types
            await asyncio.wait(first, return_when=asyncio.FIRST_COMPLETED)
            if not exited.done():
                os.kill(pid, signal.SIGTERM)
            async with asyncio.timeout(LONG_ENOUGH_S):
                code = await exited
            if not ending.is_set():
                assert code == -signal.SIGKILL, f"ended with {code}: {log.read_text()[-5_000:]}"
                self.kills += 1
                if self._chance.random() < LOSES_DISK:
                    shutil.rmtree(disk, ignore_errors=True)

    def _described(self, kills: float) -> str:
        given = {
            "spec": self._case.spec,
            "partitions": self._case.partitions,
            "settings": self._settings,
            "kills": kills,
        }
        return orjson.dumps(given).decode()


class KilledRunner:
    """Chooses the way by chance, or takes the one that is given."""

    def __init__(
        self,
        way: KilledWay | None = None,
        random_way: Callable[[str], KilledWay] = random_killed_way,
    ) -> None:
        self._way, self._random_way = way, random_way
        self._runs: list[RunningKilled] = []

    @property
    def kills(self) -> int:
        """So often an instance was killed, in all cases."""
        return sum(run.kills for run in self._runs)

    def running(
        self, case: Case, chance: str, cluster: Cluster, application_id: str, directory: Path
    ) -> tuple[str, RunningKilled]:
        way = self._way or self._random_way(chance)
        self._runs.append(RunningKilled(case, way, cluster, application_id, directory))
        return str(way), self._runs[-1]

    def all_ways(self) -> list[KilledRunner]:
        return [KilledRunner(way) for way in killed_ways()]
