"""The counters of a node. Gauges are not here: they are read from the node when they are asked for.

Those who do the work count: groups by the records that are written, replication by what becomes of ISRs and how far
followers are, the loop by whoever looks at it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import final

from millstream.broker.metrics.recent_values import RecentValues
from millstream.broker.metrics.request_metrics import RequestMetrics
from millstream.broker.metrics.time_distribution import TimeDistribution
from millstream.broker.metrics.topic_metrics import BrokerTopicMetrics
from millstream.broker.quotas.connection_quotas import ConnectionQuotas
from millstream.coordinator.group.group import GroupKind
from millstream.coordinator.record import CoordinatorRecord
from millstream.net.server.client_connection import LoginCounts
from millstream.protocol.generated.group_records import (
    ConsumerGroupMetadataKey,
    GroupMetadataKey,
    GroupMetadataValue,
    OffsetCommitKey,
    ShareGroupMetadataKey,
    StreamsGroupMetadataKey,
)

_NEW_EPOCH = {
    ConsumerGroupMetadataKey: GroupKind.CONSUMER,
    ShareGroupMetadataKey: GroupKind.SHARE,
    StreamsGroupMetadataKey: GroupKind.STREAMS,
}


class GroupMetrics:
    def __init__(self) -> None:
        self.offset_commits = 0
        """Offsets, not requests: one for each partition."""
        self.offsets_removed = 0
        """Expired or deleted."""
        self.rebalances: Counter[GroupKind] = Counter()

    def count_written(self, records: Iterable[CoordinatorRecord]) -> None:
        """Counts `records`, which are in the log.

        A new epoch or a stored generation of a classic group is a rebalance.
        """
        for record in records:
            key, value = record.key, record.value
            if isinstance(key, OffsetCommitKey):
                if value is None:
                    self.offsets_removed += 1
                else:
                    self.offset_commits += 1
            elif isinstance(value, GroupMetadataValue) and isinstance(key, GroupMetadataKey):
                self.rebalances[GroupKind.CLASSIC] += bool(value.members)
            elif value is not None and type(key) in _NEW_EPOCH:
                self.rebalances[_NEW_EPOCH[type(key)]] += 1


class ReplicationMetrics:
    """All of them count from the start of the process."""

    def __init__(self) -> None:
        self.isr_shrinks = 0
        """Replicas fell out of an ISR that this broker leads: counted once the controller has said yes."""
        self.isr_expands = 0
        """Replicas came into one."""
        self.failed_isr_updates = 0
        """The controller refused a change."""
        self.bytes_in = 0
        """Appended from leaders."""
        self.bytes_out = 0
        """Sent to followers."""
        self.reassignment_bytes_in = 0
        """Of these, appended to replicas that a reassignment adds."""
        self.reassignment_bytes_out = 0
        self.corrupt_fetches = 0
        """Answers of leaders with batches that are not what their checksums say."""
        self.damage_found: Callable[[], int] = lambda: 0
        """Replicas in which a disk has changed what was written; set by the owner of the partitions, as the next
        one."""
        self.damage_mended: Callable[[], int] = lambda: 0
        self.follower_lag_max: Callable[[], int] = lambda: 0
        """Records that the replica farthest behind its leader lacks; set by the owner of the followers."""
        self.failed_partitions: Callable[[], int] = lambda: 0
        """Replicas that have given up to follow their leaders; set by the same."""


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


class NodeMetrics:
    def __init__(self, now_ns: Callable[[], int], busy_ns: Callable[[], int] = lambda: 0) -> None:
        """`now_ns`: a clock fine enough for requests, in nanoseconds; never goes back.

        `busy_ns`: how long the thread that asks was busy.
        """
        self.now_ns = now_ns
        self.busy_ns = busy_ns
        self.requests = RequestMetrics()
        self.topics = BrokerTopicMetrics()
        self.groups = GroupMetrics()
        self.replication = ReplicationMetrics()
        self.flushes = TimeDistribution()
        """fsync of logs, group commits included."""
        self.loop_lag = TimeDistribution()
        """How late the event loop came to what was due."""
        self.loop_idleness = LoopIdleness()
        self.connection_count: Callable[[], int] = lambda: 0
        """Set by the owner of the connections, as the next ones."""
        self.connection_quotas: Sequence[ConnectionQuotas] = ()
        """Of each server of the node."""
        self.login_counts: Callable[[], Mapping[str, LoginCounts]] = dict
        """What became of logins, by the name of the listener, of those that have SASL."""
