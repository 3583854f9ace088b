"""Windows of keys around the records of a batch: decoded, and in the order of their starts.

An operator that looks at the neighbours of each record asks here. Where a store takes whole columns it is scanned once
for each key of a batch, and every window is written once, when the batch is through; otherwise every access goes to the
store. Knows neither operators nor how rows are laid out.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable
from typing import TYPE_CHECKING, Protocol

from millstream.streams.state.rows.running import Row
from millstream.streams.state.rows.segmented import pack_time

if TYPE_CHECKING:
    from millstream.streams.state.window.timestamped import TimestampedWindowStore


class WindowsOfKey(Protocol):
    """Windows of one key as a fold reads and sets them."""

    def latest_first(self, low: int, high: int) -> Iterable[tuple[int, Row]]:
        """Yields (start, row) of windows that start in a range, the latest first; those that were
        given may be set meanwhile.
        """

    def earliest_first(self, low: int, high: int) -> Iterable[tuple[int, Row]]:
        """Returns the same, the earliest first."""

    def set(self, start: int, row: Row) -> None:
        """Set the row of a window; one whose value is None is to be deleted."""


class StoredWindows:
    """One key's, read from and written to the store one by one."""

    __slots__ = ("_key", "_store")

    def __init__(self, store: TimestampedWindowStore, key: object) -> None:
        self._store, self._key = store, key

    def latest_first(self, low: int, high: int) -> Iterable[tuple[int, Row]]:
        return self._rows(low, high, reverse=True)

    def earliest_first(self, low: int, high: int) -> Iterable[tuple[int, Row]]:
        return self._rows(low, high, reverse=False)

    def _rows(self, low: int, high: int, *, reverse: bool) -> Iterable[tuple[int, Row]]:
        store = self._store
        data = store.key_bytes(self._key)
        return store.rows_of_bytes(data, low, high, reverse=reverse, as_range=True)

    def set(self, start: int, row: Row) -> None:
        self._store.put(self._key, row[0], start, row[1])


class KnownWindows:
    """One key's; `changed` has those that the store does not know yet."""

    __slots__ = ("_rows", "_starts", "_store", "changed")

    def __init__(self, store: TimestampedWindowStore, rows: dict[int, Row]) -> None:
        self._store = store
        self._rows, self._starts = rows, sorted(rows)
        self.changed: dict[int, Row] = {}

    def latest_first(self, low: int, high: int) -> Iterable[tuple[int, Row]]:
        starts, rows = self._starts, self._rows
        low = max(low, self._store.oldest_visible())
        for index in range(bisect_right(starts, high) - 1, -1, -1):
            start = starts[index]
            if start < low:
                return
            yield start, rows[start]

    def earliest_first(self, low: int, high: int) -> Iterable[tuple[int, Row]]:
        return reversed(list(self.latest_first(low, high)))

    def set(self, start: int, row: Row) -> None:
        if not self._store.admits(start):
            return
        rows = self._rows
        if row[0] is None:
            if rows.pop(start, None) is not None:
                del self._starts[bisect_left(self._starts, start)]
        else:
            if start not in rows:
                insort(self._starts, start)
            rows[start] = row
        self.changed[start] = row


class RunningWindows:
    """The windows of all keys of a batch that start from `low` to `high`; others may not be asked for."""

    __slots__ = ("_high", "_known", "_low", "_store")

    def __init__(self, store: TimestampedWindowStore, low: int, high: int) -> None:
        self._store, self._low, self._high = store, low, high
        self._known: dict[bytes, KnownWindows] = {}

    def of_key(self, data: bytes) -> KnownWindows:
        """Returns the windows of the key with these bytes."""
        known = self._known.get(data)
        if known is None:
            rows = self._store.rows_of_bytes(data, self._low, self._high)
            known = self._known[data] = KnownWindows(self._store, dict(rows))
        return known

    def take_changed(self) -> dict[bytes, Row]:
        """The rows that are to be written, by the bytes of key ++ start; afterwards none are."""
        taken = {}
        for data, known in self._known.items():
            changed, known.changed = known.changed, {}
            for start, row in changed.items():
                taken[data + pack_time(start)] = row
        return taken
