"""The executor that a Spark worker belongs to: its process, its name and its cores, as the process table has them."""

from __future__ import annotations

import os
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Executor:
    """`name` is what Spark's scheduler calls it.

    Name and cores are None in the driver's own process, and where they are not known.
    """

    pid: int
    name: str | None
    cores: int | None

    @property
    def number(self) -> str:
        return "driver" if self.name is None else self.name.rpartition("_")[2]


def executor_of(pid: int) -> Executor:
    """The executor that runs as this process.

    The command line that Spark starts one with is the same under every cluster manager.
    """
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return Executor(pid, None, None)
    return from_command_line(pid, words)


def from_command_line(pid: int, words: list[str]) -> Executor:
    given = dict(pairwise(words))
    host, number, cores = (given.get(name) for name in ("--hostname", "--executor-id", "--cores"))
    name = None if host is None or number is None else f"executor_{host}_{number}"
    return Executor(pid, name, int(cores) if name is not None and cores is not None else None)


def executor_pid() -> int:
    """The JVM above this worker: Spark's daemon of workers stands between them, or does not."""
    pid = os.getppid()
    while pid > 0 and _command(pid) != "java":
        pid = _parent(pid)
    return pid if pid > 0 else os.getppid()


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


def _parent(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0
