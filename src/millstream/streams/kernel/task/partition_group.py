"""Chooses the queue of a task's input that goes next: as Kafka Streams does, or whatever came when (ADR 0021)."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final

from millstream.streams.kernel.columns.batch import RawBatch
from millstream.streams.kernel.columns.origins import OriginBatch
from millstream.streams.kernel.priority_queue import PriorityQueue
from millstream.streams.kernel.task.queues import RecordQueue, TakenRows
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

    def take(self, rows_max: int) -> TakenRows | None:
        """The next run: rows of one topic that no other topic's head comes before."""
        while self._unplaced:
            self._place(self._unplaced[0])
            del self._unplaced[0]
        order = self._order
        if not order:
            return None
        queue = order.poll()
        taken = queue.take(rows_max, order.smallest)
        if len(order) > _ORDERED_ALONE_MAX:  # as if the rows had been taken one by one
            for timestamp in taken.batch.timestamps[1:]:
                order.offer(timestamp, queue)
                order.poll()
        self._unplaced.append(queue)
        return taken

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
    """The queues of a task whose order does not depend on what came when: among equal times the topic whose
    name comes first goes first.

    A task with repartition topics goes by origin time, another one by timestamp.
    """

    def __init__(self, queues: dict[str, RecordQueue], *, by_origin: bool) -> None:
        self.queues = queues
        self._by_origin = by_origin

    def add(self, topic: str, records: RawBatch | OriginBatch) -> None:
        """Queues records of a topic, in the order of offsets."""
        self.queues[topic].add(records)

    def take(self, rows_max: int) -> TakenRows | None:
        """The next run: rows of one topic before which no other topic has one, nor can get one from
        an upstream task.
        """
        heads: list[tuple[int, str]] = []
        for topic, queue in self.queues.items():
            time = queue.head_origin_time() if self._by_origin else queue.head_timestamp()
            if time is not None:
                heads.append((time, topic))
        if not heads:
            return None
        first = min(heads)
        heads.remove(first)
        limits = self._limits(first[1], {topic for _, topic in heads}) if self._by_origin else []
        limit = min([*heads, *limits], default=None)
        if limit is not None and limit < first:
            return None
        queue, before = self.queues[first[1]], None
        if limit is not None:  # rows of the same time, too, where this topic's name comes first
            before = limit[0] + (first[1] < limit[1])
        if self._by_origin:
            return queue.take_by_origin(rows_max, before)
        return queue.take(rows_max, before)

    def _limits(self, topic: str, have_heads: Collection[str]) -> list[tuple[int, str]]:
        """Returns the times before which the other topics can get no records that those of a topic have to wait for."""
        limits = []
        for other, queue in self.queues.items():
            if other == topic or queue.upstreams is None:
                continue
            bound = queue.upstreams.bound_for(topic)
            if bound is None and other not in have_heads:
                bound = queue.upstreams.bound[0]
            if bound is not None and bound != AT_ITS_END:
                limits.append((bound, other))
        return limits

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
