"""A case as instances of `KafkaStreams`: so many threads or processes, one instance or several that come and go meanwhile.

Where it is exactly once, threads may crash at any step of a task, and are replaced.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from live_cases.cluster import Cluster
from live_cases.conversion import Input
from live_cases.end_of_input import PATIENCE_S, EndOfInput
from live_cases.on_threads import CRASHES_MAX, DAY_MS, QUICK, Crash, replace_crashed

from alignment.case import Case
from millstream.streams.application.kafka_streams import KafkaStreams
from millstream.streams.config import GroupProtocol, ProcessingGuarantee, StreamsConfig
from millstream.streams.runtime.steps import ObservedStep, observe_nothing

PROCESSES: Final = 0.04
"""Of all cases: they take a second to start."""
COMES_AND_GOES: Final = 0.3
MOVES_MAX: Final = 4
CRASHING: Final = 0.3
"""Of cases that are exactly once."""
CRASHES: Final = 0.05
"""Of the steps of their tasks."""


@dataclass(frozen=True)
class ThreadsWay:
    """`chance` decides when instances come and go, and how many records are read at a time."""

    threads: int
    guarantee: ProcessingGuarantee
    uses_processes: bool
    comes_and_goes: bool
    crashes: bool
    protocol: GroupProtocol
    chance: str

    def __str__(self) -> str:
        threads = f"{self.threads} {'processes' if self.uses_processes else 'threads'}"
        instances = "instances that come and go" if self.comes_and_goes else "1 instance"
        crashing = ", which crash" if self.crashes else ""
        return f"{instances} of {threads}{crashing}, {self.guarantee}, {self.protocol}"


def random_threads_way(chance: str) -> ThreadsWay:
    rng = random.Random(chance)
    guarantee = rng.choice(list(ProcessingGuarantee))
    uses_processes = rng.random() < PROCESSES
    may_crash = guarantee is ProcessingGuarantee.EXACTLY_ONCE_V2 and not uses_processes
    return ThreadsWay(
        threads=rng.choice((1, 2, 4)),
        guarantee=guarantee,
        uses_processes=uses_processes,
        comes_and_goes=rng.random() < COMES_AND_GOES,
        crashes=may_crash and rng.random() < CRASHING,
        protocol=rng.choice(list(GroupProtocol)),
        chance=chance,
    )


def threads_ways() -> list[ThreadsWay]:
    """Those of the case of orders."""
    exactly, at_least = ProcessingGuarantee.EXACTLY_ONCE_V2, ProcessingGuarantee.AT_LEAST_ONCE
    alone = ThreadsWay(1, exactly, False, False, False, GroupProtocol.STREAMS, "orders")
    of_threads = [
        replace(alone, threads=threads, guarantee=guarantee)
        for threads in (1, 2, 4)
        for guarantee in (exactly, at_least)
    ]
    classic = replace(alone, threads=2, protocol=GroupProtocol.CLASSIC)
    processes = replace(alone, threads=2, uses_processes=True)
    come_and_go = [replace(alone, comes_and_goes=True, chance=str(seed)) for seed in range(3)]
    crashing = [replace(alone, threads=2, crashes=True, chance=str(seed)) for seed in range(3)]
    return [*of_threads, classic, processes, *come_and_go, *crashing]


class RunningOnThreads:
    """One case on one cluster. `run` may be called once; it leaves the topics."""

    def __init__(
        self, case: Case, way: ThreadsWay, cluster: Cluster, application_id: str, directory: Path
    ) -> None:
        self._case, self._way, self._cluster = case, way, cluster
        self._chance = random.Random(way.chance)
        self._directory = directory
        self._config = self._configured(application_id)
        self._clients = {
            "bootstrap_servers": cluster.servers,
            "max_partition_fetch_bytes": self._chance.choice((500, 5_000, 1_048_576)),
            **QUICK,
        }
        self._instances: list[KafkaStreams] = []
        self._started = 0
        self._crashes_left = CRASHES_MAX if way.crashes else 0
        sources = {
            topic
            for group in case.topology.sub_topologies
            for topic in case.topology.source_topics(group, application_id)
        }
        self._end = EndOfInput(cluster, application_id, sources)

    def _configured(self, application_id: str) -> StreamsConfig:
        return replace(
            self._case.config_of(application_id),
            processing_guarantee=self._way.guarantee,
            num_stream_threads=self._way.threads,
            use_processes=self._way.uses_processes,
            group_protocol=self._way.protocol,
            commit_interval_ms=self._chance.choice((20, 20, 200)),
            poll_ms=20,
            buffered_records_per_partition=self._chance.choice((1, 20, 10_000)),
            num_standby_replicas=self._chance.choice((0, 0, 1)),
            probing_rebalance_interval_ms=500,
            repartition_purge_interval_ms=DAY_MS,
        )

    def run(self) -> None:
        """Raises ApplicationFailed, and AssertionError where it does not come to an end."""
        if len(self._case.portions) == 1:
            self._put(self._case.inputs)
            self._cluster.run(self._run_backlog())
            return
        try:
            self._cluster.run(self._start())
            for portion in self._case.portions:
                self._put(portion)
                if self._chance.random() < 0.5:
                    self._cluster.run(self._end.wait(self._instances))
            self._cluster.run(self._end.wait(self._instances))
        finally:
            self._cluster.run(self._close_all())

    def _put(self, portion: Sequence[Input]) -> None:
        self._cluster.put(portion, (), plain=self._chance.random() < 0.5)

    async def _run_backlog(self) -> None:
        try:
            await self._start()
            if self._way.comes_and_goes:
                await self._come_and_go()
            await self._end.wait(self._instances)
        finally:
            await self._close_all()

    async def _come_and_go(self) -> None:
        moves = self._chance.randint(1, MOVES_MAX)
        for share in sorted(self._chance.random() * 0.9 for _ in range(moves)):
            await self._wait_for(share)
            if len(self._instances) > 1 and self._chance.random() < 0.6:
                await self._instances.pop(self._chance.randrange(len(self._instances))).close()
            else:
                await self._start()

    async def _wait_for(self, share: float) -> None:
        """Until so much of the input has been read."""
        ends_s = time.monotonic() + PATIENCE_S
        wanted = share * len(self._case.inputs)
        while time.monotonic() < ends_s:
            committed = await self._end.committed()
            done = sum(n for at, n in committed.items() if at.topic in self._case.partitions)
            if done >= wanted:
                return
            await asyncio.sleep(0.005)

    async def _start(self) -> None:
        self._started += 1
        config = replace(self._config, state_dir=str(self._directory / str(self._started)))
        instance = KafkaStreams(
            self._case.topology,
            config,
            self._clients,
            observe=self._observe
            if self._way.crashes
            else observe_nothing,  # those of processes are pickled
            on_uncaught_error=replace_crashed,
        )
        self._instances.append(instance)
        await instance.start()

    def _observe(self, step: ObservedStep, _task: str) -> None:
        if self._crashes_left and self._chance.random() < CRASHES:
            self._crashes_left -= 1
            raise Crash(step)

    async def _close_all(self) -> None:
        while self._instances:
            await self._instances.pop().close()


class ThreadsRunner:
    """Chooses the way by chance, or takes the one that is given."""

    def __init__(self, way: ThreadsWay | None = None) -> None:
        self._way = way

    def running(
        self, case: Case, chance: str, cluster: Cluster, application_id: str, directory: Path
    ) -> tuple[str, RunningOnThreads]:
        way = self._way or random_threads_way(chance)
        return str(way), RunningOnThreads(case, way, cluster, application_id, directory)

    def all_ways(self) -> list[ThreadsRunner]:
        return [ThreadsRunner(way) for way in threads_ways()]
