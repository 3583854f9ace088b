"""Views of stores that cannot write: what an application is shown of its stores, and a
processor of global ones (KIP-67).

A view sees what its store holds at the moment of a call, uncommitted writes of the running batch included. The rows
of a table's store are shown without their timestamps and headers, unless `whole_rows`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from operator import itemgetter
from typing import NoReturn, TypeVar

from millstream.streams.errors import InvalidStoreError
from millstream.streams.serdes.serde import Serde
from millstream.streams.serdes.windowed import Windowed
from millstream.streams.state.key_value.store import OrderedRows
from millstream.streams.state.key_value.versioned import VersionedKeyValueStore
from millstream.streams.state.read_only import (
    ReadOnlyKeyValueStore,
    ReadOnlySessionStore,
    ReadOnlyVersionedStore,
    ReadOnlyWindowStore,
    Stored,
    VersionedRecord,
)
from millstream.streams.state.session.store import SessionStore
from millstream.streams.state.store import StateStore
from millstream.streams.state.window.rows import WindowRows

K = TypeVar("K")
V = TypeVar("V")
Show = Callable[[Stored], Stored]


class _View:
    """Every way to write is refused with a sentence."""

    def __init__(self, store: StateStore, *, whole_rows: bool = False) -> None:
        self.name = store.name
        only_first = store.spec.is_timestamped or store.spec.with_headers
        self._show: Show = itemgetter(0) if only_first and not whole_rows else lambda row: row

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of store {self.name}>"

    def _shown(self, row: Stored) -> Stored:
        return None if row is None else self._show(row)

    def _refuse(self, *_args: object, **_kwargs: object) -> NoReturn:
        """Raises InvalidStoreError: the store can only be read here."""
        raise InvalidStoreError(
            f"store {self.name} can only be read here: a global store is written by its own processor alone"
        )

    put = put_if_absent = put_all = delete = remove = _refuse


class KeyValueView(_View, ReadOnlyKeyValueStore[K, V]):
    def __init__(self, store: OrderedRows, *, whole_rows: bool = False) -> None:
        super().__init__(store, whole_rows=whole_rows)
        self._store = store

    def get(self, key: K) -> V | None:
        row: V | None = self._shown(self._store.get(key))
        return row

    def rows_between(
        self, lower: K | None, upper: K | None, *, reverse: bool
    ) -> Iterator[tuple[K, V]]:
        rows = self._store.rows_between(lower, upper, reverse=reverse)
        return ((key, self._show(row)) for key, row in rows)

    def prefix_scan(
        self,
        prefix: object,
        serde: Serde[Stored] | None = None,
    ) -> Iterator[tuple[K, V]]:
        return ((key, self._show(row)) for key, row in self._store.prefix_scan(prefix, serde))

    def approximate_num_entries(self) -> int:
        return self._store.approximate_num_entries()


class WindowView(_View, ReadOnlyWindowStore[K, V]):
    def __init__(self, store: WindowRows, *, whole_rows: bool = False) -> None:
        super().__init__(store, whole_rows=whole_rows)
        self._store = store

    def row_at(self, key: K, start: int) -> V | None:
        row: V | None = self._shown(self._store.row_at(key, start))
        return row

    def rows_of_key(
        self, key: K, time_from: int, time_to: int, *, reverse: bool = False
    ) -> list[tuple[int, V]]:
        rows = self._store.rows_of_key(key, time_from, time_to, reverse=reverse)
        return [(start, self._show(row)) for start, row in rows]

    def rows_of_keys(
        self, key_from: K | None, key_to: K | None, time_from: int, time_to: int, *, reverse: bool
    ) -> Iterator[tuple[Windowed[K], V]]:
        rows = self._store.rows_of_keys(key_from, key_to, time_from, time_to, reverse=reverse)
        return ((window, self._show(row)) for window, row in rows)


class SessionView(_View, ReadOnlySessionStore[K, V]):
    def __init__(self, store: SessionStore, *, whole_rows: bool = False) -> None:
        super().__init__(store, whole_rows=whole_rows)
        self._store = store

    def fetch_session(self, key: K, start: int, end: int) -> V | None:
        row: V | None = self._shown(self._store.fetch_session(key, start, end))
        return row

    def sessions_of_key(
        self, key: K, earliest_end: int, latest_start: int, *, reverse: bool
    ) -> list[tuple[Windowed[K], V]]:
        rows = self._store.sessions_of_key(key, earliest_end, latest_start, reverse=reverse)
        return [(session, self._show(row)) for session, row in rows]

    def sessions_of_keys(
        self,
        keys: tuple[K | None, K | None],
        earliest_end: int,
        latest_start: int,
        latest_end: int,
        *,
        reverse: bool,
    ) -> Iterator[tuple[Windowed[K], V]]:
        rows = self._store.sessions_of_keys(
            keys, earliest_end, latest_start, latest_end, reverse=reverse
        )
        return ((session, self._show(row)) for session, row in rows)


class VersionedView(_View, ReadOnlyVersionedStore[K]):
    def __init__(self, store: VersionedKeyValueStore) -> None:
        super().__init__(store)
        self._store = store

    def get(self, key: K, as_of_ms: int | None = None) -> VersionedRecord | None:
        return self._store.get(key, as_of_ms)


def read_only(store: StateStore) -> object:
    """Returns the store as processors see it that may not write it, rows whole."""
    match store:
        case OrderedRows():
            return KeyValueView[Stored, Stored](store, whole_rows=True)
        case WindowRows():
            return WindowView[Stored, Stored](store, whole_rows=True)
        case SessionStore():
            return SessionView[Stored, Stored](store, whole_rows=True)
        case VersionedKeyValueStore():
            return VersionedView[Stored](store)
        case _:  # a store of the user's own making: only the user knows which of its methods write
            return store.exposed
