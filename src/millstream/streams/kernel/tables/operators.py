"""Tables: a stream of records turned into changes, and operators on changes.

A store, where a table has one, is written before the change goes on. Old values travel only where an operator
downstream asked for them.
"""

from __future__ import annotations

from millstream.streams.dropped_records import DropReason
from millstream.streams.kernel.columns.batch import Batch
from millstream.streams.kernel.context import NodeContext
from millstream.streams.kernel.operator import Operator
from millstream.streams.state.key_value.store import TimestampedKeyValueStore
from millstream.streams.state.key_value.versioned import (
    NOT_PUT,
    VALID_TO_UNDEFINED,
    VersionedKeyValueStore,
)
from millstream.streams.topology import operators as ops

ROW_STORES = (TimestampedKeyValueStore, VersionedKeyValueStore)
RowStore = TimestampedKeyValueStore | VersionedKeyValueStore


class TableSourceOperator(Operator):
    """KTableSource: null keys are dropped, the latest record wins even when its timestamp is older."""

    def __init__(self, context: NodeContext, spec: ops.TableSource, store: RowStore | None) -> None:
        super().__init__(context)
        self._store = store
        self._send_old = spec.send_old_values

    def process(self, batch: Batch) -> Batch:
        if None in batch.keys:
            kept = [key is not None for key in batch.keys]
            batch = self.context.without(DropReason.NULL_KEY, batch, kept)
        if self._store is None:
            return batch
        if self._send_old:
            return stored_with_old(self._store, batch, drop_unseen=False)
        return stored(self._store, batch)


class TableFilterOperator(Operator):
    """KTable.filter: a row that fails goes on as a tombstone, even the first of its key."""

    def __init__(self, context: NodeContext, spec: ops.TableFilter, store: RowStore | None) -> None:
        super().__init__(context)
        self._predicate = spec.predicate
        self._negate = spec.negate
        self._store = store
        self._send_old = spec.send_old_values
        self._drop_unseen = not spec.keeps_unseen
        self._forgets_versions = spec.forgets_versions

    def process(self, batch: Batch) -> Batch:
        if self._forgets_versions:
            batch = batch.without_versions()
        new = self._filtered(batch.keys, batch.values)
        if not self._send_old:
            return stored(self._store, batch.with_changes(new))
        if self._store is not None:
            return stored_with_old(
                self._store, batch.with_changes(new), drop_unseen=self._drop_unseen
            )
        assert batch.old_values is not None, "the parent was asked for old values"
        old = self._filtered(batch.keys, batch.old_values)
        changed = batch.with_changes(new, old)
        if not self._drop_unseen:
            return changed
        return changed.where(
            [
                value is not None or before is not None
                for value, before in zip(new, old, strict=True)
            ]
        )

    def _filtered(self, keys: list[object], values: list[object]) -> list[object]:
        predicate, negate = self._predicate, self._negate
        return [
            value if value is not None and bool(predicate(key, value)) is not negate else None
            for key, value in zip(keys, values, strict=True)
        ]


class TableMapValuesOperator(Operator):
    """KTable.mapValues: null stays null."""

    def __init__(
        self, context: NodeContext, spec: ops.TableMapValues, store: RowStore | None
    ) -> None:
        super().__init__(context)
        self._mapper = spec.mapper
        self._with_key = spec.with_key
        self._store = store
        self._send_old = spec.send_old_values
        self._forgets_versions = spec.forgets_versions

    def process(self, batch: Batch) -> Batch:
        if self._forgets_versions:
            batch = batch.without_versions()
        changed = batch.with_changes(self._mapped(batch.keys, batch.values))
        if not self._send_old:
            return stored(self._store, changed)
        if self._store is not None:
            return stored_with_old(self._store, changed, drop_unseen=False)
        assert batch.old_values is not None, "the parent was asked for old values"
        changed.old_values = self._mapped(batch.keys, batch.old_values)
        return changed

    def _mapped(self, keys: list[object], values: list[object]) -> list[object]:
        mapper = self._mapper
        if self._with_key:
            return [
                None if value is None else mapper(key, value)
                for key, value in zip(keys, values, strict=True)
            ]
        return [None if value is None else mapper(value) for value in values]


def stored(store: RowStore | None, batch: Batch) -> Batch:
    """Puts the rows; a versioned store says which are the newest of their keys, and which came too late to go on."""
    if store is None:
        return batch
    if isinstance(store, VersionedKeyValueStore):
        return _put_versions(store, batch)
    put = store.put
    for key, value, timestamp in zip(batch.keys, batch.values, batch.timestamps, strict=True):
        put(key, value, timestamp)
    return (
        batch.without_versions()
    )  # a store of one value a row has just taken this one for the newest


def stored_with_old(store: RowStore, batch: Batch, *, drop_unseen: bool) -> Batch:
    """Puts the rows; old values are what the store had. `drop_unseen`: leave out null rows of absent keys."""
    old: list[object] = []
    kept: list[bool] = []
    newest: list[bool] = []
    is_versioned = isinstance(store, VersionedKeyValueStore)
    for key, value, timestamp, ordinal in zip(
        batch.keys, batch.values, batch.timestamps, batch.ordinals, strict=True
    ):
        if is_versioned:
            store.begin_row(ordinal)
        row = store.get(key)
        before = None if row is None else row[0]
        keep = not drop_unseen or value is not None or before is not None
        valid_to = store.put(key, value, timestamp) if keep else None
        old.append(before)
        kept.append(keep and valid_to != NOT_PUT)
        newest.append(valid_to is None or valid_to == VALID_TO_UNDEFINED)
    result = batch.with_changes(batch.values, old)
    result.newest = newest if is_versioned else None
    return result if all(kept) else result.where(kept)


def _put_versions(store: VersionedKeyValueStore, batch: Batch) -> Batch:
    valid_to = []
    for key, value, timestamp, ordinal in zip(
        batch.keys, batch.values, batch.timestamps, batch.ordinals, strict=True
    ):
        store.begin_row(ordinal)
        valid_to.append(store.put(key, value, timestamp))
    return as_versions(batch.with_changes(batch.values, batch.old_values), valid_to)


def as_versions(batch: Batch, valid_to: list[int]) -> Batch:
    """Returns the batch after its rows were put in a versioned store, which gave these answers."""
    batch.newest = [each == VALID_TO_UNDEFINED for each in valid_to]
    return batch.where([each != NOT_PUT for each in valid_to]) if NOT_PUT in valid_to else batch
