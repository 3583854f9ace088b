"""Measures the share of time in which the event loop has nothing to do: the one thread here for
what are many in Kafka.
"""

from __future__ import annotations

from typing import final

from millstream.broker.metrics.recent_values import RecentValues


@final
class LoopIdleness:
    """The share of time in which the loop's thread neither ran nor waited for a processor,
    in the last 30 to 60 seconds.

    The thread is looked at from outside, once a second: a loop does not tell how long it waits for events,
    and to ask it in each turn would cost each request. A thread that waits for a slow disk, or for another
    thread of this process, counts as idle, too.
    """

    def __init__(self) -> None:
        self._shares = RecentValues()
        self._is_known = False

    def observe(self, passed_ns: int, busy_ns: int, now_ms: int) -> None:
        """Takes note of a stretch of time, and of how much of it the thread was busy."""
        if passed_ns > 0:
            # The kernel counts in ticks: a thread may seem to have been busy a little longer than the stretch was.
            self._shares.observe(min(max(1 - busy_ns / passed_ns, 0.0), 1.0), now_ms)
            self._is_known = True

    def ratio(self, now_ms: int) -> float:
        """Returns the share, from 0 to 1; 1 before anything is known, as Kafka."""
        return self._shares.average(now_ms) if self._is_known else 1.0
