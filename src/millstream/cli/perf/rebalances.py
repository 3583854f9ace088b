"""Measures how long a member of a group was without its partitions."""

from __future__ import annotations

from collections.abc import Callable

from millstream.clients.blocking import RebalanceListener
from millstream.model import TopicPartition


class RebalanceTimer(RebalanceListener):
    """Counts from the subscription, or from a loss of partitions, to the next assignment."""

    def __init__(self, now_ms: Callable[[], int]) -> None:
        self._now_ms = now_ms
        self._without_since_ms: int | None = now_ms()
        self.total_ms = 0

    def on_partitions_assigned(self, partitions: set[TopicPartition]) -> None:  # noqa: ARG002 - the listener's signature
        if self._without_since_ms is not None:
            self.total_ms += self._now_ms() - self._without_since_ms
            self._without_since_ms = None

    def on_partitions_revoked(self, partitions: set[TopicPartition]) -> None:
        if partitions:
            self._without_since_ms = self._now_ms()
