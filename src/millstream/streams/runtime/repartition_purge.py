"""Says which records of repartition topics may go: those that the tasks which read them have committed. Pure.

Repartition topics keep records for ever, so that none is lost while its task is away (S12,
repartition.purge.interval.ms).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from millstream.model import TopicPartition


class RepartitionPurge:
    """`topics` are the repartition topics that are read. Times are monotonic."""

    def __init__(self, topics: Collection[str], interval_ms: int, now_ms: int) -> None:
        self._topics: Final = frozenset(topics)
        self._interval_ms = interval_ms
        self._purged_ms = now_ms
        self._purged: dict[TopicPartition, int] = {}

    def is_due(self, now_ms: int) -> bool:
        """Whether the interval has passed since the last `take`."""
        return bool(self._topics) and now_ms - self._purged_ms >= self._interval_ms

    def take(
        self, committed: Mapping[TopicPartition, int], now_ms: int
    ) -> dict[TopicPartition, int]:
        """Returns the offsets before which records are to be deleted, where they have moved since the last call."""
        self._purged_ms = now_ms
        due = {
            partition: offset
            for partition, offset in committed.items()
            if partition.topic in self._topics and offset > self._purged.get(partition, 0)
        }
        self._purged |= (
            due  # before it is done: what fails goes with the next records, which end further on
        )
        return due
