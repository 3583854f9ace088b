"""The bytes that wait in the queue of one partition, counted by the batches in which they came. Pure."""

from __future__ import annotations

from collections import deque


class QueuedBytes:
    """A batch counts in full until its last record is taken: until then its memory is not free either."""

    def __init__(self) -> None:
        self._batches: deque[tuple[int, int]] = deque()
        self._records = self._size_bytes = 0

    def add(self, records: int, size_bytes: int) -> None:
        """Notes a batch that was queued."""
        self._batches.append((records, size_bytes))
        self._records += records
        self._size_bytes += size_bytes

    def of(self, waiting: int) -> int:
        """Returns the bytes of the batches that the last `waiting` records came in."""
        while self._batches and self._records - self._batches[0][0] >= waiting:
            records, size_bytes = self._batches.popleft()
            self._records -= records
            self._size_bytes -= size_bytes
        return self._size_bytes
