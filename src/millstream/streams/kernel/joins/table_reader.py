"""Reading tables: rows of a store, and of a table without one through what it is made of."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from millstream.streams.kernel.tables.transform_values import Transform
from millstream.streams.serdes.windowed import Windowed
from millstream.streams.state.buffers.suppression import NO_TIMESTAMP, SuppressionBuffer
from millstream.streams.state.key_value.store import TimestampedKeyValueStore
from millstream.streams.state.key_value.versioned import VersionedKeyValueStore
from millstream.streams.state.session.store import SessionStore
from millstream.streams.state.window.timestamped import TimestampedWindowStore
from millstream.streams.topology import operators as ops

TABLE_STORES = (
    TimestampedKeyValueStore,
    TimestampedWindowStore,
    SessionStore,
    VersionedKeyValueStore,
    SuppressionBuffer,
)
TableStore = (
    TimestampedKeyValueStore | TimestampedWindowStore | SessionStore | VersionedKeyValueStore
)
Stores = Mapping[str, TableStore | SuppressionBuffer]
Row = tuple[object, int]
Lookup = Callable[[object], Row | None]
"""key → (value, timestamp) of the table's row, None where it has none."""
Opener = Callable[[ops.UserFunction], Transform]
"""Supplier → a transformer of its own for the reader."""


@dataclass(slots=True)
class AsOf:
    """The time that lookups in versioned tables mean; set before each of them."""

    ms: int = 0


@dataclass(frozen=True, slots=True)
class TableReader:
    """Reads tables, through their operators where they have no store of their own."""

    stores: Stores
    open_transformer: Opener

    def lookup(self, view: ops.TableView, as_of: AsOf | None = None) -> Lookup:
        """Returns the newest rows, or those of another time where the table is versioned."""
        match view:
            case ops.StoreView():
                return _store_lookup(self._table(view.store), as_of)
            case ops.FilterView():
                return _filtered(self.lookup(view.parent, as_of), view)
            case ops.MapValuesView():
                return _mapped(self.lookup(view.parent, as_of), view)
            case ops.TransformView():
                parent = self.lookup(view.parent, as_of)
                return _transformed(parent, self.open_transformer(view.supplier))
            case ops.JoinView():
                return _joined(self.lookup(view.left), self.lookup(view.right), view)
            case ops.SuppressView():
                buffer = self.stores[view.buffer]
                assert isinstance(buffer, SuppressionBuffer), "as the DSL made it"
                return _suppressed(self.lookup(view.parent, as_of), buffer)

    def _table(self, name: str) -> TableStore:
        store = self.stores[name]
        assert not isinstance(store, SuppressionBuffer), "a buffer is read through its table"
        return store

    def is_versioned(self, view: ops.TableView) -> bool:
        """Whether rows of another time can be read."""
        match view:
            case ops.StoreView():
                return isinstance(self.stores[view.store], VersionedKeyValueStore)
            case ops.JoinView() | ops.SuppressView():
                return False
            case _:
                return self.is_versioned(view.parent)


def _filtered(parent: Lookup, view: ops.FilterView) -> Lookup:
    predicate, negate = view.predicate, view.negate

    def lookup(key: object) -> Row | None:
        row = parent(key)
        keep = row is not None and bool(predicate(key, row[0])) is not negate
        return row if keep else None

    return lookup


def _mapped(parent: Lookup, view: ops.MapValuesView) -> Lookup:
    mapper, with_key = view.mapper, view.with_key

    def lookup(key: object) -> Row | None:
        row = parent(key)
        if row is None:
            return None
        value = mapper(key, row[0]) if with_key else mapper(row[0])
        return None if value is None else (value, row[1])

    return lookup


def _transformed(parent: Lookup, transform: Transform) -> Lookup:
    def lookup(key: object) -> Row | None:
        value, timestamp = parent(key) or (None, -1)
        changed = transform(key, value)
        return None if changed is None else (changed, timestamp)

    return lookup


def _joined(left: Lookup, right: Lookup, view: ops.JoinView) -> Lookup:
    joiner = view.joiner

    def lookup(key: object) -> Row | None:
        one, other = left(key), right(key)
        if one is None and (other is None or not view.right_outer):
            return None
        if other is None and not view.left_outer:
            return None
        value = joiner(None if one is None else one[0], None if other is None else other[0])
        newest = max(-1 if one is None else one[1], -1 if other is None else other[1])
        return None if value is None else (value, newest)

    return lookup


def _suppressed(parent: Lookup, buffer: SuppressionBuffer) -> Lookup:
    def lookup(key: object) -> Row | None:
        waiting = buffer.waiting(key)
        if waiting is None:
            return parent(key)
        prior = buffer.prior(waiting)
        return None if prior is None else (prior, NO_TIMESTAMP)

    return lookup


def _store_lookup(store: TableStore, as_of: AsOf | None) -> Lookup:
    if isinstance(store, VersionedKeyValueStore):

        def version(key: object) -> Row | None:
            found = store.get(key, None if as_of is None else as_of.ms)
            return None if found is None else found[:2]

        return version
    if isinstance(store, SessionStore):

        def session(key: object) -> Row | None:
            assert isinstance(key, Windowed), "a session table is read by windowed keys"
            row = store.fetch_session(key.key, key.start_ms, key.end_ms)
            return None if row is None else (store.aggregate_of(row), key.end_ms)

        return session
    if isinstance(store, TimestampedWindowStore):

        def windowed(key: object) -> Row | None:
            assert isinstance(key, Windowed), "a windowed table is read by windowed keys"
            return store.row_at(key.key, key.start_ms)

        return windowed
    return store.get
