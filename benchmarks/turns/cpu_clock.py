"""Processor time of other processes, user and system together, to the nanosecond.

/proc and psutil count in ticks of 10 ms, a thirtieth of a slice. Linux gives each process a clock of its own
(clock_getcpuclockid(3)), which all its threads, also those that have ended, are in. Its id is made of the process id, as in
the kernel's include/linux/posix-timers.h: the complement in the upper bits, and CPUCLOCK_SCHED below.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Final

_SCHEDULER_CLOCK: Final = 2
_TICKS_A_SECOND: Final = os.sysconf("SC_CLK_TCK")


def process_cpu_s(pid: int) -> float:
    """Raises OSError when there is no such process."""
    return time.clock_gettime((~pid) << 3 | _SCHEDULER_CLOCK)


def session_cpu_s(without: int) -> float:
    """Of all processes of this session but one, and of their children that have ended (those in ticks)."""
    session = os.getsid(0)
    total = 0.0
    for pid in session_processes(session):
        if pid == without:
            continue
        try:
            fields = _stat(pid)
            total += process_cpu_s(pid) + sum(map(int, fields[13:15])) / _TICKS_A_SECOND
        except OSError:
            continue  # it has just ended; its parent has its time now
    return total


def session_processes(session: int) -> list[int]:
    found = []
    for pid in map(int, filter(str.isdigit, os.listdir("/proc"))):
        try:
            if int(_stat(pid)[3]) == session:
                found.append(pid)
        except OSError:
            continue
    return found


def _stat(pid: int) -> list[str]:
    """The fields after the name of the process, which may hold anything."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
