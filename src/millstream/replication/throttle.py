"""Slows down the replication of chosen replicas that are out of sync, on the side of the leader and on that
of the follower (KIP-73). Pure.

    bytes of throttled replicas -> rate over the last windows -> above the limit: throttled replicas out of sync wait

Replicas in sync never wait, and count all the same: what they take is not there for the others. Rates are
measured as Kafka measures them (`SimpleRate`): over the samples that are left and the time since the first of
them, one window at least.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, final

from millstream.model import BrokerId, TopicPartition
from millstream.quota.rate import QuotaWindows, Rate

ALL_REPLICAS: Final = ("*",)
PACE_LATE_MS: Final = 50
"""As late as timers of a busy node ring."""
PACE_LOOK_MS: Final = 1_000
"""Long enough for a busy leader to answer several fetches."""
UNKNOWN_LAG: Final = 1 << 62
"""More than any."""


@final
class ReplicationThrottle:
    """The throttle of one side of a broker."""

    def __init__(self, broker_id: BrokerId, windows: QuotaWindows) -> None:
        self._broker_id = broker_id
        self._rate = Rate(windows, is_simple=True)
        self.bytes_per_second: int | None = None
        """None: no limit. May be changed at any time."""

    def covers(self, replicas: tuple[str, ...], partition: TopicPartition) -> bool:
        """Whether this broker's replica is among `replicas`, the topic's setting: `*`, or partition:broker items."""
        if not replicas:
            return False
        return replicas == ALL_REPLICAS or f"{partition.partition}:{self._broker_id}" in replicas

    def record(self, count: int, now_ms: int) -> None:
        """Counts bytes of replicas that are throttled, in sync or not."""
        self._rate.record(count, now_ms)

    def is_exceeded(self, now_ms: int) -> bool:
        """Whether throttled replicas that are out of sync have to wait."""
        limit = self.bytes_per_second
        return limit is not None and self._rate.per_second(now_ms) > limit

    def wait_ms(self, now_ms: int, at_most_ms: int) -> int:
        """Returns for how long."""
        limit = self.bytes_per_second
        if limit is None:
            return 0
        if limit == 0:
            return at_most_ms
        return min(at_most_ms, math.ceil(self._rate.ms_until(limit, now_ms)))


@final
class CatchUpPace:
    """Spreads what followers that lag behind fetch from one leader, so that producers keep their share of it.

    Whoever does not get nearer at this pace, since more is written meanwhile, goes as fast as it can until it lacks
    less than ever before: a second at this pace and one without it, in turns, might never arrive.
    """

    def __init__(self, bytes_per_second: Callable[[], int], lag: Callable[[], int]) -> None:
        """`bytes_per_second` is asked each time, 0: no bound; `lag`, the records that are lacked, once in a while."""
        self._bytes_per_second = bytes_per_second
        self._lag = lag
        self._least_lag = UNKNOWN_LAG
        self._gets_nearer = True
        self._looked_ms = 0
        self._has_come = False
        """Something has, since the lag was looked at."""
        self._owed_bytes = 0.0
        """What has come too early; negative, so little as a late timer makes, what may come at once."""
        self._counted_ms = 0

    def record(self, byte_count: int) -> None:
        self._owed_bytes += byte_count
        self._has_come = True

    def begin(self) -> None:
        """Notes that others lag, too: what was lacked before says nothing of them."""
        self._least_lag = UNKNOWN_LAG

    def wait_ms(self, now_ms: int) -> float:
        """Returns how long to wait by the present bound, which may be another one in a second."""
        rate = self._bytes_per_second()
        # A timer that rang late is made up for by the next waits, a time in which nothing was to be fetched is not.
        passed_bytes = rate * (now_ms - self._counted_ms) / 1_000
        self._owed_bytes = max(self._owed_bytes - passed_bytes, -rate * PACE_LATE_MS / 1_000)
        self._counted_ms = now_ms
        # Between two answers nobody gets nearer.
        if self._has_come and now_ms - self._looked_ms >= PACE_LOOK_MS:
            self._has_come = False
            lag = self._lag()
            self._gets_nearer = lag < self._least_lag
            self._least_lag, self._looked_ms = min(lag, self._least_lag), now_ms
        if rate == 0 or not self._gets_nearer:
            self._owed_bytes = 0
            return 0
        return max(0, self._owed_bytes * 1_000 / rate)


@dataclass(frozen=True, slots=True)
class ReplicationThrottles:
    leader: ReplicationThrottle
    follower: ReplicationThrottle

    @classmethod
    def of(cls, broker_id: BrokerId, windows: QuotaWindows) -> ReplicationThrottles:
        return cls(ReplicationThrottle(broker_id, windows), ReplicationThrottle(broker_id, windows))

    def use(self, leader: int | None, follower: int | None) -> None:
        """Sets the limits in bytes a second; None: no limit."""
        self.leader.bytes_per_second, self.follower.bytes_per_second = leader, follower
