"""Orders to kill a process at a named moment: written by a test, carried out by the process that comes to it.

That is a task host for a step of a task, and the driver when it has planned a micro-batch; of an application on stream threads it is the
process of the thread. A directory holds one file for each
order. Processes find it by an environment variable, and each order is carried out once: whoever can delete its file does it.
"""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from millstream.streams.application.processes.process_stream_thread import MODULE as THREAD_MODULE

VARIABLE: Final = "MILLSTREAM_TEST_KILL_ORDERS"
EXECUTOR_VARIABLE: Final = "MILLSTREAM_TEST_EXECUTOR"
INSTANCE_MODULE: Final = "tests.support.kills.nursery"
"""Instances are forks of this one."""
EXECUTOR_CLASS: Final = "org.apache.spark.executor.CoarseGrainedExecutorBackend"
DAEMON_MODULE: Final = "tests.support.kills.worker_daemon"
DAEMONS: Final = frozenset({DAEMON_MODULE, "pyspark.daemon"})
"""The second one starts what plans and what ends a micro-batch."""
PIPELINE_PROGRAM: Final = "pyspark/pipelines/cli.py"


PLANNED: Final = "planned"
"""The driver knows which tasks are to run, and how far; none of them runs yet."""
PROCESSING: Final = "processing"
"""A record of a batch is in the middle of the topology."""
RESTORING: Final = "restoring"
"""Some records of a changelog are in a store."""
Moment = str
"""A step of a task (`Step`) or of what goes on around it, of a sink (`SinkMoment`), or one of these."""


class ThreadKilled(Exception):
    """Ends a stream thread that is no process of its own."""


class Victim(StrEnum):
    """The process to kill. The JVM is the driver's; without a cluster it is the executor, too. That of a
    Declarative Pipeline is killed with its program, which is a client and goes on asking for ten minutes.

    Of those that come more than once: at a step of a task the host and executor are the task's own, and the worker one of its
    executor; at a moment in a worker it is this worker and its executor; else any that is there.
    """

    HOST = "host"
    WORKER = "worker"
    EXECUTOR = "executor"
    JVM = "jvm"
    DRIVER = "driver"
    """The program in Python, which starts the JVM. That of a Declarative Pipeline is itself started by another JVM."""
    BROKER = "broker"
    COORDINATOR = "coordinator"
    """The broker of several that coordinates the group of the application."""
    INSTANCE = "instance"
    """The process of an application on stream threads whose thread has come to the moment."""
    THREAD = "thread"
    """The stream thread that has come to the moment, which fails."""
    THREAD_PROCESS = "thread process"
    """The process that the stream thread is."""


@dataclass(frozen=True)
class Order:
    """Kill at the `nth` time that one process comes to this moment."""

    victim: Victim
    moment: Moment
    nth: int = 1

    def __str__(self) -> str:
        return f"{self.victim} at {self.moment}, {self.nth}"


class Orders:
    """They are carried out one after another. `broker` and `coordinator` hold the process ids of brokers, which are not of the application."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.broker = directory.with_suffix(".broker")
        self.coordinator = directory.with_suffix(".coordinator")
        self._moments: Counter[Moment] = Counter()

    @classmethod
    def from_environment(cls) -> Orders:
        return cls(Path(os.environ[VARIABLE]))

    def write(self, orders: Iterable[Order]) -> None:
        self.directory.mkdir(exist_ok=True)
        for number, order in enumerate(orders):
            words = (order.victim, order.moment, str(order.nth))
            (self.directory / f"{number:04}").write_text("\n".join(words))

    def left(self) -> list[Path]:
        """Those that have not been carried out."""
        return sorted(self.directory.iterdir())

    @property
    def next_moment(self) -> Moment | None:
        """The moment that is waited for."""
        orders = [self._read(path) for path in self.left()[:1]]
        return next((each.moment for each in orders if each is not None), None)

    def pass_over(self) -> int | None:
        """Gives up the first one, whose moment does not come. Returns its number, or None where it has just been carried out."""
        for path in self.left()[:1]:
            try:
                path.unlink()
            except FileNotFoundError:
                break
            return int(path.name)
        return None

    def observe(self, moment: Moment, _task_id: str = "") -> None:
        """Kills whom the first order says, if this is the moment that it waits for."""
        self._moments[moment] += 1
        for path in self.left()[:1]:
            order = self._read(path)
            if order is None or order.moment != moment or self._moments[moment] < order.nth:
                continue
            pid = self._pid_of(order.victim)
            if pid is None:
                continue
            try:
                path.unlink()
            except FileNotFoundError:
                continue  # another process was first
            if order.victim is Victim.THREAD:
                raise ThreadKilled(moment)
            client = _client_of_pipeline() if order.victim is Victim.JVM else None
            for each in filter(None, (pid, client)):
                os.kill(each, signal.SIGKILL)

    def _read(self, path: Path) -> Order | None:
        try:
            victim, moment, nth = path.read_text().splitlines()
        except FileNotFoundError:
            return None  # carried out meanwhile
        return Order(Victim(victim), moment, int(nth))

    def _pid_of(self, victim: Victim) -> int | None:
        """None where there is no such process now."""
        driver = os.getsid(0)
        executor = os.environ.get(EXECUTOR_VARIABLE)
        is_worker = executor is None and not DAEMONS.isdisjoint(words_of(os.getppid()))
        match victim:
            case Victim.INSTANCE:
                lineage = (os.getpid(), os.getppid())
                return next((pid for pid in lineage if INSTANCE_MODULE in words_of(pid)), None)
            case Victim.THREAD:
                return os.getpid()
            case Victim.THREAD_PROCESS:
                return os.getpid() if THREAD_MODULE in words_of(os.getpid()) else None
            case Victim.BROKER | Victim.COORDINATOR:
                pid_file = self.broker if victim is Victim.BROKER else self.coordinator
                pid = int(pid_file.read_text())
                return pid if is_running(pid) else None
            case Victim.DRIVER:
                return _client_of_pipeline() or (driver if is_running(driver) else None)
            case Victim.JVM:
                return _first(children_of(_client_of_pipeline() or driver), "java")
            case Victim.EXECUTOR if executor is not None:
                return int(executor)
            case Victim.EXECUTOR:
                mine = parent_of(os.getppid()) if is_worker else None
                places = session_of(driver) if mine is None else [mine]
                return _first(places, EXECUTOR_CLASS) or _first(session_of(driver), EXECUTOR_CLASS)
            case Victim.HOST if executor is not None:
                return os.getpid()
            case Victim.HOST:
                return _first(session_of(driver), "tests.support.kills.host")
            case Victim.WORKER if is_worker:
                return os.getpid()
            case Victim.WORKER:
                places = session_of(driver) if executor is None else children_of(int(executor))
                daemons = [pid for pid in places if DAEMON_MODULE in words_of(pid)]
                return next((pid for each in daemons for pid in children_of(each)), None)


def _client_of_pipeline() -> int | None:
    """The program of a Declarative Pipeline; None where this process is not of one."""
    return _first(children_of(os.getsid(0)), PIPELINE_PROGRAM)


def _first(pids: Iterable[int], word: str) -> int | None:
    """The first process that has this word in its command line, or ends a word of it with this."""
    return next((pid for pid in pids if any(each.endswith(word) for each in words_of(pid))), None)


def parent_of(pid: int) -> int | None:
    stat = stat_of(pid)
    return None if stat is None else int(stat[1])


def children_of(pid: int) -> list[int]:
    return [each for each in _everybody() if parent_of(each) == pid]


def session_of(leader: int) -> list[int]:
    """The processes of a session that run."""
    stats = {pid: stat_of(pid) for pid in _everybody()}
    return [
        pid
        for pid, stat in stats.items()
        if stat is not None and stat[0] != "Z" and int(stat[3]) == leader
    ]


def is_running(pid: int) -> bool:
    stat = stat_of(pid)
    return stat is not None and stat[0] != "Z"


def stat_of(pid: int) -> list[str] | None:
    """State, parent, process group, session and so on; None for a process that is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None


def words_of(pid: int) -> list[str]:
    """The command line of a process."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")
    except (FileNotFoundError, ProcessLookupError):
        return []


def _everybody() -> list[int]:
    return [int(each) for each in os.listdir("/proc") if each.isdigit()]
