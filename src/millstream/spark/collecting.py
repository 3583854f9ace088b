"""Keeps Python's garbage collector from what a worker of Spark has loaded.

Spark has each of its workers collect after everything that it asks of it, also after the making of a writer
and the commit of a micro-batch. That visits PySpark and the clients, 15 ms of processor time, and copies the
memory that a forked worker shares.
"""

from __future__ import annotations

import functools
import gc


@functools.cache
def freeze_what_is_loaded() -> None:
    """Takes everything that is there out of the collector's sight, the first time it is called in a process."""
    gc.collect()
    gc.freeze()
