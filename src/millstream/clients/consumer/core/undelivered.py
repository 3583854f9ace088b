"""Records that were taken from what was fetched, but have not reached the application: positions stand before these.

Iteration takes a poll's worth at a time and gives out one by one; a poll() that is cancelled leaves here what it had.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Generic

from millstream.clients.consumer.core.partition_state import PartitionState
from millstream.clients.consumer.core.subscription import SubscriptionState
from millstream.clients.core.values import ConsumerRecord, Key, Value
from millstream.model import TopicPartition


class Undelivered(Generic[Key, Value]):
    def __init__(self, subscription: SubscriptionState) -> None:
        self._subscription = subscription
        self._records: deque[ConsumerRecord[Key, Value]] = deque()
        self._owners: dict[TopicPartition, PartitionState] = {}

    def __bool__(self) -> bool:
        return bool(self._records)

    def add(self, records: Iterable[ConsumerRecord[Key, Value]]) -> None:
        self._records.extend(records)
        self._owners = dict(self._subscription.partitions)

    def next(self) -> ConsumerRecord[Key, Value] | None:
        return self._records.popleft() if self._records else None

    def take(self, count_max: int) -> list[ConsumerRecord[Key, Value]]:
        return [self._records.popleft() for _ in range(min(count_max, len(self._records)))]

    def first_offsets(self) -> dict[TopicPartition, int]:
        """Returns the first offset of each partition that has records here."""
        first: dict[TopicPartition, int] = {}
        for record in self._records:
            first.setdefault(record.topic_partition, record.offset)
        return first

    def give_back(self, partitions: Iterable[TopicPartition]) -> None:
        """Forgets those of `partitions`, which are fetched again when they are wanted."""
        if not self._records:
            return
        chosen = set(partitions)
        for topic_partition, offset in self.first_offsets().items():
            if topic_partition in chosen and topic_partition in self._subscription.partitions:
                self._subscription.partitions[topic_partition].seek(offset)
        self._records = deque(r for r in self._records if r.topic_partition not in chosen)

    def drop_given_up(self) -> None:
        """Forgets the records of partitions that were given up since; the members that have them
        now read these again.
        """
        if not self._records:
            return
        held = self._subscription.partitions
        kept = {tp for tp, state in self._owners.items() if held.get(tp) is state}
        self._records = deque(r for r in self._records if r.topic_partition in kept)
