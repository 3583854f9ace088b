"""Reading tables, and stream-table joins: the stream drives, the table is looked up."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from millstream.streams.kernel.batch import Batch
from millstream.streams.kernel.context import TaskContext
from millstream.streams.kernel.operator import Operator
from millstream.streams.kernel.transform_values import Transform
from millstream.streams.serdes.windowed import Windowed
from millstream.streams.state.key_value import TimestampedKeyValueStore
from millstream.streams.state.session import SessionStore
from millstream.streams.state.window import WindowStore
from millstream.streams.topology import operators as ops

TABLE_STORES = (TimestampedKeyValueStore, WindowStore, SessionStore)
TableStore = TimestampedKeyValueStore | WindowStore | SessionStore
Stores = Mapping[str, TableStore]
Row = tuple[object, int]
Lookup = Callable[[object], Row | None]
"""key → (value, timestamp) of the table's row, None where it has none."""
Opener = Callable[[ops.UserFunction], Transform]
"""Supplier → a transformer of its own for the reader."""


def table_lookup(view: ops.TableView, stores: Stores, open_transformer: Opener) -> Lookup:
    """A function that reads a table, through its operators where it has no store of its own."""
    match view:
        case ops.StoreView():
            return _store_lookup(stores[view.store])
        case ops.FilterView():
            return _filtered(table_lookup(view.parent, stores, open_transformer), view)
        case ops.MapValuesView():
            return _mapped(table_lookup(view.parent, stores, open_transformer), view)
        case ops.TransformView():
            parent = table_lookup(view.parent, stores, open_transformer)
            return _transformed(parent, open_transformer(view.supplier))
        case ops.JoinView():
            left = table_lookup(view.left, stores, open_transformer)
            return _joined(left, table_lookup(view.right, stores, open_transformer), view)


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


def _store_lookup(store: TableStore) -> Lookup:
    if isinstance(store, SessionStore):

        def session(key: object) -> Row | None:
            assert isinstance(key, Windowed), "a session table is read by windowed keys"
            value = store.get(key)
            return None if value is None else (value, key.end_ms)

        return session
    if isinstance(store, WindowStore):

        def windowed(key: object) -> Row | None:
            assert isinstance(key, Windowed), "a windowed table is read by windowed keys"
            return store.get(key.key, key.start_ms)

        return windowed
    return store.get


class StreamTableJoin(Operator):
    """KStreamKTableJoin. Null keys and values are dropped; a left join lets a null key meet null (S30)."""

    def __init__(self, context: TaskContext, spec: ops.StreamTableJoin, lookup: Lookup) -> None:
        super().__init__(context)
        self._lookup = lookup
        self._joiner = spec.joiner
        self._with_key = spec.with_key
        self._left = spec.left
        self._key_mapper = spec.key_mapper

    def process(self, batch: Batch) -> Batch:
        batch, table_keys = self._joinable(batch)
        lookup = self._lookup
        rows = [None if key is None else lookup(key) for key in table_keys]
        if not self._left and None in rows:
            batch = batch.where([row is not None for row in rows])
            rows = [row for row in rows if row is not None]
        rights = [None if row is None else row[0] for row in rows]
        if self._with_key:
            return batch.with_values(list(map(self._joiner, batch.keys, batch.values, rights)))
        return batch.with_values(list(map(self._joiner, batch.values, rights)))

    def _joinable(self, batch: Batch) -> tuple[Batch, list[object]]:
        """The rows that can be joined and the table key of each."""
        keys = batch.keys
        if self._key_mapper is not None:
            keys = list(map(self._key_mapper, batch.keys, batch.values))
        if None not in keys and None not in batch.values:
            return batch, keys
        left = self._left
        mask = [
            value is not None and (left or key is not None)
            for key, value in zip(keys, batch.values, strict=True)
        ]
        kept = batch.where(mask)
        self.context.dropped_records += len(batch) - len(kept)
        return kept, [key for key, keep in zip(keys, mask, strict=True) if keep]
