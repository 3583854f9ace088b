"""The counters of a node. Gauges are not here: they are read from the node when they are asked for."""

from __future__ import annotations

from collections.abc import Callable

from millstream.broker.metrics.group_metrics import GroupMetrics
from millstream.broker.metrics.request_metrics import RequestMetrics
from millstream.broker.metrics.time_distribution import TimeDistribution
from millstream.broker.metrics.topic_metrics import BrokerTopicMetrics


class NodeMetrics:
    def __init__(self, now_ns: Callable[[], int]) -> None:
        """`now_ns`: a clock fine enough for requests, in nanoseconds; never goes back."""
        self.now_ns = now_ns
        self.requests = RequestMetrics()
        self.topics = BrokerTopicMetrics()
        self.groups = GroupMetrics()
        self.flushes = TimeDistribution()
        """fsync of logs, group commits included."""
        self.loop_lag = TimeDistribution()
        """How late the event loop came to what was due."""
        self.connection_count: Callable[[], int] = lambda: 0
        """Set by the owner of the connections."""
