"""Read-only views of stores, with the methods of Kafka Streams' ReadOnly…Store interfaces (KIP-67).

A view sees what its store holds at the moment of a call, uncommitted writes of the running batch included. Methods
that give several rows give lists. The rows of a table's store are shown without their timestamps.
"""

from __future__ import annotations

from typing import Any, Generic, TypeVar, cast

from millstream.streams.serdes.windowed import MAX_TIMESTAMP, Windowed
from millstream.streams.state.key_value import KeyValueStore, TimestampedKeyValueStore
from millstream.streams.state.plain_window import PlainWindowStore
from millstream.streams.state.session import SessionStore
from millstream.streams.state.window import WindowStore

K = TypeVar("K")
V = TypeVar("V")


class ReadOnlyKeyValueStore(Generic[K, V]):
    def __init__(self, store: KeyValueStore | TimestampedKeyValueStore) -> None:
        self._store = store

    def get(self, key: K) -> V | None:
        if isinstance(self._store, KeyValueStore):
            return cast("V | None", self._store.get(key))
        row = self._store.get(key)
        return None if row is None else cast("V", row[0])

    def range(self, lower: K | None, upper: K | None) -> list[tuple[K, V]]:
        """Keys from `lower` to `upper`, both inclusive and both optional, in the order of their bytes."""
        return self._rows(lower, upper, reverse=False)

    def reverse_range(self, lower: K | None, upper: K | None) -> list[tuple[K, V]]:
        return self._rows(lower, upper, reverse=True)

    def all(self) -> list[tuple[K, V]]:
        return self._rows(None, None, reverse=False)

    def reverse_all(self) -> list[tuple[K, V]]:
        return self._rows(None, None, reverse=True)

    def approximate_num_entries(self) -> int:
        """Exact here."""
        return sum(1 for _ in self._store.scan())

    def _rows(self, lower: K | None, upper: K | None, *, reverse: bool) -> list[tuple[K, V]]:
        rows: Any = self._store.scan(lower, upper, reverse=reverse)  # Any: as above
        if isinstance(self._store, KeyValueStore):
            return list(rows)
        return [(key, row[0]) for key, row in rows]


class ReadOnlyWindowStore(Generic[K, V]):
    def __init__(self, store: WindowStore | PlainWindowStore) -> None:
        self._store = store

    def fetch(self, key: K, time_from: int, time_to: int) -> list[tuple[int, V]]:
        """(start, value) of the windows that start in this range, by time."""
        return [
            (start, self._value(row)) for start, row in self._store.fetch(key, time_from, time_to)
        ]

    def backward_fetch(self, key: K, time_from: int, time_to: int) -> list[tuple[int, V]]:
        rows = self._store.fetch(key, time_from, time_to, reverse=True)
        return [(start, self._value(row)) for start, row in rows]

    def fetch_at(self, key: K, time: int) -> V | None:
        """The value of the window that starts at this time."""
        row = self._store.get(key, time)
        return None if row is None else self._value(row)

    def fetch_all(self, time_from: int, time_to: int) -> list[tuple[Windowed[K], V]]:
        rows: Any = self._store.fetch_all(time_from, time_to)  # Any: the store does not know types
        return [(window, self._value(row)) for window, row in rows]

    def backward_fetch_all(self, time_from: int, time_to: int) -> list[tuple[Windowed[K], V]]:
        return self.fetch_all(time_from, time_to)[::-1]

    def all(self) -> list[tuple[Windowed[K], V]]:
        return self.fetch_all(0, MAX_TIMESTAMP)

    def backward_all(self) -> list[tuple[Windowed[K], V]]:
        return self.all()[::-1]

    def _value(self, row: Any) -> V:  # Any: as the store gives it
        value: V = row[0] if isinstance(self._store, WindowStore) else row
        return value


class ReadOnlySessionStore(Generic[K, V]):
    def __init__(self, store: SessionStore) -> None:
        self._store = store

    def fetch(self, key: K) -> list[tuple[Windowed[K], V]]:
        """All sessions of a key, by time."""
        return self.find_sessions(key, 0, MAX_TIMESTAMP)

    def backward_fetch(self, key: K) -> list[tuple[Windowed[K], V]]:
        return self.backward_find_sessions(key, 0, MAX_TIMESTAMP)

    def find_sessions(
        self, key: K, earliest_end: int, latest_start: int
    ) -> list[tuple[Windowed[K], V]]:
        """Sessions that end at or after the one time and start at or before the other."""
        found: Any = self._store.find(key, earliest_end, latest_start)  # Any: as above
        return list(found)

    def backward_find_sessions(
        self, key: K, earliest_end: int, latest_start: int
    ) -> list[tuple[Windowed[K], V]]:
        return self.find_sessions(key, earliest_end, latest_start)[::-1]

    def fetch_session(self, key: K, start: int, end: int) -> V | None:
        """The value of exactly this session."""
        return cast("V | None", self._store.get(Windowed(key, start, end)))
