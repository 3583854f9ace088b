"""Tells in the log what tasks have dropped, so that nobody has to look for it and no log fills with it.

The first records that a node drops for a reason are told at once, further ones together once a minute, those of all
partitions in one line. Of different nodes and reasons ten lines a minute are written at most; what does not fit is told
in the next minute. Owns no clock: it is given one.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, NamedTuple

from millstream.runtime import Clock
from millstream.streams.dropped_records import QUIET, DroppedRecords, DropReason

INTERVAL_MS: Final = 60_000
"""Soon enough for a person, and no log fills by it."""
LINES_MAX: Final = 10
"""In each interval, whatever the number of nodes and reasons: some 15,000 lines a day at worst."""
_LOGGER = logging.getLogger(__name__)


class _Kind(NamedTuple):
    """What one line is about."""

    sub_topology: str
    node: str
    topic: str | None
    reason: DropReason


@dataclass(slots=True)
class _Untold:
    task: str
    dropped: DroppedRecords
    partitions: set[int]


class DroppedLog:
    """One for each stream thread, each driver of pipelines and the global stores of a process.

    Several threads may use it.

    `prefix` begins each line.
    """

    def __init__(self, clock: Clock, prefix: str) -> None:
        self._clock = clock
        self._prefix = prefix
        self._untold: dict[_Kind, _Untold] = {}
        self._told_ms: dict[_Kind, int] = {}
        self._lines_ms: list[int] = []
        self._lock = threading.Lock()

    def take(self, task: str, dropped: Iterable[DroppedRecords] = ()) -> None:
        """Takes what a task has dropped since it was last asked, and tells what is due."""
        with self._lock:
            for each in dropped:
                kind = _Kind(task.partition("_")[0], each.node, each.topic, each.reason)
                before = self._untold.get(kind)
                if before is None:
                    self._untold[kind] = _Untold(task, each, {each.partition})
                else:
                    before.dropped = before.dropped.plus(each)
                    before.partitions.add(each.partition)
        self.tell()

    def tell(self) -> None:
        """Tells what is due. To be called now and then, also where nothing was dropped."""
        if self._untold:
            with self._lock:
                self._tell()

    def close(self) -> None:
        """Tells what is left, up to the number of lines."""
        with self._lock:
            self._told_ms.clear()
            self._lines_ms.clear()
            self._tell()
            self._untold.clear()

    def _tell(self) -> None:
        now_ms = self._clock.now().monotonic_ms
        self._lines_ms = [at for at in self._lines_ms if now_ms - at < INTERVAL_MS]
        for kind, untold in list(self._untold.items()):
            told_ms = self._told_ms.get(kind)
            if told_ms is not None and now_ms - told_ms < INTERVAL_MS:
                continue
            if len(self._lines_ms) >= LINES_MAX:
                return
            del self._untold[kind]
            self._told_ms[kind] = now_ms
            self._lines_ms.append(now_ms)
            level = logging.INFO if kind.reason in QUIET else logging.WARNING
            text = untold.dropped.text(untold.task, len(untold.partitions))
            _LOGGER.log(level, "%s %s", self._prefix, text)
