"""Chooses the queue of a task's input that goes next: by timestamp as Kafka Streams does, or by origin time (ADR 0021)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from millstream.streams.kernel.columns.batch import RawBatch
from millstream.streams.kernel.columns.origins import OriginBatch
from millstream.streams.kernel.priority_queue import PriorityQueue
from millstream.streams.kernel.task.queues import RecordQueue, Run
from millstream.streams.kernel.task.upstreams import AT_ITS_END

_ORDERED_ALONE_MAX: Final = 2
"""Among so few others, taking and offering a queue again leaves them in their order."""


class PartitionGroup:
    """The queues of a task, in the order of their heads' timestamps."""

    def __init__(self, queues: dict[str, RecordQueue]) -> None:
        self.queues = queues
        self._order = PriorityQueue[RecordQueue]()
        self._unplaced: list[RecordQueue] = []
        """Queues that take their places in this order when the next run is wanted; nothing is decoded before."""

    def add(self, topic: str, records: RawBatch | OriginBatch) -> None:
        """Queues records of a topic, in the order of offsets."""
        queue = self.queues[topic]
        queue.add(records)
        if not queue.is_waiting:
            queue.is_waiting = True
            self._unplaced.append(queue)

    def take(self, rows_max: int) -> Run | None:
        """The next run: rows of one topic that no other topic's head comes before."""
        while self._unplaced:
            self._place(self._unplaced[0])
            del self._unplaced[0]
        order = self._order
        if not order:
            return None
        queue = order.poll()
        run = queue.take(rows_max, order.smallest)
        if len(order) > _ORDERED_ALONE_MAX:  # as if the rows had been taken one by one
            for timestamp in run.batch.timestamps[1:]:
                order.offer(timestamp, queue)
                order.poll()
        self._unplaced.append(queue)
        return run

    @property
    def stream_time(self) -> int:
        """The largest timestamp taken of any topic, -1 at first."""
        return max((queue.taken_time for queue in self.queues.values()), default=-1)

    def commit(self) -> None:
        for queue in self.queues.values():
            queue.commit()

    def clear(self) -> None:
        self._order.clear()
        self._unplaced.clear()
        for queue in self.queues.values():
            queue.is_waiting = False
            queue.clear()

    def _place(self, queue: RecordQueue) -> None:
        timestamp = queue.head_timestamp()
        queue.is_waiting = timestamp is not None
        if timestamp is not None:
            self._order.offer(timestamp, queue)


class AlignedGroup:
    """The queues of a task with repartition topics, by origin time. Among equal times the topic whose name comes first goes first."""

    def __init__(self, queues: dict[str, RecordQueue]) -> None:
        self.queues = queues

    def add(self, topic: str, records: RawBatch | OriginBatch) -> None:
        """Queues records of a topic, in the order of offsets."""
        self.queues[topic].add(records)

    def take(self, rows_max: int) -> Run | None:
        """The next run: rows of one topic before which no other topic has one, nor can get one from an upstream task."""
        heads: list[tuple[int, str]] = []
        limits: list[tuple[int, str]] = []
        for topic, queue in self.queues.items():
            time = queue.head_origin_time()
            if time is not None:
                heads.append((time, topic))
            elif queue.upstreams is not None:
                limits.append((queue.upstreams.bound[0], topic))
        if not heads:
            return None
        first = min(heads)
        heads.remove(first)
        limit = min([*heads, *limits], default=(AT_ITS_END, ""))
        if limit < first:
            return None
        topic = first[1]
        return self.queues[topic].take_up_to(rows_max, limit[0], is_inclusive=topic < limit[1])

    @property
    def stream_time(self) -> int:
        """The largest timestamp taken of any topic, -1 at first."""
        return _stream_time(self.queues.values())

    def commit(self) -> None:
        """Makes what was taken final."""
        for queue in self.queues.values():
            queue.commit()

    def clear(self) -> None:
        """Forgets everything that was added, and how far it was taken since the last commit."""
        for queue in self.queues.values():
            queue.clear()


def _stream_time(queues: Iterable[RecordQueue]) -> int:
    return max((queue.taken_time for queue in queues), default=-1)
