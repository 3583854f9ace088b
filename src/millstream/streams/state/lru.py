"""Key-value stores that keep only the rows used last, as Kafka Streams' `Stores.lruMap`.

Reading a row counts as using it. The changelog of a plain store is told of a row that has to go, before the row that
takes its place is written. That of a table's store is not, as in Kafka Streams: restoring drops it again.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable

from millstream.streams.state.changelog import Headers
from millstream.streams.state.key_value import KeyValueStore, TimestampedKeyValueStore
from millstream.streams.state.store import StateStore, StoreParts


class RecentKeys:
    """Keys in the order of their last use, the oldest first; follows the store's commits and discards."""

    def __init__(self, keys: Iterable[bytes], count_max: int) -> None:
        self._count_max = count_max
        self._order = OrderedDict.fromkeys(keys)
        self._committed = self._order.copy()

    def use(self, key: bytes) -> bytes | None:
        """`key` has a row from now on; gives the key whose row must go for it."""
        self._order[key] = None
        self._order.move_to_end(key)
        return self._order.popitem(last=False)[0] if len(self._order) > self._count_max else None

    def forget(self, key: bytes) -> None:
        self._order.pop(key, None)

    def commit(self) -> None:
        self._committed = self._order.copy()

    def discard(self) -> None:
        self._order = self._committed.copy()


class LruTimestampedKeyValueStore(TimestampedKeyValueStore):
    """Rows are (value, timestamp)."""

    def __init__(self, parts: StoreParts) -> None:
        super().__init__(parts)
        self._recent = _recent(self)

    @property
    def takes_columns(self) -> bool:
        """Every record may push out the row of another."""
        return False

    def get(self, key: object) -> tuple[object, int] | None:
        row = super().get(key)
        if row is not None:
            self._recent.use(self._encode_key(key))
        return row

    def put(self, key: object, value: object, timestamp: int) -> None:
        data = self._encode_key(key)
        if value is None:
            self._recent.forget(data)
        elif (gone := self._recent.use(data)) is not None:
            self._decoded.pop(gone, None)
            self.rows.put(gone, None)
        super().put(key, value, timestamp)

    def commit(self, *, changelog_offset: int | None, marker: str | None) -> None:
        super().commit(changelog_offset=changelog_offset, marker=marker)
        self._recent.commit()

    def discard(self) -> None:
        super().discard()
        self._recent.discard()

    def restore_row(
        self, key: bytes, value: bytes | None, timestamp: int, headers: Headers
    ) -> None:
        super().restore_row(key, value, timestamp, headers)
        gone = _restored(self._recent, key, value)
        if gone is not None:
            super().restore_row(gone, None, timestamp, ())


class LruKeyValueStore(KeyValueStore):
    """Rows are values."""

    def __init__(self, parts: StoreParts) -> None:
        super().__init__(parts)
        self._recent = _recent(self)

    def get(self, key: object) -> object:
        value = super().get(key)
        if value is not None:
            self._recent.use(self._encode_key(key))
        return value

    def put(self, key: object, value: object) -> None:
        data = self._encode_key(key)
        if value is None:
            self._recent.forget(data)
        elif (gone := self._recent.use(data)) is not None:
            self.rows.put(gone, None)
            if self.changelog is not None:
                self.changelog.append(gone, None, self.now())
        super().put(key, value)

    def commit(self, *, changelog_offset: int | None, marker: str | None) -> None:
        super().commit(changelog_offset=changelog_offset, marker=marker)
        self._recent.commit()

    def discard(self) -> None:
        super().discard()
        self._recent.discard()

    def restore_row(
        self, key: bytes, value: bytes | None, timestamp: int, headers: Headers
    ) -> None:
        super().restore_row(key, value, timestamp, headers)
        gone = _restored(self._recent, key, value)
        if gone is not None:
            super().restore_row(gone, None, timestamp, ())


def _recent(store: StateStore) -> RecentKeys:
    """Nothing says in which order rows were used before the store was opened: that of their bytes will do."""
    entries_max = store.spec.entries_max
    assert entries_max is not None, "the store has a bound"
    return RecentKeys((key for key, _ in store.rows.scan(b"", None)), entries_max)


def _restored(recent: RecentKeys, key: bytes, value: bytes | None) -> bytes | None:
    if value is None:
        recent.forget(key)
        return None
    return recent.use(key)
