"""The share states of one shard. Hard state: only the replay of records changes it."""

from __future__ import annotations

import heapq
from collections.abc import Iterable

from millstream.coordinator.share.state import SharePartitionKey, ShareState, StateChange


class RedundantOffsets:
    """Knows from which offset on the log of a shard is needed: all below is said again by later snapshots.

    Owns the offset of each partition's last snapshot. Both calls cost O(log n), amortised.
    """

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


class ShareStates:
    def __init__(self) -> None:
        self._states: dict[SharePartitionKey, ShareState] = {}
        self._updates: dict[SharePartitionKey, int] = {}
        self._redundant = RedundantOffsets()

    # Questions

    def find(self, key: SharePartitionKey) -> ShareState | None:
        return self._states.get(key)

    def items(self) -> Iterable[tuple[SharePartitionKey, ShareState]]:
        return self._states.items()

    def updates_since_snapshot(self, key: SharePartitionKey) -> int:
        return self._updates[key]

    def range_count(self, key: SharePartitionKey) -> int:
        state = self._states.get(key)
        return 0 if state is None else len(state.batches)

    @property
    def first_needed_offset(self) -> int:
        """The offset below which the log may be deleted."""
        return self._redundant.first_needed()

    # Replay

    def put_snapshot(self, key: SharePartitionKey, state: ShareState, offset: int) -> None:
        self._states[key] = state
        self._updates[key] = 0
        self._redundant.note_snapshot(key, offset)

    def put_update(self, key: SharePartitionKey, change: StateChange) -> None:
        """An update whose snapshot has been pruned belongs to a partition that was deleted since."""
        state = self._states.get(key)
        if state is not None:
            self._states[key] = state.changed(change)
            self._updates[key] += 1

    def remove(self, key: SharePartitionKey, offset: int) -> None:
        self._states.pop(key, None)
        self._updates.pop(key, None)
        self._redundant.note_deletion(key, offset)
