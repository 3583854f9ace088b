"""Tables over stores on disk that keep no timestamps, as Kafka Streams' `persistentKeyValueStore`
and `persistentWindowStore`.

A row that is read has timestamp -1; its changelog record has its own. While a record cache is in front, rows are
read from there, and have theirs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from millstream.streams.state.cache import FlushedRows
from millstream.streams.state.changelog import Headers
from millstream.streams.state.key_value.store import TimestampedKeyValueStore
from millstream.streams.state.rows.segmented import pack_time
from millstream.streams.state.rows.timestamped import TimestampedRows
from millstream.streams.state.store import StoreParts
from millstream.streams.state.window.timestamped import TimestampedWindowStore

_NO_TIMESTAMP: Final = pack_time(-1)


class UntimedRows(TimestampedRows):
    """Rows in front of which there is a timestamp that says nothing."""

    def __init__(self, parts: StoreParts) -> None:
        super().__init__(parts)
        self.keeps_decoded = False

    @property
    def takes_columns(self) -> bool:
        """Whether columns are taken: never, for rows in the store have other timestamps than those in the cache."""
        return False

    def set_row(self, row_key: bytes, stored: bytes | None, timestamp: int) -> None:
        super().set_row(row_key, _without_timestamp(stored), timestamp)

    def set_rows(self, rows: FlushedRows) -> None:
        super().set_rows(replace(rows, stored=list(map(_without_timestamp, rows.stored))))

    def row_bytes(self, value: bytes, _timestamp: int, _headers: Headers) -> bytes:
        return _NO_TIMESTAMP + value

    def row_column(
        self,
        values: Sequence[bytes | None],
        _timestamps: Sequence[int],
        _headers: Sequence[Headers] | None,
    ) -> list[bytes | None]:
        return [None if value is None else _NO_TIMESTAMP + value for value in values]


def _without_timestamp(stored: bytes | None) -> bytes | None:
    return None if stored is None else _NO_TIMESTAMP + stored[8:]


class UntimedTableStore(UntimedRows, TimestampedKeyValueStore):
    """One value per key."""


class UntimedWindowTableStore(UntimedRows, TimestampedWindowStore):
    """One value per key and window start."""
