"""From which offset on the log of a shard is still needed: everything below is said again by later snapshots."""

from __future__ import annotations

import heapq

from millstream.coordinator.share.state import SharePartitionKey


class RedundantOffsets:
    """Owns the offset of each partition's last snapshot. Both calls cost O(log n), amortised."""

    def __init__(self) -> None:
        self._snapshots: dict[SharePartitionKey, int] = {}
        self._in_order: list[tuple[int, SharePartitionKey]] = []
        """Also places that later snapshots have taken over; dropped when they surface."""
        self._last_offset = 0

    def note_snapshot(self, key: SharePartitionKey, offset: int) -> None:
        self._snapshots[key] = self._last_offset = offset
        heapq.heappush(self._in_order, (offset, key))

    def note_deletion(self, key: SharePartitionKey, offset: int) -> None:
        self._snapshots.pop(key, None)
        self._last_offset = offset

    def first_needed(self) -> int:
        """Returns the first needed offset: records before it may be deleted."""
        while self._in_order:
            offset, key = self._in_order[0]
            if self._snapshots.get(key) == offset:
                return offset
            heapq.heappop(self._in_order)
        return self._last_offset
