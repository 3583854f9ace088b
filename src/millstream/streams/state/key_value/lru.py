"""Key-value stores that keep only the rows used last, as Kafka Streams' `Stores.lruMap`.

Reading a row counts as using it. The changelog of a plain store is told of a row that has to go, before the row that
takes its place is written. That of a table's store is not, as in Kafka Streams: restoring drops it again.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence

from millstream.streams.state.cache import FlushedRows
from millstream.streams.state.changelog import Headers
from millstream.streams.state.key_value.store import (
    KeyValueStore,
    OrderedRows,
    TimestampedKeyValueStore,
)
from millstream.streams.state.store import ChangelogRecord, StateStore, StoreParts


class RecentKeys:
    """Keys in the order of their last use, the oldest first; follows the store's commits and discards."""

    def __init__(self, keys: Iterable[bytes], count_max: int) -> None:
        self._count_max = count_max
        self._order = OrderedDict.fromkeys(keys)
        self._committed = self._order.copy()

    def use(self, key: bytes) -> bytes | None:
        """Notes that `key` has a row from now on; gives the key whose row must go for it."""
        self._order[key] = None
        self._order.move_to_end(key)
        return self._order.popitem(last=False)[0] if len(self._order) > self._count_max else None

    def forget(self, key: bytes) -> None:
        self._order.pop(key, None)

    def commit(self) -> None:
        self._committed = self._order.copy()

    def discard(self) -> None:
        self._order = self._committed.copy()


class BoundedRows(OrderedRows):
    """Reading a row of the store itself uses it, and setting one may push out another."""

    logs_dropped_rows: bool

    def __init__(self, parts: StoreParts) -> None:
        super().__init__(parts)
        assert parts.spec.entries_max is not None, "the store has a bound"
        # Nothing says in which order rows were used before the store was opened: that of their bytes will do.
        known = (key for key, _ in self.rows.scan(b"", None))
        self._recent = RecentKeys(known, parts.spec.entries_max)

    def flushed_row(self, row_key: bytes) -> bytes | None:
        stored = super().flushed_row(row_key)
        if stored is not None:
            self._recent.use(row_key)
        return stored

    def write_flushed(self, rows: FlushedRows) -> tuple[list[bytes | None], list[bytes | None]]:
        """One by one, for each may push another row out, which is logged in its turn."""
        keys, values = [], []
        for one in rows.each():
            key, value = super().write_flushed(one)
            keys += key
            values += value
        return keys, values

    def set_row(self, row_key: bytes, stored: bytes | None, timestamp: int) -> None:
        gone = self._push_out(row_key, stored)
        if gone is not None and self.logs_dropped_rows:
            self.log_row(gone, None, timestamp, ())
        super().set_row(row_key, stored, timestamp)

    def commit(self, *, changelog_offset: int | None, marker: str | None) -> None:
        super().commit(changelog_offset=changelog_offset, marker=marker)
        self._recent.commit()

    def discard(self) -> None:
        super().discard()
        self._recent.discard()

    def restore_columns(
        self,
        keys: Sequence[bytes | None],
        values: Sequence[bytes | None],
        timestamps: Sequence[int],
        headers: Sequence[Headers] | None,
    ) -> None:
        """One by one, for each may push another row out."""
        StateStore.restore_columns(self, keys, values, timestamps, headers)

    def restore_rows(self, records: Sequence[ChangelogRecord]) -> None:
        for record in records:
            super().restore_rows((record,))
            self._push_out(record.key, record.value)

    def _push_out(self, row_key: bytes, stored: bytes | None) -> bytes | None:
        """The row that has to go for one that is set; a deleted one makes room."""
        if stored is None:
            self._recent.forget(row_key)
            return None
        gone = self._recent.use(row_key)
        if gone is not None:
            self.rows.put(gone, None)
        return gone


class LruTimestampedKeyValueStore(BoundedRows, TimestampedKeyValueStore):
    """Rows are (value, timestamp), and are always read: none stays decoded."""

    logs_dropped_rows = False

    def __init__(self, parts: StoreParts) -> None:
        super().__init__(parts)
        self.keeps_decoded = False

    @property
    def takes_columns(self) -> bool:
        """Whether columns are taken: never, for each row that is used may push one out."""
        return False


class LruKeyValueStore(BoundedRows, KeyValueStore):
    """Rows are values."""

    logs_dropped_rows = True
