"""The counters of a node. Gauges are not here: they are read from the node when they are asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from millstream.broker.metrics.group_metrics import GroupMetrics
from millstream.broker.metrics.loop_idleness import LoopIdleness
from millstream.broker.metrics.replication_metrics import ReplicationMetrics
from millstream.broker.metrics.request_metrics import RequestMetrics
from millstream.broker.metrics.time_distribution import TimeDistribution
from millstream.broker.metrics.topic_metrics import BrokerTopicMetrics
from millstream.broker.quotas.connection_quotas import ConnectionQuotas
from millstream.net.server.client_connection import LoginCounts


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
