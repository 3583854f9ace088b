"""A queue by time, which gives equal items in the order of java.util.PriorityQueue.

Kafka Streams asks such a queue for the input whose head has the smallest timestamp, and for the punctuation that is
due. Records that one input sends through several internal topics have equal timestamps, and processors that schedule
alike are due together, so users see this order.
"""

from __future__ import annotations

from typing import Generic, TypeVar

ItemT = TypeVar("ItemT")


class PriorityQueue(Generic[ItemT]):
    """Items by a timestamp that each had when it was offered, as a binary heap."""

    def __init__(self) -> None:
        self._heap: list[tuple[int, ItemT]] = []

    def __len__(self) -> int:
        return len(self._heap)

    @property
    def smallest(self) -> int | None:
        """The timestamp that comes first."""
        return self._heap[0][0] if self._heap else None

    def offer(self, timestamp: int, item: ItemT) -> None:
        """Puts an item into its place; of equal items it stays behind those above it."""
        heap, at = self._heap, len(self._heap)
        heap.append((timestamp, item))
        while at:
            above = (at - 1) // 2
            if timestamp >= heap[above][0]:
                break
            heap[at] = heap[above]
            at = above
        heap[at] = (timestamp, item)

    def poll(self) -> ItemT:
        """Take out the item that comes first; the last one fills its place and sinks."""
        heap = self._heap
        first = heap[0][1]
        last = heap.pop()
        count = len(heap)
        if not count:
            return first
        at = 0
        while at < count // 2:
            below = 2 * at + 1
            if below + 1 < count and heap[below][0] > heap[below + 1][0]:
                below += 1
            if last[0] <= heap[below][0]:
                break
            heap[at] = heap[below]
            at = below
        heap[at] = last
        return first

    def clear(self) -> None:
        self._heap.clear()
