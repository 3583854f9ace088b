"""Tells how busy a thread was, as the system counts it."""

from __future__ import annotations

import time
from pathlib import Path


def thread_busy_ns() -> int:
    """Returns how long the thread that asks has run, or waited for a processor, since it was started.

    Elsewhere than on Linux, and where the kernel does not count them, without the waits.
    """
    try:
        ran_ns, waited_ns, _ = Path("/proc/thread-self/schedstat").read_bytes().split()
    except (OSError, ValueError):
        return time.thread_time_ns()
    return int(ran_ns) + int(waited_ns)
