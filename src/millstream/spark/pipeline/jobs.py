"""Spark jobs that run tasks: one job a micro-batch, one Spark task for each task host, sent where its stream tasks ran last.

A Spark task only carries requests to the host beside it and the replies back; what a stream task fails with is a reply, so that
the others of the job keep their results. A host runs its tasks side by side, so a job does not grow with their number. Spark repeats
what was lost with an executor.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from millstream.errors import MillstreamError
from millstream.spark.pipeline.hosted_application import HostedApplication, digest_of
from millstream.spark.pipeline.messages import Reply, RunTask, RunTasks

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.core.broadcast import Broadcast
    from pyspark.sql import SparkSession


class JobFailed(MillstreamError):
    """Spark could not run a job; its text is Spark's."""


@dataclass(frozen=True, slots=True)
class _Slot:
    """A task host, as far as it is known before the job: one of an executor, or one of any."""

    executor: str | None
    number: int


@dataclass(frozen=True, slots=True)
class _Share:
    """The runs of one Spark task: those of one host, each with its place in the job."""

    request: RunTasks
    places: tuple[int, ...]
    number: int


@dataclass(frozen=True, slots=True)
class _Done:
    """What a Spark task brings back: replies by their place in the job, from the executor as Spark names it, if that is known."""

    replies: tuple[tuple[int, Reply], ...]
    executor: str | None


class TaskJobs:
    """Runs the tasks of one application as jobs of a session. Several threads may run jobs at the same time."""

    def __init__(self, session: SparkSession, application: HostedApplication) -> None:
        """Raises ConfigError for an application that cannot travel."""
        self._context = session.sparkContext
        pickled = application.pickled()
        self.digest: Final = digest_of(pickled)
        self._name = application.config.application_id
        self._application = self._context.broadcast(pickled)
        self._hosts = _cores_of_an_executor(self._context)
        self._ran_on: dict[tuple[int, int], str] = {}
        """By sub-topology and partition, the executor that has the task open."""

    @property
    def places(self) -> Mapping[tuple[int, int], str]:
        """By sub-topology and partition, the executor that has the task open; those in the driver's own process are left out."""
        return dict(self._ran_on)

    def run(self, requests: Sequence[RunTask], description: str) -> list[Reply]:
        """Runs the requests in one job and returns their replies in order. Raises JobFailed."""
        context = self._context
        context.setLocalProperty("spark.job.description", f"{self._name}: {description}")
        rows = [
            (share, [slot.executor] if slot.executor else [])
            for slot, share in self._shares(requests).items()
        ]
        perform = partial(_perform, self._application)
        try:
            done = _parallelized(context, rows).mapPartitions(perform).collect()
        except Exception as error:
            raise JobFailed(str(error)) from error
        replies = {place: reply for each in done for place, reply in each.replies}
        for each in done:
            for place, _ in each.replies if each.executor is not None else ():
                run = requests[place]
                self._ran_on[run.sub_topology, run.partition] = each.executor
        return [replies[place] for place in range(len(requests))]

    def _shares(self, requests: Sequence[RunTask]) -> dict[_Slot, _Share]:
        """The runs by the host that has their tasks open; new tasks are dealt out over the cores that there are."""
        places: dict[_Slot, list[int]] = {}
        cores = max(self._hosts, self._context.defaultParallelism)
        for place, run in enumerate(requests):
            executor = self._ran_on.get((run.sub_topology, run.partition))
            number = (run.sub_topology + run.partition) % (self._hosts if executor else cores)
            places.setdefault(_Slot(executor, number), []).append(place)
        return {
            slot: _Share(
                RunTasks(self._name, self.digest, tuple(requests[place] for place in mine)),
                tuple(mine),
                slot.number % self._hosts,
            )
            for slot, mine in places.items()
        }

    def close(self) -> None:
        """Closes the tasks in the hosts, and forgets the application."""
        places = sorted(set(self._ran_on.values())) or [""]
        close = partial(_close_tasks, self._name, self._hosts)
        rows = [(place, [place] if place else []) for place in places]
        _parallelized(self._context, rows).mapPartitions(close).collect()
        self._application.destroy()


def _parallelized(context: SparkContext, rows: Sequence[tuple[object, list[str]]]) -> Any:  # an RDD
    """One partition for each row, with the places where it is best computed: PySpark has no method for those."""
    if not any(places for _, places in rows):
        return context.parallelize([row for row, _ in rows], len(rows))
    from pyspark.rdd import RDD
    from pyspark.serializers import BatchedSerializer, CPickleSerializer

    serializer: Any = BatchedSerializer(CPickleSerializer(), 1)  # type: ignore[no-untyped-call]  # it has no types
    pickler: Any = CPickleSerializer()  # it has no types
    jvm: Any = context._jvm  # py4j objects have no types
    pairs = jvm.java.util.ArrayList()
    for row, places in rows:
        data = bytearray(pickler.dumps([row]))
        hosts = jvm.org.apache.spark.api.python.PythonUtils.toSeq(list(places))
        pairs.add(jvm.scala.Tuple2(data, hosts))
    tag = jvm.scala.reflect.ClassTag.apply(jvm.java.lang.Class.forName("[B"))
    java_context: Any = context._jsc  # py4j objects have no types
    seq = jvm.org.apache.spark.api.python.PythonUtils.toSeq(pairs)
    placed = java_context.sc().makeRDD(seq, tag).toJavaRDD()
    return RDD(placed, context, serializer)


def _perform(application: Broadcast[bytes], shares: Iterator[_Share]) -> Iterator[_Done]:
    from millstream.spark.pipeline.host_link import executor_pid, run_tasks

    executor = executor_name(executor_pid())
    for share in shares:
        replies = run_tasks(share.request, lambda: application.value, share.number)
        yield _Done(tuple(zip(share.places, replies, strict=True)), executor)


def _close_tasks(application_id: str, hosts: int, places: Iterator[str]) -> Iterator[str]:
    from millstream.spark.pipeline.host_link import close_tasks

    for place in places:
        close_tasks(application_id, hosts)
        yield place


def executor_name(pid: int) -> str | None:
    """The name by which Spark's scheduler knows an executor, out of its command line; None in the driver's own process."""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return None
    given = dict(pairwise(words))
    host, number = given.get("--hostname"), given.get("--executor-id")
    return None if host is None or number is None else f"executor_{host}_{number}"


def _cores_of_an_executor(context: SparkContext) -> int:
    """The number of task hosts beside each executor: one a core."""
    master = context.master or ""
    if master.startswith("local-cluster"):
        return int(master.removeprefix("local-cluster[").split(",")[1])
    if master.startswith("local"):
        return context.defaultParallelism
    return int(context.getConf().get("spark.executor.cores") or os.cpu_count() or 1)
