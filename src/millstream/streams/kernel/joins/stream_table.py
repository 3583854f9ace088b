"""Stream-table joins: the stream drives, the table is looked up."""

from __future__ import annotations

from millstream.streams.dropped_records import DropReason
from millstream.streams.kernel.columns.batch import Batch
from millstream.streams.kernel.context import NodeContext
from millstream.streams.kernel.joins.table_reader import AsOf, Row, TableReader
from millstream.streams.kernel.operator import Operator
from millstream.streams.kernel.turns import RowsInTurn, Turn
from millstream.streams.kernel.user_functions import mapped, of_rows
from millstream.streams.state.buffers.join import BufferedRecord, JoinBuffer
from millstream.streams.topology import operators as ops


class StreamTableJoinOperator(Operator):
    """KStreamKTableJoin. Null keys and values are dropped; a left join lets a null key meet null."""

    def __init__(
        self, context: NodeContext, spec: ops.StreamTableJoin, tables: TableReader
    ) -> None:
        super().__init__(context)
        self._as_of = AsOf() if tables.is_versioned(spec.view) else None
        self._lookup = tables.lookup(spec.view, self._as_of)
        self._joiner = spec.joiner
        self._with_key = spec.with_key
        self._left = spec.left
        self._key_mapper = spec.key_mapper

    def process(self, batch: Batch) -> Batch:
        return self.join(*self.joinable(batch))

    def join(self, batch: Batch, table_keys: list[object]) -> Batch:
        """Returns the rows that can be joined, with their partners."""
        rows = self._rows(table_keys, batch.timestamps)
        if not self._left and None in rows:
            batch = batch.where([row is not None for row in rows])
            rows = [row for row in rows if row is not None]
        rights = [None if row is None else row[0] for row in rows]
        if self._with_key:
            joined = mapped(self._joiner, batch.key_column, batch.value_column, rights)
        else:
            joined = mapped(self._joiner, batch.value_column, rights)
        return batch.with_values(joined)

    def _rows(self, keys: list[object], timestamps: list[int]) -> list[Row | None]:
        lookup, as_of = self._lookup, self._as_of
        if as_of is None:
            return [None if key is None else lookup(key) for key in keys]
        rows = []
        for key, as_of.ms in zip(keys, timestamps, strict=True):
            rows.append(None if key is None else lookup(key))
        return rows

    def joinable(self, batch: Batch) -> tuple[Batch, list[object]]:
        """Returns the rows that can be joined and the table key of each."""
        keys = batch.keys
        if self._key_mapper is not None:
            keys = of_rows(self._key_mapper, batch.keys, batch.values)
        if None not in keys and None not in batch.values:
            return batch, keys
        left = self._left
        mask = [
            value is not None and (left or key is not None)
            for key, value in zip(keys, batch.values, strict=True)
        ]
        kept = self.context.without(DropReason.NULL_KEY_OR_VALUE, batch, mask)
        return kept, [key for key, keep in zip(keys, mask, strict=True) if keep]


class BufferedStreamTableJoin(Operator):
    """A join with a versioned table whose stream side waits for the grace period (KIP-923);
    what is older is joined at once.
    """

    def __init__(
        self, context: NodeContext, join: StreamTableJoinOperator, buffer: JoinBuffer
    ) -> None:
        super().__init__(context)
        self._join = join
        self._buffer = buffer

    def process(self, batch: Batch) -> RowsInTurn:
        batch, keys = self._join.joinable(batch)
        ready: list[BufferedRecord] = []
        let_out_by: list[int] = []
        for row, key in enumerate(keys):
            value, ordinal = batch.values[row], batch.ordinals[row]
            headers = batch.headers[row]
            came = self.current.record_context(ordinal, batch.timestamps[row], headers)
            if key is None or not self._buffer.put(key, value, came):
                ready.append(BufferedRecord(key, value, came))
            ready.extend(self._buffer.take_due())
            let_out_by += [ordinal] * (len(ready) - len(let_out_by))
        joined = self._joined(ready)
        turns = [Turn(ready[row].context) for row in joined.ordinals]
        joined.ordinals = [let_out_by[row] for row in joined.ordinals]
        return RowsInTurn(joined, turns)

    def _joined(self, ready: list[BufferedRecord]) -> Batch:
        """Those that have a partner; the ordinals are places in the list."""
        keys = [waiting.key for waiting in ready]
        contexts = [waiting.context for waiting in ready]
        rows = Batch(
            keys,
            [waiting.value for waiting in ready],
            [context.timestamp for context in contexts],
            [context.headers for context in contexts],
            list(range(len(ready))),
        )
        return self._join.join(rows, keys)
