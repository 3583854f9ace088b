"""Stream-table joins: the stream drives, the table is looked up."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from millstream.streams.kernel.batch import Batch
from millstream.streams.kernel.context import TaskContext
from millstream.streams.kernel.operator import Operator
from millstream.streams.serdes.windowed import Windowed
from millstream.streams.state.key_value import TimestampedKeyValueStore
from millstream.streams.state.window import WindowStore
from millstream.streams.topology import operators as ops

Stores = Mapping[str, TimestampedKeyValueStore | WindowStore]
Lookup = Callable[[object], object]
"""key → the table's value, None where it has no row."""


def table_lookup(view: ops.TableView, stores: Stores) -> Lookup:
    """A function that reads a table, through its operators where it has no store of its own."""
    if isinstance(view, ops.StoreView):
        return _store_lookup(stores[view.store])
    parent = table_lookup(view.parent, stores)
    if isinstance(view, ops.FilterView):
        predicate, negate = view.predicate, view.negate

        def filtered(key: object) -> object:
            value = parent(key)
            keep = value is not None and bool(predicate(key, value)) is not negate
            return value if keep else None

        return filtered
    mapper, with_key = view.mapper, view.with_key

    def mapped(key: object) -> object:
        value = parent(key)
        if value is None:
            return None
        return mapper(key, value) if with_key else mapper(value)

    return mapped


def _store_lookup(store: TimestampedKeyValueStore | WindowStore) -> Lookup:
    if isinstance(store, WindowStore):

        def windowed(key: object) -> object:
            assert isinstance(key, Windowed), "a windowed table is read by windowed keys"
            row = store.get(key.key, key.start_ms)
            return None if row is None else row[0]

        return windowed
    get = store.get

    def plain(key: object) -> object:
        row = get(key)
        return None if row is None else row[0]

    return plain


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
        rights = [None if key is None else lookup(key) for key in table_keys]
        if not self._left and None in rights:
            mask = [right is not None for right in rights]
            batch = batch.where(mask)
            rights = [right for right in rights if right is not None]
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
