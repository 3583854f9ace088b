"""Tables: a stream of records turned into changes, and operators on changes.

A store, where a table has one, is written before the change goes on. Old values travel only where somebody
downstream asked for them.
"""

from __future__ import annotations

from millstream.streams.kernel.batch import Batch
from millstream.streams.kernel.context import TaskContext
from millstream.streams.kernel.operator import Operator
from millstream.streams.state.key_value import TimestampedKeyValueStore
from millstream.streams.topology import operators as ops


class TableSource(Operator):
    """KTableSource: null keys are dropped, the latest record wins even when its timestamp is older (S29)."""

    def __init__(
        self, context: TaskContext, spec: ops.TableSource, store: TimestampedKeyValueStore | None
    ) -> None:
        super().__init__(context)
        self._store = store
        self._send_old = spec.send_old_values

    def process(self, batch: Batch) -> Batch:
        if None in batch.keys:
            kept = batch.where([key is not None for key in batch.keys])
            self.context.dropped_records += len(batch) - len(kept)
            batch = kept
        store = self._store
        if store is None:
            return batch
        old: list[object] | None = [] if self._send_old else None
        put = store.put
        for key, value, timestamp in zip(batch.keys, batch.values, batch.timestamps, strict=True):
            if old is not None:
                row = store.get(key)
                old.append(None if row is None else row[0])
            put(key, value, timestamp)
        return Batch(batch.keys, batch.values, batch.timestamps, batch.headers, batch.ordinals, old)


class TableFilter(Operator):
    """KTable.filter: a row that fails goes on as a tombstone, even the first of its key (S28)."""

    def __init__(
        self, context: TaskContext, spec: ops.TableFilter, store: TimestampedKeyValueStore | None
    ) -> None:
        super().__init__(context)
        self._predicate = spec.predicate
        self._negate = spec.negate
        self._store = store
        self._send_old = spec.send_old_values

    def process(self, batch: Batch) -> Batch:
        new = self._filtered(batch.keys, batch.values)
        if not self._send_old:
            return _stored(self._store, batch.with_values(new))
        if self._store is not None:
            return _stored_with_old(self._store, batch.with_values(new), drop_unseen=True)
        assert batch.old_values is not None, "the parent was asked for old values"
        changed = batch.with_values(new)
        changed.old_values = self._filtered(batch.keys, batch.old_values)
        return changed.where(
            [
                value is not None or before is not None
                for value, before in zip(new, changed.old_values, strict=True)
            ]
        )

    def _filtered(self, keys: list[object], values: list[object]) -> list[object]:
        predicate, negate = self._predicate, self._negate
        return [
            value if value is not None and bool(predicate(key, value)) is not negate else None
            for key, value in zip(keys, values, strict=True)
        ]


class TableMapValues(Operator):
    """KTable.mapValues: null stays null."""

    def __init__(
        self, context: TaskContext, spec: ops.TableMapValues, store: TimestampedKeyValueStore | None
    ) -> None:
        super().__init__(context)
        self._mapper = spec.mapper
        self._with_key = spec.with_key
        self._store = store
        self._send_old = spec.send_old_values

    def process(self, batch: Batch) -> Batch:
        changed = batch.with_values(self._mapped(batch.keys, batch.values))
        if not self._send_old:
            return _stored(self._store, changed)
        if self._store is not None:
            return _stored_with_old(self._store, changed, drop_unseen=False)
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


def _stored(store: TimestampedKeyValueStore | None, batch: Batch) -> Batch:
    if store is not None:
        put = store.put
        for key, value, timestamp in zip(batch.keys, batch.values, batch.timestamps, strict=True):
            put(key, value, timestamp)
    return batch


def _stored_with_old(store: TimestampedKeyValueStore, batch: Batch, *, drop_unseen: bool) -> Batch:
    """Store the rows; old values are what the store had. `drop_unseen`: leave out null rows of absent keys."""
    old: list[object] = []
    kept: list[bool] = []
    for key, value, timestamp in zip(batch.keys, batch.values, batch.timestamps, strict=True):
        row = store.get(key)
        before = None if row is None else row[0]
        keep = not drop_unseen or value is not None or before is not None
        if keep:
            store.put(key, value, timestamp)
        old.append(before)
        kept.append(keep)
    batch.old_values = old
    return batch if all(kept) else batch.where(kept)
