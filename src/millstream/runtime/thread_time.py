"""Tells how busy a thread was, as the system counts it."""

from __future__ import annotations

import os
import time


def thread_busy_ns() -> int:
    """Returns how long the thread that asks has run, or waited for a processor, since it was started.

    Elsewhere than on Linux, and where the kernel does not count them, without the waits.
    """
    found = _ran_and_waited_ns()
    return time.thread_time_ns() if found is None else sum(found)


def thread_waited_ns() -> int:
    """Returns how long the thread that asks has waited for a processor since it was started; 0 where nobody counts it.

    Waits for Python's own lock are not among them.
    """
    found = _ran_and_waited_ns()
    return 0 if found is None else found[1]


def _ran_and_waited_ns() -> tuple[int, int] | None:
    # A file object takes twice as long.
    try:
        opened = os.open("/proc/thread-self/schedstat", os.O_RDONLY)
    except OSError:
        return None
    try:
        ran_ns, waited_ns, _ = os.read(opened, 128).split()
        return int(ran_ns), int(waited_ns)
    except (OSError, ValueError):
        return None
    finally:
        os.close(opened)
