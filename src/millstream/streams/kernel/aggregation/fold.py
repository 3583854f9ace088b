"""The fold of aggregations: records into rows, each of an aggregate and the newest timestamp among its records.

Rows are read and set one record after the other, whatever lies behind them: the store itself, or what a batch holds of
it. An aggregate of None deletes the row, with the record's own timestamp, and goes on as a tombstone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from millstream.streams.state.rows.running import AnyRows, RowKeys
from millstream.streams.topology.operators import UserFunction

Folded = tuple[list[object], list[int], list[object]]
"""Columns with an item for each record: aggregate, newest timestamp, old aggregate (empty where old ones are not
sent)."""


def fold_records(
    timestamps: Iterator[int],
    rows: AnyRows,
    records: tuple[RowKeys, Sequence[object], Sequence[object]],
    initializer: UserFunction,
    aggregator: UserFunction,
) -> Folded:
    """Fold records with aggregator(key, value, aggregate).

    `records`: what each row is found by, and keys and values.
    The old value of a new row is what the initializer gave.
    """
    aggregates: list[object] = []
    newest: list[int] = []
    old: list[object] = []
    for found_by, key, value, at in zip(*records, timestamps, strict=True):
        before, timestamp = rows[found_by]
        if before is None:
            before, timestamp = initializer(), at
        elif timestamp < at:
            timestamp = at
        aggregate = aggregator(key, value, before)
        rows[found_by] = (aggregate, timestamp if aggregate is not None else at)
        old.append(before)
        aggregates.append(aggregate)
        newest.append(timestamp)
    return aggregates, newest, old


def fold_values(
    timestamps: Iterator[int],
    rows: AnyRows,
    values: tuple[RowKeys, Sequence[object]],
    combine: UserFunction,
    initializer: UserFunction | None = None,
) -> Folded:
    """Fold values with combine(aggregate, value). Without an initializer the first value of a row is taken as it is.

    `values`: what each row is found by, and the values.
    """
    aggregates: list[object] = []
    newest: list[int] = []
    old: list[object] = []
    for found_by, value, at in zip(*values, timestamps, strict=True):
        before, timestamp = rows[found_by]
        if before is None:
            timestamp = at
            if initializer is None:
                aggregate = value
            else:
                before = initializer()
                aggregate = combine(before, value)
        else:
            aggregate = combine(before, value)
            if timestamp < at:  # noqa: PLR1730  # a call takes longer
                timestamp = at
        rows[found_by] = (aggregate, timestamp if aggregate is not None else at)
        old.append(before)
        aggregates.append(aggregate)
        newest.append(timestamp)
    return aggregates, newest, old
