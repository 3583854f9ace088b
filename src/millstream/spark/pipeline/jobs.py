"""Spark jobs that run tasks: one job a micro-batch, one Spark task for each task host.

A Spark task only carries requests to the host beside it and the replies back; what a stream task fails with is a reply,
so that the others of the job keep their results. A host runs its tasks side by side, so a job does not grow with their
number. Spark repeats what was lost with an executor.
"""

from __future__ import annotations

import logging
import re
import socket
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from millstream.errors import MillstreamError
from millstream.spark.pipeline.driver_secret import secret_of_driver
from millstream.spark.pipeline.host_link import HostUnreachable, NoAnswerInTime, ask_host
from millstream.spark.pipeline.hosted_application import HostedApplication, digest_of
from millstream.spark.pipeline.messages import (
    AskStore,
    KeepStandbys,
    Reply,
    RunTask,
    RunTasks,
    Standby,
    StandbysKept,
)
from millstream.spark.pipeline.placement import Slot, Task, placed, standbys_of

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.core.broadcast import Broadcast
    from pyspark.sql import SparkSession

_LOCAL: Final = re.compile(r"local(?:\[(\d+|\*)(?:,\s*\d+)?\])?$")
"""The masters whose executor is the driver's JVM; local-cluster is none of them."""
_DRIVER: Final = "driver"
_LOGGER = logging.getLogger(__name__)


class JobFailed(MillstreamError):
    """Spark could not run a job; its text is Spark's."""


@dataclass(frozen=True, slots=True)
class _Share:
    """The runs of one Spark task: those of one host, each with its index in the job."""

    request: RunTasks
    indexes: tuple[int, ...]
    number: int


@dataclass(frozen=True, slots=True)
class HostAddress:
    """The machine of a task host, and its socket there."""

    machine: str
    socket: str

    @property
    def is_here(self) -> bool:
        return self.machine == socket.gethostname() and Path(self.socket).exists()


@dataclass(frozen=True, slots=True)
class _Done:
    """What a Spark task brings back: replies by their index in the job, and the host that they come from."""

    replies: tuple[tuple[int, Reply], ...]
    slot: Slot
    address: HostAddress


class TaskJobs:
    """Runs the tasks of one application as jobs of a session. Several threads may run jobs at the same time."""

    def __init__(self, session: SparkSession, application: HostedApplication) -> None:
        """Raises ConfigError for an application that cannot travel."""
        self._context = session.sparkContext
        pickled = application.pickled()
        self.digest: Final = digest_of(pickled)
        self._name = application.config.application_id
        self._application = self._context.broadcast(pickled)
        self._secret = secret_of_driver()
        self._driver_cores = _cores_of_driver(self._context)
        self._slots_of_tasks: dict[Task, Slot] = {}
        self._addresses: dict[Slot, HostAddress] = {}
        self._standbys: dict[Task, tuple[Slot, ...]] = {}
        self._copies: dict[Task, tuple[Slot, ...]] = {}
        """By task that has standbys, the slots of those that are ready."""
        self._lock = threading.Lock()

    @property
    def executors_of_tasks(self) -> Mapping[Task, str]:
        """The executor that has a task open or is to open it; those in the driver's own process are left out."""
        with self._lock:
            slots = dict(self._slots_of_tasks)
        return {task: slot.executor for task, slot in slots.items() if slot.executor is not None}

    @property
    def slots_of_tasks(self) -> Mapping[Task, Slot]:
        """The host of each task that has been run."""
        with self._lock:
            return {
                task: slot for task, slot in self._slots_of_tasks.items() if slot in self._addresses
            }

    def run(self, requests: Sequence[RunTask], description: str) -> list[Reply]:
        """Runs the requests in one job and returns their replies in order. Raises JobFailed."""
        perform = partial(_perform, self._application, self._secret, self._driver_cores)
        try:
            self._context.setLocalProperty("spark.job.description", f"{self._name}: {description}")
            rows = [
                (share, [slot.executor] if slot.executor else [])
                for slot, share in self._shares(requests).items()
            ]
            done = _parallelized(self._context, rows).mapPartitions(perform).collect()
        except Exception as error:
            raise JobFailed(str(error)) from error
        # Of a Spark task that ran twice one attempt is told. Both have run the tasks, each where the other had left
        # them: the one that was fenced answers with a failure that may be repeated.
        replies = {index: reply for each in done for index, reply in each.replies}
        with self._lock:
            for each in done:
                self._addresses[each.slot] = each.address
                for index, _ in each.replies:
                    self._slots_of_tasks[_task(requests[index])] = each.slot
        return [replies[index] for index in range(len(requests))]

    def ask(self, task: Task, message: AskStore, timeout_s: float) -> object:
        """Asks the host of a task: over its socket where that is on this machine, else by a job on its executor.

        Raises HostUnreachable, NoAnswerInTime and JobFailed.
        """
        slot = self.slots_of_tasks.get(task)
        if slot is None:
            raise HostUnreachable("it has not run yet")
        with self._lock:
            address = self._addresses[slot]
        if address.is_here:
            return ask_host(Path(address.socket), self._secret, message, timeout_s)
        return in_time(timeout_s, partial(self._ask_in_job, slot, address, message, timeout_s))

    def _ask_in_job(
        self, slot: Slot, address: HostAddress, message: AskStore, timeout_s: float
    ) -> object:
        rows = [((message, address.socket), [slot.executor] if slot.executor else [])]
        try:
            self._context.setLocalProperty("spark.job.description", f"{self._name}: a query")
            (reply,) = (
                _parallelized(self._context, rows)
                .mapPartitions(partial(_ask_beside, self._secret, timeout_s))
                .collect()
            )
        except Exception as error:
            raise JobFailed(str(error)) from error
        if isinstance(reply, HostUnreachable | NoAnswerInTime):
            raise reply
        return reply

    def keep_standbys(self, topics: Mapping[Task, tuple[str, ...]], count: int) -> None:
        """Has other executors than its own keep the stores of each of the tasks; `topics` are those it reads.

        Raises JobFailed.
        """
        slots = self._slots()
        with self._lock:
            self._standbys = standbys_of(
                topics.keys(), dict(self._slots_of_tasks), slots, self._standbys, count
            )
            wanted = dict(self._standbys)
        mine: dict[Slot, list[Standby]] = {}
        for task, copies in wanted.items():
            for slot in copies:
                mine.setdefault(slot, []).append(Standby(*task, topics[task]))
        rows = [
            ((slot, KeepStandbys(self._name, self.digest, tuple(each))), [str(slot.executor)])
            for slot, each in mine.items()
        ]
        keep = partial(_keep_standbys, self._application, self._secret)
        try:
            self._context.setLocalProperty("spark.job.description", f"{self._name}: standbys")
            done = _parallelized(self._context, rows).mapPartitions(keep).collect() if rows else []
        except Exception as error:
            raise JobFailed(str(error)) from error
        ready: dict[Task, tuple[Slot, ...]] = dict.fromkeys(topics, ())
        for slot, kept in done:
            for task in kept.ready:
                if task in ready:
                    ready[task] += (slot,)
        with self._lock:
            self._copies = ready

    @property
    def copies(self) -> Mapping[Task, tuple[str, ...]]:
        """The executors whose standbys of a task are up to date."""
        copies = self.copies_of_tasks
        return {task: tuple(str(slot.executor) for slot in mine) for task, mine in copies.items()}

    @property
    def copies_of_tasks(self) -> Mapping[Task, tuple[Slot, ...]]:
        """The hosts whose standbys of a task are up to date."""
        with self._lock:
            return dict(self._copies)

    def _shares(self, requests: Sequence[RunTask]) -> dict[Slot, _Share]:
        """The runs by the host that is to have their tasks."""
        slots = self._slots()
        with self._lock:
            tasks = [_task(each) for each in requests]
            wanted = placed(tasks, self._slots_of_tasks, slots, self._copies)
            self._slots_of_tasks |= wanted
        indexes: dict[Slot, list[int]] = {}
        for index, run in enumerate(requests):
            indexes.setdefault(wanted[_task(run)], []).append(index)
        return {
            slot: _Share(
                RunTasks(self._name, self.digest, tuple(requests[index] for index in mine)),
                tuple(mine),
                slot.number,
            )
            for slot, mine in indexes.items()
        }

    def _slots(self) -> list[Slot]:
        """The hosts that there are, started or not; those of any executor where none has come yet."""
        executors = _executors(self._context)
        if not executors:
            cores = self._driver_cores or self._context.defaultParallelism
            return [Slot(None, number) for number in range(cores)]
        return [Slot(name, n) for name, cores in sorted(executors.items()) for n in range(cores)]

    def close(self) -> None:
        """Closes the tasks in the hosts, and forgets the application.

        Hosts that cannot be asked close them when their executor ends.
        """
        try:
            close = partial(_close_tasks, self._name, self._secret, self._driver_cores)
            if rows := self._in_each_executor():
                _parallelized(self._context, rows).mapPartitions(close).collect()
            self._application.destroy()
        except Exception as error:  # noqa: BLE001  # the session may have ended before, or its JVM
            _LOGGER.info("application %s was not closed in its hosts: %s", self._name, error)

    def _in_each_executor(self) -> list[tuple[str, list[str]]]:
        """A row, and where it is to be computed, for each executor that has tasks."""
        if _is_local(self._context):
            return [("", [])]
        with self._lock:
            keeping = {str(slot.executor) for mine in self._standbys.values() for slot in mine}
        executors = (set(self.executors_of_tasks.values()) | keeping) & _executors(
            self._context
        ).keys()
        return [(each, [each]) for each in sorted(executors)]


def _parallelized(context: SparkContext, rows: Sequence[tuple[object, list[str]]]) -> Any:  # an RDD
    """One partition for each row, with the executors that it prefers: PySpark has no method for those."""
    if not any(preferred for _, preferred in rows):
        return context.parallelize([row for row, _ in rows], len(rows))
    from pyspark.rdd import RDD
    from pyspark.serializers import BatchedSerializer, CPickleSerializer

    serializer: Any = BatchedSerializer(CPickleSerializer(), 1)  # type: ignore[no-untyped-call]  # it has no types
    pickler: Any = CPickleSerializer()  # it has no types
    jvm: Any = context._jvm  # py4j objects have no types
    pairs = jvm.java.util.ArrayList()
    for row, preferred in rows:
        data = bytearray(pickler.dumps([row]))
        hosts = jvm.org.apache.spark.api.python.PythonUtils.toSeq(list(preferred))
        pairs.add(jvm.scala.Tuple2(data, hosts))
    tag = jvm.scala.reflect.ClassTag.apply(jvm.java.lang.Class.forName("[B"))
    java_context: Any = context._jsc  # py4j objects have no types
    seq = jvm.org.apache.spark.api.python.PythonUtils.toSeq(pairs)
    placed = java_context.sc().makeRDD(seq, tag).toJavaRDD()
    return RDD(placed, context, serializer)


def _task(run: RunTask) -> Task:
    return run.sub_topology, run.partition


def _perform(
    application: Broadcast[bytes], secret: bytes, driver_cores: int, shares: Iterator[_Share]
) -> Iterator[_Done]:
    from millstream.spark.pipeline.executor import executor_of, executor_pid
    from millstream.spark.pipeline.host_link import run_tasks, socket_of

    executor = executor_of(executor_pid())
    for share in shares:
        slot = Slot(executor.name, share.number % (executor.cores or driver_cores or 1))
        replies = run_tasks(share.request, lambda: application.value, slot.number, secret)
        address = HostAddress(socket.gethostname(), str(socket_of(slot.number, secret)))
        yield _Done(tuple(zip(share.indexes, replies, strict=True)), slot, address)


def _ask_beside(
    secret: bytes, timeout_s: float, asked: Iterator[tuple[AskStore, str]]
) -> Iterator[object]:
    for message, path in asked:
        try:
            yield ask_host(Path(path), secret, message, timeout_s)
        except (HostUnreachable, NoAnswerInTime) as error:
            yield error


def _keep_standbys(
    application: Broadcast[bytes], secret: bytes, requests: Iterator[tuple[Slot, KeepStandbys]]
) -> Iterator[tuple[Slot, StandbysKept]]:
    """Does nothing where Spark has chosen another executor: the next turn finds the right one free, or gone."""
    from millstream.spark.pipeline.executor import executor_of, executor_pid
    from millstream.spark.pipeline.host_link import keep_standbys

    executor = executor_of(executor_pid())
    for slot, request in requests:
        if slot.executor == executor.name:
            yield slot, keep_standbys(request, lambda: application.value, slot.number, secret)


def _close_tasks(
    application_id: str, secret: bytes, driver_cores: int, executors: Iterator[str]
) -> Iterator[str]:
    from millstream.spark.pipeline.executor import executor_of, executor_pid
    from millstream.spark.pipeline.host_link import close_tasks

    hosts = executor_of(executor_pid()).cores or driver_cores or 1
    for executor in executors:
        close_tasks(application_id, hosts, secret)
        yield executor


def in_time(timeout_s: float, work: Callable[[], object]) -> object:
    """Does the work in a thread of its own, which goes on when the time is over. Raises NoAnswerInTime."""
    done: Future[object] = Future()

    def perform() -> None:
        try:
            done.set_result(work())
        except BaseException as error:  # noqa: BLE001  # whoever waits is told
            done.set_exception(error)

    threading.Thread(target=perform, daemon=True).start()
    try:
        return done.result(timeout_s)
    except TimeoutError as error:
        raise NoAnswerInTime(f"no answer within {timeout_s:g} s") from error


def _is_local(context: SparkContext) -> bool:
    return _LOCAL.match(context.master or "") is not None


def _cores_of_driver(context: SparkContext) -> int:
    jvm: Any = context._jvm  # py4j objects have no types
    available = jvm.java.lang.Runtime.getRuntime
    return cores_of_driver(context.master or "", lambda: available().availableProcessors())


def cores_of_driver(master: str, available: Callable[[], int]) -> int:
    """The number of task hosts beside a JVM that is driver and executor in one: one a core.

    0: executors know their own.
    """
    found = _LOCAL.match(master)
    if found is None:
        return 0
    return available() if found[1] == "*" else int(found[1] or 1)


def _executors(context: SparkContext) -> dict[str, int]:
    """The cores of each executor that runs, by the name that Spark's scheduler knows it by.

    Empty where there is no choice.
    """
    if _is_local(context):
        return {}
    java_context: Any = context._jsc  # py4j objects have no types
    summaries = java_context.sc().statusStore().executorList(True)
    found = {}
    for number in range(summaries.size()):
        each = summaries.apply(number)
        if each.id() != _DRIVER:
            host = each.hostPort().rsplit(":", 1)[0]
            found[f"executor_{host}_{each.id()}"] = max(1, each.totalCores())
    return found
