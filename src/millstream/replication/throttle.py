"""Slows down the replication of chosen replicas that are out of sync, on the side of the leader and on that of the follower (KIP-73). Pure.

    bytes of throttled replicas -> rate over the last windows -> above the limit: throttled replicas out of sync wait

Replicas in sync never wait, and count all the same: what they take is not there for the others. Rates are measured as Kafka measures
them (`SimpleRate`): over the samples that are left and the time since the first of them, one window at least.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, final

from millstream.model import BrokerId, TopicPartition
from millstream.quota.rate import QuotaWindows, Rate

ALL_REPLICAS: Final = ("*",)


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
