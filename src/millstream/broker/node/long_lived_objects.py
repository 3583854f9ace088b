"""Freezes the objects that live as long as the node, so that a full garbage collection is always short.

A full collection looks at every container there is: with ten thousand partitions that holds the loop for 0.16
s, and it comes again with every quarter that the node grows. `gc.freeze` moves what is alive out of its
sight. Reference counts still free what is frozen. Only a cycle that becomes garbage later would stay, so what
a node makes many of (partitions, logs, groups, connections) must not end as one:
tests/integration/broker/test_long_lived_objects.py counts what is left of deleted topics.

When to freeze is measured, not guessed: a full collection that took more than a moment has just shown that so
much is alive and that nothing of it is garbage, so what it left is frozen there and then. A node that does
not grow freezes nothing.

For a process that is a node and nothing else: who runs a node beside other things keeps their
garbage collector as it is.
"""

from __future__ import annotations

import gc
import time
from types import TracebackType
from typing import Final, Self

LONG_NS: Final = 3_000_000
"""Of CPU, for one full collection: some twenty thousand objects."""
_THRESHOLDS: Final = (700, 10, 3)
"""A full collection after 21,000 new objects instead of 70,000: many of 3 ms instead of a few of 20."""
_OLDEST: Final = 2


class LongLivedObjects:
    """A context in which objects that survive collections are frozen."""

    def __init__(self, long_ns: int = LONG_NS) -> None:
        """`long_ns`: CPU time of a full collection that shows so much alive that it is frozen."""
        self._long_ns = long_ns
        self._begin_ns = 0
        self._thresholds_before = gc.get_threshold()

    def __enter__(self) -> Self:
        gc.callbacks.append(self._on_collection)
        gc.set_threshold(*_THRESHOLDS)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        gc.callbacks.remove(self._on_collection)
        gc.set_threshold(*self._thresholds_before)
        gc.unfreeze()

    def freeze_all(self) -> None:
        """Freezes all objects.

        It looks at everything, so it is for a moment when no client waits, such as the end of the start.
        """
        gc.collect()
        gc.freeze()
        gc.collect()  # finds next to nothing, and the collector takes that as the size of what there is

    def _on_collection(self, phase: str, info: dict[str, int]) -> None:
        if info["generation"] != _OLDEST:
            return
        if phase == "start":
            self._begin_ns = time.thread_time_ns()
        elif time.thread_time_ns() - self._begin_ns > self._long_ns:
            gc.freeze()
