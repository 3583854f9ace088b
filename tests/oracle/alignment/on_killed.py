"""A case as instances of `KafkaStreams` that are processes, killed with SIGKILL at any step of their tasks and started again."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import shutil
import signal
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import orjson
from live_cases.cluster import Cluster
from live_cases.end_of_input import EndOfInput
from live_cases.on_threads import DAY_MS

from alignment.case import Case
from millstream.streams.config import GroupProtocol, ProcessingGuarantee
from tests.patience import LONG_ENOUGH_S
from tests.support.kills.killed_instances import SETTINGS
from tests.support.kills.nursed import Nursery

MODULE: Final = "alignment.killed_instance"
KILLS: Final = 0.04
"""Of the steps of tasks."""
KILLS_MAX: Final = 5
PATIENCE_S: Final = 4 * LONG_ENOUGH_S
LOSES_DISK: Final = 0.4
BROKER_SETTINGS: Final = SETTINGS
"""Members that are killed are missed soon."""


@dataclass(frozen=True)
class KilledWay:
    """Exactly once. `chance` decides who is killed when, and how many records are read at a time."""

    instances: int
    threads: int
    protocol: GroupProtocol
    chance: str

    def __str__(self) -> str:
        return f"{self.instances} instances of {self.threads} threads, which are killed, {self.protocol}"


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
        self._directory = directory
        self._settings = {
            "application_id": application_id,
            "processing_guarantee": ProcessingGuarantee.EXACTLY_ONCE_V2,
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
        self._cluster.put(self._case.inputs, (), plain=self._chance.random() < 0.5)
        self._cluster.run(self._run())

    async def _run(self) -> None:
        async with Nursery.open(MODULE, {}) as nursery, self._kept(nursery):
            await self._end.wait((), PATIENCE_S)

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
            kills = KILLS if self.kills < KILLS_MAX else 0.0
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

    def __init__(self, way: KilledWay | None = None) -> None:
        self._way = way
        self._runs: list[RunningKilled] = []

    @property
    def kills(self) -> int:
        """So often an instance was killed, in all cases."""
        return sum(run.kills for run in self._runs)

    def running(
        self, case: Case, chance: str, cluster: Cluster, application_id: str, directory: Path
    ) -> tuple[str, RunningKilled]:
        way = self._way or random_killed_way(chance)
        self._runs.append(RunningKilled(case, way, cluster, application_id, directory))
        return str(way), self._runs[-1]

    def all_ways(self) -> list[KilledRunner]:
        return [KilledRunner(way) for way in killed_ways()]
