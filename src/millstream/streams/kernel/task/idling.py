"""Idling of a task: it may wait for topics that have nothing queued, so that records come in the order of time.

`max.task.idle.ms` (KIP-353, KIP-695): -1 never waits; 0 waits for records that are known to be there, never
for producers; more also waits so long by the wall clock for a topic that is known to have nothing. Decides
alone; the runner knows the lags.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Final

from millstream.streams.kernel.task.queues import RecordQueue

NEVER_WAIT: Final = -1


class Readiness(Enum):
    """An answer of `IdlePolicy.judge`."""

    WAIT = "wait"
    READY = "ready"
    ENFORCED = "enforced"
    """Some topics have waited long enough: go on without them."""


class IdlePolicy:
    """The deadlines of a task's empty topics."""

    def __init__(self, idle_ms_max: int) -> None:
        self._idle_ms_max = idle_ms_max
        self._deadlines: dict[str, int] = {}
        self.waits_until_ms: int | None = None
        """When the last judgement changes although no record comes; None where it does not wait by the clock."""

    def judge(
        self, queues: Iterable[RecordQueue], lags: Mapping[str, int], now_ms: int
    ) -> Readiness:
        """`lags`: by topic, how many records lie behind those queued; a topic that is not in it is not known yet."""
        self.waits_until_ms = None
        if self._idle_ms_max == NEVER_WAIT:
            return Readiness.READY
        is_enforced = False
        for queue in queues:
            topic = queue.reader.topic
            if len(queue) or queue.waits_for_upstreams:
                self._deadlines.pop(topic, None)
            elif lags.get(topic) != 0:
                self._deadlines.pop(topic, None)
                return Readiness.WAIT
            elif now_ms < (
                deadline_ms := self._deadlines.setdefault(topic, now_ms + self._idle_ms_max)
            ):
                self.waits_until_ms = deadline_ms
                return Readiness.WAIT
            else:
                is_enforced = True
        return Readiness.ENFORCED if is_enforced else Readiness.READY
