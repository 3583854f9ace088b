"""Table-table joins: a change of one side meets the row of the other."""

from __future__ import annotations

from millstream.streams.dropped_records import DropReason
from millstream.streams.kernel.columns.batch import Batch
from millstream.streams.kernel.context import NodeContext
from millstream.streams.kernel.joins.table_reader import Lookup
from millstream.streams.kernel.operator import Operator
from millstream.streams.kernel.tables.operators import RowStore, stored
from millstream.streams.topology import operators as ops

_NEVER = -1
"""The time of a row that is not there: any other is later."""


class TableJoinOperator(Operator):
    """One side. Inner: no partner, nothing at all. Left and outer: see `_applies`."""

    def __init__(self, context: NodeContext, spec: ops.TableJoin, lookup: Lookup) -> None:
        super().__init__(context)
        self._lookup = lookup
        self._joiner = spec.joiner
        self._is_left = spec.is_left
        self._keeps_this = spec.keeps_this
        self._keeps_other = spec.keeps_other
        self._send_old = spec.send_old_values

    def process(self, batch: Batch) -> Batch:
        batch = self.context.only_newest(batch)
        old_values = batch.old_values or [None] * len(batch)
        rows: list[int] = []
        joined: list[object] = []
        joined_old: list[object] = []
        timestamps: list[int] = []
        for row, key in enumerate(batch.keys):
            if key is None:
                row_at = batch.ordinals[row], batch.timestamps[row]
                self.context.drop(DropReason.NULL_KEY, row_at)
                continue
            other, other_time = self._lookup(key) or (None, _NEVER)
            new, old = batch.values[row], old_values[row]
            if not self._applies(new, old, other):
                continue
            rows.append(row)
            timestamps.append(max(batch.timestamps[row], other_time))
            joined.append(self._join(new, other))
            joined_old.append(self._join(old, other) if self._send_old else None)
        result = batch.take(rows).with_values(joined)
        result.timestamps = timestamps
        result.old_values = joined_old if self._send_old else None
        return result

    def _applies(self, new: object, old: object, other: object) -> bool:
        """Whether the change gives a result at all."""
        if other is not None:
            return True
        return self._keeps_this and not (new is None and old is None)

    def _join(self, value: object, other: object) -> object:
        """The joined row, or None where one side misses a partner it needs."""
        if value is None and not (self._keeps_other and other is not None):
            return None
        return self._joiner(value, other) if self._is_left else self._joiner(other, value)


class TableJoinMergeOperator(Operator):
    """Joins the changes of both sides; writes the result's store."""

    def __init__(
        self,
        context: NodeContext,
        spec: ops.TableJoinMerge,
        store: RowStore | None,
    ) -> None:
        super().__init__(context)
        self._store = store
        self._send_old = spec.send_old_values

    def process(self, batch: Batch) -> Batch:
        old_values = batch.old_values if self._send_old else None
        return stored(self._store, batch.with_changes(batch.values, old_values))
