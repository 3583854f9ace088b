"""A queue of items that expire a fixed time after they were last touched, oldest first.

Touching costs one dictionary move.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from typing import Generic, TypeVar

ItemT = TypeVar("ItemT")


class DeadlineQueue(Generic[ItemT]):
    """A queue in which all items wait equally long, so they expire in the order of touching.

    Times are monotonic milliseconds.
    """

    def __init__(self, wait_ms: int) -> None:
        self._wait_ms = wait_ms
        self._touched: OrderedDict[ItemT, int] = OrderedDict()

    def __len__(self) -> int:
        return len(self._touched)

    def touch(self, item: ItemT, now_ms: int) -> None:
        """Starts the wait of `item` anew."""
        self._touched[item] = now_ms
        self._touched.move_to_end(item)

    def begin(self, item: ItemT, now_ms: int) -> None:
        """Starts the wait of `item` unless it is running already."""
        self._touched.setdefault(item, now_ms)

    def discard(self, item: ItemT) -> None:
        self._touched.pop(item, None)

    def oldest(self) -> ItemT | None:
        """Returns the item that was not touched for the longest time."""
        return next(iter(self._touched), None)

    def oldest_first(self) -> Iterator[ItemT]:
        """Yields the items, the one that was not touched for the longest time first."""
        return iter(self._touched)

    def oldest_times_first(self) -> Iterator[tuple[ItemT, int]]:
        """Yields the items as `oldest_first`, each with the time when it was touched."""
        return iter(self._touched.items())

    def next_deadline_ms(self) -> int | None:
        for touched_ms in self._touched.values():
            return touched_ms + self._wait_ms
        return None

    def take_expired(self, now_ms: int) -> list[ItemT]:
        """Removes and returns the items that have waited their time."""
        expired: list[ItemT] = []
        for item, touched_ms in self._touched.items():
            if touched_ms + self._wait_ms > now_ms:
                break
            expired.append(item)
        for item in expired:
            del self._touched[item]
        return expired
