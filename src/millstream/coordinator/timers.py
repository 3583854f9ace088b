"""Timers by deadline. Owns which are running; does not know what they are for or what time it is.

A heartbeat moves its member's timer, so moving is the common case and must cost no heap operation: the heap keeps the
old place, and an entry that surfaces before its timer's real deadline is put back.
"""

from __future__ import annotations

import heapq

from millstream.coordinator.result import TimerKey


class TimerQueue:
    """Start and cancel are O(1) for a running timer that moves later, O(log n) else. Ties fire in order of starting."""

    def __init__(self) -> None:
        self._deadlines_ms: dict[TimerKey, int] = {}
        self._heap: list[tuple[int, int, TimerKey]] = []
        self._places: dict[TimerKey, tuple[int, int]] = {}
        self._started = 0

    def __len__(self) -> int:
        return len(self._deadlines_ms)

    def start(self, key: TimerKey, deadline_ms: int, *, unless_running: bool = False) -> None:
        if unless_running and key in self._deadlines_ms:
            return
        self._deadlines_ms[key] = deadline_ms
        place = self._places.get(key)
        if place is None or deadline_ms < place[0]:
            self._push(key, deadline_ms)

    def cancel(self, key: TimerKey) -> None:
        """Cancelling a timer that is not running is fine."""
        self._deadlines_ms.pop(key, None)

    def next_deadline_ms(self) -> int | None:
        """Returns the earliest deadline of a running timer."""
        self._settle()
        return self._heap[0][0] if self._heap else None

    def first_due(self, now_ms: int) -> TimerKey | None:
        """Returns the timer that `pop_due` would give."""
        self._settle()
        return self._heap[0][2] if self._heap and self._heap[0][0] <= now_ms else None

    def pop_due(self, now_ms: int) -> TimerKey | None:
        """Returns the earliest timer whose deadline has come, no longer running; None when there is none."""
        self._settle()
        if not self._heap or self._heap[0][0] > now_ms:
            return None
        _, _, key = heapq.heappop(self._heap)
        del self._places[key]
        del self._deadlines_ms[key]
        return key

    def clear(self) -> None:
        self._deadlines_ms.clear()
        self._heap.clear()
        self._places.clear()

    def _push(self, key: TimerKey, deadline_ms: int) -> None:
        self._started += 1
        self._places[key] = (deadline_ms, self._started)
        heapq.heappush(self._heap, (deadline_ms, self._started, key))

    def _settle(self) -> None:
        """Brings the earliest running timer to the top: drops cancelled and superseded entries,
        puts moved ones back.
        """
        while self._heap:
            place_ms, started, key = self._heap[0]
            if self._places.get(key) != (place_ms, started):
                heapq.heappop(self._heap)
                continue
            deadline_ms = self._deadlines_ms.get(key)
            if deadline_ms == place_ms:
                return
            heapq.heappop(self._heap)
            del self._places[key]
            if deadline_ms is not None:
                self._push(key, deadline_ms)
