"""Asks the stores of an application on Spark: finds the task hosts that have them, and
opens again what has been closed.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from millstream.quoting import counted
from millstream.spark.pipeline.host_link import HostUnreachable, NoAnswerInTime
from millstream.spark.pipeline.jobs import JobFailed, TaskJobs
from millstream.spark.pipeline.messages import AskStore, RunTask, TaskFailed
from millstream.spark.pipeline.placement import Task
from millstream.spark.pipeline.planning import CurrentPlan
from millstream.spark.pipeline.queries.metadata import (
    TaskHostInfo,
    host_info,
    metadata_of_hosts,
)
from millstream.spark.pipeline.queries.questions import (
    Answered,
    NotHere,
    Question,
    Refused,
    StoreCall,
    pickled,
    value_of,
)
from millstream.streams.config import StreamsConfig
from millstream.streams.errors import (
    InvalidStoreError,
    InvalidStorePartition,
    StoreNotAvailable,
)
from millstream.streams.queries import (
    FailureReason,
    QueryResult,
    StateQueryRequest,
    StateQueryResult,
    StoreQueryParameters,
)
from millstream.streams.queries.metadata import (
    KeyQueryMetadata,
    Partitioner,
    StreamsMetadata,
    partition_of_key,
)
from millstream.streams.queries.remote_stores import RemoteStore, remote_store, type_of
from millstream.streams.runtime.task_names import sub_topology_name, task_name
from millstream.streams.serdes.serde import Serde
from millstream.streams.state.read_only import Stored
from millstream.streams.topology.plan import SubTopologyPlan
from millstream.streams.topology.topology import Topology

QUERY_TIMEOUT_MS: Final = 10_000
"""A store answers between two runs of its task, and a run takes seconds where there is much to catch up."""
_LOGGER = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Where:
    """A store and the sub-topology that keeps it; `plan` None for a global store."""

    store: str
    plan: SubTopologyPlan | None
    name: str = ""
    """Of the sub-topology, as tasks are called after it."""

    @property
    def partitions(self) -> range:
        return range(0 if self.plan is None else self.plan.tasks)


class StoreQueries:
    """Several threads may ask. `require_running` raises where the application cannot be asked."""

    def __init__(
        self,
        topology: Topology,
        config: StreamsConfig,
        jobs: TaskJobs,
        plan: CurrentPlan,
        require_running: Callable[[], None],
    ) -> None:
        self._topology = topology
        self._config = config
        self._jobs = jobs
        self._plan = plan
        self._require_running = require_running
        self._opening: dict[Task, threading.Thread] = {}
        self._is_closed = False
        self._lock = threading.Lock()

    def store(self, wanted: StoreQueryParameters[Stored] | str, timeout_ms: int) -> RemoteStore:
        """Returns the store to be read. Raises InvalidStoreError for one that is not there, or not of this type."""
        self._require_running()
        name = wanted if isinstance(wanted, str) else wanted.store
        where = self._where(name)
        if isinstance(wanted, str):
            seen_as = type_of(self._topology.stores[name].kind)
            if seen_as is None:
                raise InvalidStoreError(f"store {name} is an operator's own, and cannot be asked")
            return remote_store(seen_as.name, _Partitions(self, where, seen_as.name, timeout_ms))
        if wanted.partition is not None and where.plan is not None:
            self._require_partition(where, wanted.partition)
        partitions = _Partitions(self, where, wanted.type.name, timeout_ms, wanted.partition)
        return remote_store(wanted.type.name, partitions)

    def query(self, request: StateQueryRequest, timeout_ms: int) -> StateQueryResult:
        """Asks all partitions, or those of the request; what cannot be asked now is a result too (NOT_PRESENT)."""
        self._require_running()
        where = self._where(request.store)
        question = replace(request, partitions=None)
        if where.plan is None:
            return StateQueryResult(global_result=self._result(where, None, question, timeout_ms))
        wanted = where.partitions if request.partitions is None else request.partitions
        return StateQueryResult(
            {each: self._result(where, each, question, timeout_ms) for each in wanted}
        )

    def metadata_of_key(
        self, store: str, key: object, serde: Serde[Stored] | None, partitioner: Partitioner | None
    ) -> KeyQueryMetadata[TaskHostInfo]:
        """Returns where a key is."""
        where = self._where(store)
        if where.plan is None:
            raise InvalidStoreError(f"store {store} is global: every host has all of its keys")
        partition = self.partition_of(where, key, serde, partitioner)
        task = where.plan.id, partition
        slot = self._jobs.slots_of_tasks.get(task)
        copies = self._jobs.copies_of_tasks.get(task, ())
        return KeyQueryMetadata(
            partition,
            None if slot is None else host_info(slot),
            frozenset(map(host_info, copies)),
        )

    def metadata(self) -> list[StreamsMetadata[TaskHostInfo]]:
        """Returns what each task host has."""
        plans = {plan.id: plan for plan in self._plan.last.sub_topologies}
        jobs = self._jobs
        return metadata_of_hosts(self._topology, plans, jobs.slots_of_tasks, jobs.copies_of_tasks)

    def close(self) -> None:
        """Waits for tasks that are being opened; opens no more."""
        with self._lock:
            self._is_closed = True
            opening = list(self._opening.values())
        for thread in opening:
            thread.join()

    def partition_of(
        self,
        where: _Where,
        key: object,
        serde: Serde[Stored] | None = None,
        partitioner: Partitioner | None = None,
    ) -> int:
        """Returns the partition that Kafka's default partitioner gives a key, or another partitioner."""
        count = len(where.partitions)
        serde = serde or self._topology.stores[where.store].key or self._config.default_key
        return partition_of_key(where.store, key, count, serde, partitioner)

    def ask(
        self, where: _Where, partition: int | None, question: Question, timeout_ms: int
    ) -> object:
        """Asks the store of one task. `partition` None asks a global store.

        Raises StoreNotAvailable where no host has the task open, or it does not answer in time; it is then
        opened, to be asked again.
        """
        if where.plan is None:
            return self._ask_global(where, question, timeout_ms)
        assert partition is not None, "stores have partitions unless they are global"
        task = where.plan.id, partition
        asked = self._message(where.store, question, task_name(where.name, partition))
        about = f"task {where.plan.id}_{partition} of store {where.store}"
        try:
            reply = self._jobs.ask(task, asked, timeout_ms / 1000)
        except NoAnswerInTime as error:
            raise StoreNotAvailable(f"{about}: {error}; ask again") from error
        except (HostUnreachable, JobFailed) as error:
            self._open(task)
            raise StoreNotAvailable(
                f"{about} is being opened, ask again: its host cannot be asked, {error}"
            ) from error
        if isinstance(reply, NotHere):
            self._open(task)
            raise StoreNotAvailable(f"{about} is being opened, ask again")
        return _value(reply)

    def _ask_global(self, where: _Where, question: Question, timeout_ms: int) -> object:
        asked = self._message(where.store, question, None)
        hosts = {slot: task for task, slot in self._jobs.slots_of_tasks.items()}
        for task in hosts.values():
            try:
                reply = self._jobs.ask(task, asked, timeout_ms / 1000)
            except (HostUnreachable, NoAnswerInTime, JobFailed) as error:
                _LOGGER.info("global store %s was not answered: %s", where.store, error)
                continue
            if not isinstance(reply, NotHere):
                return _value(reply)
        raise StoreNotAvailable(f"no host has global store {where.store} open now, ask again")

    def _message(self, store: str, question: Question, name: str | None) -> AskStore:
        return AskStore(
            self._config.application_id, self._jobs.digest, name, store, pickled(question)
        )

    def _result(
        self, where: _Where, partition: int | None, question: Question, timeout_ms: int
    ) -> QueryResult:
        if partition is not None and partition not in where.partitions:
            message = f"store {where.store} has {counted(len(where.partitions), 'partition')}"
            return QueryResult(failure=FailureReason.DOES_NOT_EXIST, message=message)
        try:
            found = self.ask(where, partition, question, timeout_ms)
        except StoreNotAvailable as error:
            return QueryResult(failure=FailureReason.NOT_PRESENT, message=str(error))
        assert isinstance(found, QueryResult), "a host answers a request with a result"
        return found

    def _where(self, store: str) -> _Where:
        topology = self._topology
        if store in topology.global_stores:
            return _Where(store, None)
        for plan in self._plan.last.sub_topologies:
            group = topology.sub_topologies[plan.id]
            if any(spec.name == store for spec in topology.stores_of(group)):
                name = sub_topology_name(topology, group, self._config.application_id)
                return _Where(store, plan, name)
        raise InvalidStoreError(f"there is no store {store}; there are {sorted(topology.stores)}")

    def _require_partition(self, where: _Where, partition: int) -> None:
        if partition not in where.partitions:
            raise InvalidStorePartition(
                f"store {where.store} has partitions 0 to {len(where.partitions) - 1}, not {partition}"
            )

    # A task that no host has open, because its host has ended or it had nothing to do for long.

    def _open(self, task: Task) -> None:
        with self._lock:
            if self._is_closed or task in self._opening:
                return
            thread = threading.Thread(target=self._open_by_job, args=(task,), daemon=True)
            self._opening[task] = thread
            thread.start()

    def _open_by_job(self, task: Task) -> None:
        number, partition = task
        plan = next(each for each in self._plan.last.sub_topologies if each.id == number)
        lags: dict[str, int] | None = {} if self._config.max_task_idle_ms > 0 else None
        run = RunTask(number, partition, plan.topics_of_tasks[partition], ends={}, lags=lags)
        try:
            (reply,) = self._jobs.run([run], f"task {number}_{partition} is opened to be asked")
            if isinstance(reply, TaskFailed):
                _LOGGER.warning("task %s was not opened: %s", reply.task, reply.text)
        except JobFailed as error:
            _LOGGER.warning("task %d_%d was not opened: %s", number, partition, error)
        finally:
            with self._lock:
                del self._opening[task]


def _value(reply: object) -> object:
    assert isinstance(reply, Answered | Refused), "a host answers a question with these"
    return value_of(reply)


class _Partitions:
    """The partitions of one store, or one of them, asked one after another."""

    def __init__(
        self,
        asking: StoreQueries,
        where: _Where,
        seen_as: str,
        timeout_ms: int,
        only: int | None = None,
    ) -> None:
        self._asking = asking
        self._where = where
        self._seen_as = seen_as
        self._timeout_ms = timeout_ms
        self._only = only

    def of_key(self, key: object, method: str, *arguments: object, **named: object) -> Stored:
        for partition in self._in_order_for(key):
            found = self._ask(partition, method, arguments, named)
            if found is not None and found != []:
                return found
        return None

    def of_all(self, method: str, *arguments: object, **named: object) -> Iterator[Stored]:
        ask = partial(self._ask, method=method, arguments=arguments, named=named)
        return map(ask, self._all)

    @property
    def _all(self) -> list[int | None]:
        if self._where.plan is None:
            return [None]
        return list(self._where.partitions) if self._only is None else [self._only]

    def _in_order_for(self, key: object) -> list[int | None]:
        every = self._all
        if len(every) == 1:
            return every
        first = self._asking.partition_of(self._where, key)
        return [first, *(each for each in every if each != first)]

    def _ask(
        self,
        partition: int | None,
        method: str,
        arguments: tuple[object, ...],
        named: dict[str, object],
    ) -> Stored:
        call = StoreCall(self._where.store, self._seen_as, method, arguments, named)
        return self._asking.ask(self._where, partition, call, self._timeout_ms)
