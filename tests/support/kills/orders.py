"""Orders to kill a process at a named step of a task: written by a test, carried out by the task host that comes to the step.

A directory holds one file for each order. Hosts find it by an environment variable, and each order is carried out once:
whoever can delete its file does it.
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

from millstream.streams.runtime.steps import Step

VARIABLE: Final = "MILLSTREAM_TEST_KILL_ORDERS"
EXECUTOR_VARIABLE: Final = "MILLSTREAM_TEST_EXECUTOR"


class Victim(StrEnum):
    """The process to kill. Of those that come more than once: the host is the task's own, the worker any that is there."""

    HOST = "host"
    WORKER = "worker"
    JVM = "jvm"
    DRIVER = "driver"
    BROKER = "broker"


@dataclass(frozen=True)
class Order:
    """Kill at the `nth` time that one host does this step."""

    victim: Victim
    step: Step
    nth: int = 1

    def __str__(self) -> str:
        return f"{self.victim} at {self.step}, {self.nth}"


class Orders:
    """They are carried out one after another. `broker` holds the process id of the broker, which is not of the application."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self.broker = directory.with_suffix(".broker")
        self._steps: Counter[Step] = Counter()

    @classmethod
    def from_environment(cls) -> Orders:
        return cls(Path(os.environ[VARIABLE]))

    def write(self, orders: Iterable[Order]) -> None:
        self._directory.mkdir(exist_ok=True)
        for number, order in enumerate(orders):
            words = (order.victim.name, order.step.name, order.nth)
            (self._directory / f"{number:04}").write_text(" ".join(map(str, words)))

    def left(self) -> list[Path]:
        """Those that have not been carried out."""
        return sorted(self._directory.iterdir())

    def observe(self, step: Step, _task_id: str) -> None:
        """Kills whom the first order says, if this is the step that it waits for."""
        self._steps[step] += 1
        for path in self.left()[:1]:
            order = self._read(path)
            if order is not None and order.step is step and self._steps[step] >= order.nth:
                pid = self._pid_of(order.victim)
                if pid is None:
                    continue
                try:
                    path.unlink()
                except FileNotFoundError:
                    continue  # another host was first
                os.kill(pid, signal.SIGKILL)

    def _read(self, path: Path) -> Order | None:
        try:
            victim, step, nth = path.read_text().split()
        except FileNotFoundError:
            return None  # carried out meanwhile
        return Order(Victim[victim], Step[step], int(nth))

    def _pid_of(self, victim: Victim) -> int | None:
        """This process is a task host: its parent has gone, so the executor is known by the environment alone."""
        jvm = int(os.environ[EXECUTOR_VARIABLE])
        match victim:
            case Victim.HOST:
                return os.getpid()
            case Victim.BROKER:
                return int(self.broker.read_text())
            case Victim.JVM:
                return jvm
            case Victim.DRIVER:
                return parent_of(jvm)
            case Victim.WORKER:
                daemons = children_of(jvm)
                return next((worker for daemon in daemons for worker in children_of(daemon)), None)


def parent_of(pid: int) -> int | None:
    stat = stat_of(pid)
    return None if stat is None else int(stat[1])


def children_of(pid: int) -> list[int]:
    everybody = map(int, filter(str.isdigit, os.listdir("/proc")))
    return [each for each in everybody if parent_of(each) == pid]


def stat_of(pid: int) -> list[str] | None:
    """State, parent, process group, session and so on; None for a process that is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
