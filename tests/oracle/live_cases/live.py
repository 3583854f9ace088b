"""Runs a case as a live application, interrupted as its seed says, and gathers what it leaves behind."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from itertools import count
from pathlib import Path
from typing import Protocol

from live_cases.cluster import Cluster
from live_cases.conversion import LiveCase, Mode, Way, with_application
from live_cases.found import GLOBAL, Found, Stores, TaskKey
from millstream.clients import Producer
from millstream.runtime.system import SystemClock
from millstream.streams import StreamsConfig, Topology
from millstream.streams.runtime.clients import TaskClients
from millstream.streams.runtime.global_stores import GlobalStores
from millstream.streams.runtime.spec import TaskEnvironment, TaskSpec
from millstream.streams.runtime.tasks.task_start import TaskStart
from millstream.streams.topology.partition_counts import partition_counts

RESTARTS_MAX = 3
_NUMBERS = count()


class ApplicationFailed(Exception):
    """The application has ended with an error, which is the argument."""


class Running(Protocol):
    """A case's application while it runs."""

    def work(self) -> None:
        """Runs until nothing is left, of what the application writes for itself either. Raises ApplicationFailed."""

    def disturb(self) -> None:
        """Restarts it, or moves its tasks, or does nothing, as chance says; for cases that can be restarted."""

    def close(self) -> None:
        """Ends it in order."""


class Driver(Protocol):
    """One of the ways to run a topology for its input."""

    @property
    def reads_at_once(self) -> bool:
        """Whether a task has all that a portion of the input has for it before it processes any."""
        ...

    def started(self, application: LiveApplication) -> Running:
        """Starts the application of a case."""

    def kept_topics(self) -> AbstractContextManager[None]:
        """Keeps repartition topics, so that they can be read afterwards."""


class LiveApplication:
    """One case on one cluster. `run` may be called once."""

    def __init__(
        self, case: LiveCase, way: Way, cluster: Cluster, driver: Driver, directory: Path
    ) -> None:
        self.case, self.way, self.cluster, self.driver = case, way, cluster, driver
        self.id = f"{case.config.application_id}-{next(_NUMBERS)}"
        self.config: StreamsConfig = with_application(case, self.id)
        self.directory = directory / self.id
        self.topology: Topology = case.topology.with_own_changelogs()
        self.chance = random.Random(way.seed)
        self.is_plain = case.knows_offsets or self.chance.random() < 0.5
        outside = dict.fromkeys(case.topics, way.partitions)
        outside |= dict.fromkeys(case.global_topics, 1)
        matched = self.topology.with_pattern_topics(outside)
        counts = partition_counts(matched, self.id, outside)
        self.found = Found(self.config, outside, outside | counts)
        self.directory_of: Callable[[TaskKey], Path] = lambda _: self.directory / "state" / self.id
        """Where the stores of a task were left, and the global ones."""

    def __str__(self) -> str:
        return (
            f"{self.way.seed}: {self.way.partitions} partitions, {len(self.way.portions)} portions, "
            f"{'plain' if self.is_plain else 'transactional'}, {self.found.restarts} restarts, {self.found.crashes} crashes"
        )

    def run(self) -> Found:
        """Leaves its topics."""
        self.cluster.create(self.found.outside)
        with self.driver.kept_topics() if self.way.mode is Mode.TASKS else nullcontext():
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

    @property
    def feeds_itself(self) -> bool:
        sources = {topic for topics in self.case.groups.values() for topic in topics}
        return "pattern" in self.case.text or any(
            topic in sources
            for group in self.case.topology.sub_topologies
            for topic in self.case.topology.topics_of(group, "app").sinks
        )

    def _run(self) -> None:
        running = self.driver.started(self)
        try:
            if self.case.begins_at_the_end:
                running.work()
            for number, portion in enumerate(self.way.portions):
                may = self.case.can_restart and self.found.restarts < RESTARTS_MAX
                if number and may:
                    running.disturb()
                aborted = self.chance.sample(portion, min(2, len(portion)))
                self.cluster.put(portion, aborted, plain=self.is_plain)
                running.work()
        except ApplicationFailed as error:
            self.found.failure = str(error)
        finally:
            running.close()

    # What is there afterwards.

    async def _look(self) -> None:
        """Reads the stores as they were left, and as they come from their changelogs alone."""
        with ThreadPoolExecutor(1) as kernel:
            clients = TaskClients(self.cluster.reader, self.cluster.admin, self._producer)
            environment = TaskEnvironment(clients, SystemClock(), kernel)
            await self._look_in(self.directory_of, environment, self.found.kept)
            await self._look_in(lambda _: self.directory / "new", environment, self.found.restored)

    async def _look_in(
        self,
        directory_of: Callable[[TaskKey], Path],
        environment: TaskEnvironment,
        left: Stores,
    ) -> None:
        global_stores = None
        if self.topology.global_stores:
            key = (GLOBAL, 0)
            first = self.topology.sub_topologies[0].id
            spec = self.spec(first, directory_of(key), None)
            global_stores = await GlobalStores.open(spec, environment)
            left.add(key, global_stores.stores, self.case)
        try:
            for key, positions in sorted(self.found.positions.items()):
                spec = self.spec(key[0], directory_of(key), tuple(positions[-1]))
                active = await TaskStart(spec, key[1], environment, global_stores).start()
                try:
                    assert active._task is not None, "it has been started"
                    left.add(key, active._task.stores, self.case)
                finally:
                    await active.close()
        finally:
            if global_stores is not None:
                await global_stores.close()

    def spec(self, sub_topology: int, directory: Path, topics: tuple[str, ...] | None) -> TaskSpec:
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
