"""The facts that the tasks of a sub-topology are made from, and the clients and threads that those
of a process share.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import TypeVar

from millstream.runtime import Clock
from millstream.streams.config import (
    ProcessingGuarantee,
    StreamsConfig,
    TimeAcrossRepartitions,
)
from millstream.streams.options import OffsetReset
from millstream.streams.restore_listener import StateRestoreListener
from millstream.streams.rocksdb_options import configure_database
from millstream.streams.runtime.clients import TaskClients
from millstream.streams.runtime.snapshots.description import SnapshotPlan
from millstream.streams.runtime.steps import Observer, observe_nothing
from millstream.streams.runtime.task_names import (
    sub_topology_name,
    task_name,
    transactional_id,
)
from millstream.streams.runtime.upstreams.watch import UpstreamWatch
from millstream.streams.state.cache import CacheRoom
from millstream.streams.state.storage.factory import RocksTaskStores
from millstream.streams.topology.alignment import Alignment, aligned_topics
from millstream.streams.topology.nodes import SourceNode
from millstream.streams.topology.topology import Topology

_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskSpec:
    """Everything that the tasks of a sub-topology are made from. `state_directory` holds a directory for each task.

    `topics`: the source topics that have a partition for the task, those that patterns match
    included. None: all that are named.
    """

    topology: Topology
    sub_topology: int
    config: StreamsConfig
    state_directory: str
    topics: tuple[str, ...] | None = None
    snapshots: SnapshotPlan | None = None

    @property
    def application(self) -> str:
        """The application's id, which is its group, too."""
        return self.config.application_id

    @property
    def is_exact(self) -> bool:
        return self.config.processing_guarantee is ProcessingGuarantee.EXACTLY_ONCE_V2

    @property
    def sources(self) -> tuple[str, ...]:
        if self.topics is not None:
            return self.topics
        group = self.topology.sub_topologies[self.sub_topology]
        return self.topology.topics_of(group, self.application).sources

    def of_global_stores(self, state_directory: str) -> list[TaskSpec]:
        """Returns those of the sub-topologies that fill global stores, which lie in another directory."""
        groups = [group.id for group in self.topology.sub_topologies if group.is_global]
        return [
            replace(self, sub_topology=group, state_directory=state_directory, topics=None)
            for group in groups
        ]

    def reset_of(self, topic: str) -> OffsetReset | timedelta:
        """Returns the offset at which a task begins with a topic that has no committed one."""
        group = self.topology.sub_topologies[self.sub_topology]
        for name in group.nodes:
            node = self.topology.nodes[name]
            if isinstance(node, SourceNode) and node.reset is not None and _reads(node, topic):
                return node.reset
        return OffsetReset.EARLIEST

    def has_store(self, name: str) -> bool:
        """Whether the tasks of this sub-topology keep a store of this name."""
        group = self.topology.sub_topologies[self.sub_topology]
        return any(store.name == name for store in self.topology.stores_of(group))

    @property
    def has_changelogs(self) -> bool:
        """Whether the tasks of this sub-topology have stores that are restored from a topic."""
        group = self.topology.sub_topologies[self.sub_topology]
        return bool(self.topology.topics_of(group, self.application).changelogs)

    @property
    def name(self) -> str:
        """The name of the sub-topology that outlives an upgrade."""
        group = self.topology.sub_topologies[self.sub_topology]
        return sub_topology_name(self.topology, group, self.application)

    @property
    def alignment(self) -> Alignment:
        """The repartition topics of the application whose records go on by origin time."""
        if self.takes_ties_by_arrival:
            return Alignment()
        return aligned_topics(self.topology, self.application)

    @property
    def takes_ties_by_arrival(self) -> bool:
        """Whether among records of one time the topic goes first whose record came first; else the
        one whose name does.
        """
        return self.config.time_across_repartitions is TimeAcrossRepartitions.KAFKA

    def task_id(self, partition: int) -> str:
        """Returns Kafka Streams' id of a task, by numbers: for people, metrics and processors.

        Nothing is found by it that outlives the process.
        """
        return f"{self.sub_topology}_{partition}"

    def task_name(self, partition: int) -> str:
        return task_name(self.name, partition)

    def transactional_id(self, partition: int) -> str:
        return transactional_id(self.application, self.name, partition)

    def stores_path(self, partition: int) -> Path:
        """Returns the directory of the stores of a task."""
        return Path(self.state_directory, self.task_name(partition))

    def stores(self, partition: int) -> RocksTaskStores:
        """Makes the stores of a task, in memory ones included: a process comes and goes, the directory stays.

        Opens nothing yet.
        """
        config, name = self.config, self.task_name(partition)
        setter = config.rocksdb_config_setter
        return RocksTaskStores(
            self.stores_path(partition),
            persist_all=True,
            configure=None if setter is None else configure_database(setter, name),
            chosen=config.rocksdb,
        )

    def snapshots_path(self, partition: int) -> Path | None:
        """Returns the directory of the snapshots of a task; None where there are to be none."""
        if self.snapshots is None:
            return None
        return Path(self.snapshots.directory, self.application, self.task_name(partition))


def _reads(source: SourceNode, topic: str) -> bool:
    is_matched = source.pattern is not None and re.fullmatch(source.pattern, topic) is not None
    return is_matched or topic in source.topics


@dataclass(frozen=True, slots=True)
class TaskEnvironment:
    """Clients, clock and threads that the tasks of one process use.

    `kernel` runs the kernel and the stores beside the event loop, for each task one call at a time. `copier` copies
    snapshots, one after another, which holds up no task. `restore_listener` is called where the kernel runs.
    """

    clients: TaskClients
    clock: Clock
    kernel: Executor
    observe: Observer = observe_nothing
    copier: Executor = field(default_factory=lambda: ThreadPoolExecutor(1, "snapshots"))
    restore_listener: StateRestoreListener | None = None
    cache_room: CacheRoom | None = None
    """The room that the caches of all tasks share; None: each task has its own."""
    upstreams: UpstreamWatch = field(default_factory=UpstreamWatch)
    told_versions: set[str] = field(default_factory=set)
    """Other versions of the topology that the log has told of."""

    async def in_kernel(self, work: Callable[[], _Result]) -> _Result:
        return await self.kernel_call(work)

    async def surely_in_kernel(self, work: Callable[[], _Result]) -> _Result:
        """Does the same also where the caller is cancelled meanwhile: what is not closed stays locked."""
        return await asyncio.shield(self.kernel_call(work))

    async def close_in_kernel(self, close: Callable[[], None] | None) -> None:
        """Closes what is open there, behind all that was begun before, also where the caller is cancelled meanwhile.

        None: it is being closed already, which is waited for.
        """
        await self.surely_in_kernel(_do_nothing if close is None else close)

    def kernel_call(self, work: Callable[[], _Result]) -> asyncio.Future[_Result]:
        """Has the kernel do something, and returns at once."""
        return asyncio.get_running_loop().run_in_executor(self.kernel, work)


def _do_nothing() -> None:
    """Comes to its turn after all that was begun before."""
