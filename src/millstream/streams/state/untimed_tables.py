"""Tables over stores on disk that keep no timestamps, as Kafka Streams' `persistentKeyValueStore` and `persistentWindowStore`.

A row that is read has timestamp -1; its changelog record has its own. While a record cache is in front, rows are
read from there, and have theirs.
"""

from __future__ import annotations

from millstream.streams.state.key_value import TimestampedKeyValueStore
from millstream.streams.state.read_only import Stored
from millstream.streams.state.store import StoreParts
from millstream.streams.state.timestamped_window import TimestampedWindowStore

NO_TIMESTAMP = -1


class UntimedTableStore(TimestampedKeyValueStore):
    """One value per key."""

    def __init__(self, parts: StoreParts) -> None:
        super().__init__(parts)
        self._keeps = False

    def decode_row(self, stored: bytes) -> tuple[Stored, int]:
        value, timestamp = super().decode_row(stored)
        return value, NO_TIMESTAMP if self.cache is None else timestamp


class UntimedWindowTableStore(TimestampedWindowStore):
    """One value per key and window start."""

    def __init__(self, parts: StoreParts) -> None:
        super().__init__(parts)
        self._keeps = False

    def decode_row(self, stored: bytes) -> tuple[Stored, int]:
        value, timestamp = super().decode_row(stored)
        return value, NO_TIMESTAMP if self.cache is None else timestamp
