"""Reading tables, and stream-table joins: the stream drives, the table is looked up."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from millstream.streams.kernel.columns.batch import Batch
from millstream.streams.kernel.context import TaskContext
from millstream.streams.kernel.operator import Operator
from millstream.streams.kernel.tables.transform_values import Transform
from millstream.streams.kernel.turns import RowsInTurn, Turn
from millstream.streams.kernel.user_functions import mapped, of_rows
from millstream.streams.serdes.windowed import Windowed
from millstream.streams.state.buffers.join import JoinBuffer, Waiting
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
        """The newest rows, or those of another time where the table is versioned."""
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


class StreamTableJoin(Operator):
    """KStreamKTableJoin. Null keys and values are dropped; a left join lets a null key meet null."""

    def __init__(
        self, context: TaskContext, spec: ops.StreamTableJoin, tables: TableReader
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
        """Rows that can be joined, with their partners."""
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
        """The rows that can be joined and the table key of each."""
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
        kept = batch.where(mask)
        self.context.dropped_records += len(batch) - len(kept)
        return kept, [key for key, keep in zip(keys, mask, strict=True) if keep]


class BufferedStreamTableJoin(Operator):
    """A join with a versioned table whose stream side waits for the grace period (KIP-923); what is older is joined at once."""

    def __init__(self, context: TaskContext, join: StreamTableJoin, buffer: JoinBuffer) -> None:
        super().__init__(context)
        self._join = join
        self._buffer = buffer

    def process(self, batch: Batch) -> RowsInTurn:
        batch, keys = self._join.joinable(batch)
        ready: list[Waiting] = []
        let_out_by: list[int] = []
        for row, key in enumerate(keys):
            value, ordinal = batch.values[row], batch.ordinals[row]
            headers = batch.headers[row]
            came = self.context.record_context(ordinal, batch.timestamps[row], headers)
            if key is None or not self._buffer.put(key, value, came):
                ready.append(Waiting(key, value, came))
            ready.extend(self._buffer.take_due())
            let_out_by += [ordinal] * (len(ready) - len(let_out_by))
        joined = self._joined(ready)
        turns = [Turn(ready[row].context) for row in joined.ordinals]
        joined.ordinals = [let_out_by[row] for row in joined.ordinals]
        return RowsInTurn(joined, turns)

    def _joined(self, ready: list[Waiting]) -> Batch:
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
