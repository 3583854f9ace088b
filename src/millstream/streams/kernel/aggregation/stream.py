"""KStream count, reduce and aggregate: one row of the store per key.

Records with a null key or value are dropped; the row's timestamp is the largest of its records; an
aggregate of None deletes the row and goes on as a tombstone, logged with the record's own timestamp.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any

from millstream.streams.aggregates import Aggregate
from millstream.streams.dropped_records import DropReason
from millstream.streams.kernel.aggregation.column_counts import tallied
from millstream.streams.kernel.aggregation.counting import add_to_rows, count_rows, counted
from millstream.streams.kernel.aggregation.fold import Folded, fold_records, fold_values
from millstream.streams.kernel.columns.arrow_bytes import ArrowBytes
from millstream.streams.kernel.columns.batch import NO_ROWS, Batch
from millstream.streams.kernel.columns.column import (
    Column,
    Data,
    any_null,
    has_nulls,
    written,
    written_as_it_came,
)
from millstream.streams.kernel.context import NodeContext
from millstream.streams.kernel.operator import Operator, RowByRow
from millstream.streams.kernel.tables.operators import RowStore, as_versions
from millstream.streams.kernel.user_functions import check_complete
from millstream.streams.state.key_value.versioned import VersionedKeyValueStore, VersionedRows
from millstream.streams.state.rows.running import (
    AnyRows,
    EncodedRows,
    RowKeys,
    RunningRows,
    WriteThroughRows,
    WrittenRows,
)
from millstream.streams.state.rows.timestamped import TimestampedRows
from millstream.streams.state.store import StateStore
from millstream.streams.topology import operators as ops


class KeyFold(RowByRow):
    """Base of aggregate, count and reduce: rows are read once a batch and written once, if the store allows it."""

    def __init__(self, context: NodeContext, store: RowStore, *, send_old: bool) -> None:
        super().__init__(context)
        self._store = store
        self._send_old = send_old

    @abstractmethod
    def fold(self, batch: Batch, keys: RowKeys, rows: AnyRows, /) -> Folded:
        """Fold records into rows; `keys` are what rows are found by."""

    def fold_rows(self, batch: Batch, rows: AnyRows, /) -> RowKeys:
        """The same where only the rows are wanted, as all records leave them.

        Returns what the rows that were set are found by.
        """
        keys: RowKeys = bytes_of_keys(batch, self._store)
        self.fold(batch, keys, rows)
        return keys

    def process(self, batch: Batch) -> Batch:
        batch, store = without_nulls(self, batch), self._store
        if isinstance(store, VersionedKeyValueStore):
            versions = VersionedRows(store, batch.ordinals)
            folded = self.fold(batch, batch.keys, versions)
            return as_versions(self._result(batch, folded), versions.valid_to)
        if len(batch) == 1 or not store.takes_columns:
            through = WriteThroughRows(store.get, store.put)
            return self._result(batch, self.fold(batch, batch.keys, through))
        rows = store.running_rows()
        if store.cache is not None:  # from which the changes go on
            store.write_rows(rows, WrittenRows(self.fold_rows(batch, rows), (), ()))
            return NO_ROWS
        keys: RowKeys = bytes_of_keys(batch, store)
        result = self._result(batch, self.fold(batch, keys, rows))
        values = written_values(rows, result, store)
        store.write_rows(rows, written_steps(batch.timestamps, keys, values, result))
        return result

    def _result(self, batch: Batch, folded: Folded) -> Batch:
        aggregates, timestamps, old = folded
        values = Column(self._store.value_serde, values=aggregates)
        result = Batch(batch.key_column, values, timestamps, batch.headers, batch.ordinals)
        result.old_values = old if self._send_old else None
        return result


def bytes_of_keys(batch: Batch, store: StateStore) -> Data:
    """Returns the keys as the store writes them. Raises SerializationError that names the store."""
    keys = keys_as_they_came(batch, store)
    return keys.rows() if isinstance(keys, ArrowBytes) else keys


def keys_as_they_came(batch: Batch, store: StateStore) -> Data | ArrowBytes:
    """Returns the same, as Arrow where the store writes them as they came so."""
    try:
        return written_as_it_came(batch.key_column, store.key_serde)
    except Exception as error:
        raise store.unwritable(batch.keys, [None] * len(batch)) from error


def bytes_of_values(rows: Batch, store: StateStore) -> Data:
    """Returns the values as the store writes them. Raises SerializationError that names the store."""
    try:
        return written(rows.value_column, store.value_serde)
    except Exception as error:
        raise store.unwritable(rows.keys, rows.values) from error


def written_values(rows: AnyRows, result: Batch, store: TimestampedRows) -> Data:
    """Returns the values of a result as the store writes them; some running rows have written them already."""
    if isinstance(rows, EncodedRows):
        return store.logged_column(rows.steps)
    return bytes_of_values(result, store)


def written_steps(given: Sequence[int], keys: RowKeys, values: Data, result: Batch) -> WrittenRows:
    """Gives the changelog record of each row of the result; a tombstone has the timestamp of its
    own record, `given`.
    """
    if not any_null(values):
        return WrittenRows(keys, values, result.timestamps)
    rows = zip(values, result.timestamps, given, strict=True)
    return WrittenRows(
        keys, values, [at if value is None else newest for value, newest, at in rows]
    )


class StreamAggregateOperator(KeyFold):
    """KStreamAggregate. The old value of a new key is what the initializer gave.

    A ready-made aggregation selects what it combines first, for the whole batch.
    """

    def __init__(self, context: NodeContext, spec: ops.StreamAggregate, store: RowStore) -> None:
        super().__init__(context, store, send_old=spec.send_old_values)
        self._initializer = spec.initializer
        self._aggregator = spec.aggregator

    def fold(self, batch: Batch, keys: RowKeys, rows: AnyRows) -> Folded:
        ordinals, timestamps = batch.ordinals, batch.timestamps
        initializer, aggregator = self._initializer, self._aggregator
        if isinstance(aggregator, Aggregate):
            selected = self._selected(aggregator, batch)
            if None not in selected:
                values, combine = (keys, selected), aggregator.combine
                return self.loop(
                    ordinals, timestamps, fold_values, rows, values, combine, initializer
                )
        records = keys, batch.keys, batch.values
        return self.loop(ordinals, timestamps, fold_records, rows, records, initializer, aggregator)

    def _selected(
        self,
        aggregate: Aggregate[Any, Any],  # Any: of any type
        batch: Batch,
    ) -> Sequence[object]:
        """Returns the part of each record's value that is aggregated; records without a value are gone already."""
        select = aggregate.select
        if select is None:
            return batch.values

        def select_all(values: Iterator[object]) -> list[object]:
            selected = list(map(select, values))
            check_complete(select, selected, batch.values)
            return selected

        return self.loop(batch.ordinals, batch.values, select_all)


class StreamCountOperator(KeyFold):
    """KStream count: the aggregate that looks at no values and calls no function."""

    def __init__(self, context: NodeContext, spec: ops.StreamCount, store: RowStore) -> None:
        super().__init__(context, store, send_old=spec.send_old_values)

    def fold(self, batch: Batch, keys: RowKeys, rows: AnyRows) -> Folded:
        return counted(keys, batch.timestamps, rows, with_old=self._send_old)

    def fold_rows(self, batch: Batch, rows: AnyRows) -> RowKeys:
        keys, timestamps = keys_as_they_came(batch, self._store), batch.timestamps
        if isinstance(keys, ArrowBytes) and isinstance(rows, RunningRows):
            tally = tallied(keys, timestamps, [(0, len(batch), (b"",))])
            if tally is not None:
                add_to_rows(tally, rows)
                return list(tally.counts)
        if isinstance(keys, ArrowBytes):
            keys = keys.rows()
        count_rows(keys, timestamps, rows)
        return keys


class StreamReduceOperator(KeyFold):
    """KStreamReduce: the first value is stored as it is."""

    def __init__(self, context: NodeContext, spec: ops.StreamReduce, store: RowStore) -> None:
        super().__init__(context, store, send_old=spec.send_old_values)
        self._reducer = spec.reducer

    def fold(self, batch: Batch, keys: RowKeys, rows: AnyRows) -> Folded:
        values = keys, batch.values
        ordinals, timestamps = batch.ordinals, batch.timestamps
        return self.loop(ordinals, timestamps, fold_values, rows, values, self._reducer, None)


def without_null_keys(operator: Operator, batch: Batch) -> Batch:
    """Returns the rows that have a key; the others are counted as dropped."""
    if not has_nulls(batch.key_column):
        return batch
    kept = [key is not None for key in batch.keys]
    return operator.context.without(DropReason.NULL_KEY, batch, kept)


def without_nulls(operator: Operator, batch: Batch) -> Batch:
    """Returns the rows that have a key and a value; the others are counted as dropped."""
    if not has_nulls(batch.key_column) and not has_nulls(batch.value_column):
        return batch
    kept = [
        key is not None and value is not None
        for key, value in zip(batch.keys, batch.values, strict=True)
    ]
    return operator.context.without(DropReason.NULL_KEY_OR_VALUE, batch, kept)
