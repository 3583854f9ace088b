"""Records that were read and not yet given out, a queue for each partition."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Iterable

from millstream.clients.core.values import ConsumerRecord
from millstream.model import TopicPartition


class WaitingRecords:
    """Stays with a partition while it has records, then goes on with the next one."""

    def __init__(self) -> None:
        self._queues: OrderedDict[TopicPartition, deque[ConsumerRecord]] = OrderedDict()
        """The partition whose turn it is comes first. No queue is empty."""

    def partitions(self) -> set[TopicPartition]:
        return set(self._queues)

    def add(self, records: Iterable[ConsumerRecord]) -> None:
        for record in records:
            self._queues.setdefault(record.topic_partition, deque()).append(record)

    def first_offset(self, topic_partition: TopicPartition) -> int | None:
        queue = self._queues.get(topic_partition)
        return queue[0].offset if queue else None

    def last_offset(self, topic_partition: TopicPartition) -> int | None:
        queue = self._queues.get(topic_partition)
        return queue[-1].offset if queue else None

    def take(self, may_emit: Callable[[ConsumerRecord], bool]) -> ConsumerRecord | None:
        """Returns the next record of the first partition in turn that `may_emit` allows; None when there is none."""
        for _ in range(len(self._queues)):
            topic_partition, queue = next(iter(self._queues.items()))
            if may_emit(queue[0]):
                record = queue.popleft()
                if not queue:
                    del self._queues[topic_partition]
                return record
            self._queues.move_to_end(topic_partition)
        return None

    def forget(self, topic_partition: TopicPartition) -> None:
        self._queues.pop(topic_partition, None)
