"""Aggregations of regrouped tables: an update takes the old row off and then adds the new one."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator

from millstream.streams.errors import StreamsError
from millstream.streams.kernel.aggregation.fold import fold_records
from millstream.streams.kernel.columns.batch import Batch
from millstream.streams.kernel.context import NodeContext
from millstream.streams.kernel.operator import Operator, RowByRow
from millstream.streams.kernel.tables.operators import RowStore, as_versions
from millstream.streams.kernel.user_functions import check_no_lookalike, no_pair
from millstream.streams.serdes.change import Change
from millstream.streams.state.key_value.versioned import VersionedKeyValueStore, VersionedRows
from millstream.streams.state.rows.running import WriteThroughRows
from millstream.streams.topology import operators as ops


class TableRegroupOperator(Operator):
    """KTableRepartitionMap: one change where old and new key are equal, otherwise old first, then new."""

    def __init__(self, context: NodeContext, spec: ops.TableRegroup) -> None:
        super().__init__(context)
        self._mapper = spec.mapper

    def process(self, batch: Batch) -> Batch:
        batch = batch.only_newest()
        old_values = batch.old_values or [None] * len(batch)
        rows: list[int] = []
        keys: list[object] = []
        changes: list[object] = []
        for row, (key, new, old) in enumerate(
            zip(batch.keys, batch.values, old_values, strict=True)
        ):
            for new_key, change in self._changes(key, new, old):
                rows.append(row)
                keys.append(new_key)
                changes.append(change)
        return batch.take(rows).with_keys(keys).with_values(changes)

    def _changes(self, key: object, new: object, old: object) -> list[tuple[object, Change]]:
        if key is None:
            raise StreamsError("a table that is grouped must not have null keys")
        new_key, new_value = self._regrouped(key, new)
        old_key, old_value = self._regrouped(key, old)
        has_new = new_key is not None and new_value is not None
        has_old = old_key is not None and old_value is not None
        if has_new and has_old and new_key == old_key:
            return [(new_key, Change(new_value, old_value))]
        changes = [(old_key, Change(None, old_value))] if has_old else []
        if has_new:
            changes.append((new_key, Change(new_value, None)))
        return changes

    def _regrouped(self, key: object, value: object) -> tuple[object, object]:
        if value is None:
            return None, None
        pair = self._mapper(key, value)
        check_no_lookalike(pair)
        try:
            new_key, new_value = pair
        except (TypeError, ValueError) as error:
            raise no_pair([pair], error) from None
        return new_key, new_value


class TableAggregation(RowByRow):
    """Base of aggregate and reduce. The old value is subtracted only where there is an aggregate."""

    def __init__(self, context: NodeContext, *, store: RowStore, send_old: bool) -> None:
        super().__init__(context)
        self._store = store
        self._send_old = send_old

    def process(self, batch: Batch) -> Batch:
        store = self._store
        rows = (
            VersionedRows(store, batch.ordinals)
            if isinstance(store, VersionedKeyValueStore)
            else WriteThroughRows(store.get, store.put)
        )
        if None in batch.keys:
            self.loop(batch.ordinals, batch.keys, _refuse_null)
        aggregates, timestamps, old = self.loop(
            batch.ordinals,
            batch.timestamps,
            fold_records,
            rows,
            (batch.keys, batch.keys, batch.values),
            _nothing,
            self.changed,
        )
        result = batch.with_values(aggregates)
        result.timestamps = timestamps
        result.old_values = old if self._send_old else None
        return as_versions(result, rows.valid_to) if isinstance(rows, VersionedRows) else result

    @abstractmethod
    def changed(self, key: object, change: Change, aggregate: object, /) -> object:
        """Returns the aggregate after the change: without its old value, and then with its new one."""


class TableAggregateOperator(TableAggregation):
    """KTableAggregate."""

    def __init__(self, context: NodeContext, spec: ops.TableAggregate, store: RowStore) -> None:
        super().__init__(context, store=store, send_old=spec.send_old_values)
        self._initializer = spec.initializer
        self._adder = spec.adder
        self._subtractor = spec.subtractor

    def changed(self, key: object, change: Change, aggregate: object) -> object:
        if change.old is not None and aggregate is not None:
            aggregate = self._subtractor(key, change.old, aggregate)
        if change.new is None:
            return aggregate
        start = self._initializer() if aggregate is None else aggregate
        return self._adder(key, change.new, start)


class TableReduceOperator(TableAggregation):
    """KTableReduce: the first value is taken as it is."""

    def __init__(self, context: NodeContext, spec: ops.TableReduce, store: RowStore) -> None:
        super().__init__(context, store=store, send_old=spec.send_old_values)
        self._adder = spec.adder
        self._subtractor = spec.subtractor

    def changed(self, _key: object, change: Change, aggregate: object) -> object:
        if change.old is not None and aggregate is not None:
            aggregate = self._subtractor(aggregate, change.old)
        if change.new is None:
            return aggregate
        return change.new if aggregate is None else self._adder(aggregate, change.new)


def _refuse_null(keys: Iterator[object]) -> None:
    for key in keys:
        if key is None:
            raise StreamsError("a grouped table must not have null keys")


def _nothing() -> None:
    """A change of a key without a row begins with no aggregate."""
