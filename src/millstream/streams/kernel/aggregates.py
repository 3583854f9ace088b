"""KStream count, reduce and aggregate: one row of the store per key.

Records with a null key or value are dropped (S19); the row's timestamp is the largest of its records; an
aggregate of None deletes the row and goes on as a tombstone (S20), logged with the record's own timestamp.
"""

from __future__ import annotations

from millstream.streams.kernel.batch import Batch
from millstream.streams.kernel.context import TaskContext
from millstream.streams.kernel.operator import Operator
from millstream.streams.state.key_value import TimestampedKeyValueStore
from millstream.streams.topology import operators as ops


class StreamAggregate(Operator):
    """KStreamAggregate. The old value of a new key is what the initializer gave."""

    def __init__(
        self, context: TaskContext, spec: ops.StreamAggregate, store: TimestampedKeyValueStore
    ) -> None:
        super().__init__(context)
        self._store = store
        self._initializer = spec.initializer
        self._aggregator = spec.aggregator
        self._send_old = spec.send_old_values

    def process(self, batch: Batch) -> Batch:
        batch = without_nulls(self.context, batch)
        get, put = self._store.get, self._store.put
        initializer, aggregator = self._initializer, self._aggregator
        aggregates: list[object] = []
        timestamps: list[int] = []
        old: list[object] | None = [] if self._send_old else None
        for key, value, at in zip(batch.keys, batch.values, batch.timestamps, strict=True):
            row, timestamp = get(key), at
            if row is None:
                before = initializer()
            else:
                before, known = row
                if known > at:
                    timestamp = known
            if old is not None:
                old.append(before)
            aggregate = aggregator(key, value, before)
            put(key, aggregate, timestamp if aggregate is not None else at)
            aggregates.append(aggregate)
            timestamps.append(timestamp)
        return Batch(batch.keys, aggregates, timestamps, batch.headers, batch.ordinals, old)


class StreamCount(Operator):
    """KStream count: the aggregate that needs no call into user code."""

    def __init__(
        self, context: TaskContext, spec: ops.StreamCount, store: TimestampedKeyValueStore
    ) -> None:
        super().__init__(context)
        self._store = store
        self._send_old = spec.send_old_values

    def process(self, batch: Batch) -> Batch:
        batch = without_nulls(self.context, batch)
        get, put = self._store.get, self._store.put
        counts: list[object] = []
        timestamps: list[int] = []
        for key, timestamp in zip(batch.keys, batch.timestamps, strict=True):
            row = get(key)
            count = 1
            if row is not None:
                before, known = row
                assert isinstance(before, int), "a count is stored as a number"
                count = before + 1
                timestamp = max(timestamp, known)
            put(key, count, timestamp)
            counts.append(count)
            timestamps.append(timestamp)
        old: list[object] | None = [n - 1 for n in counts] if self._send_old else None  # type: ignore[operator]  # counts are numbers
        return Batch(batch.keys, counts, timestamps, batch.headers, batch.ordinals, old)


class StreamReduce(Operator):
    """KStreamReduce: the first value is stored as it is."""

    def __init__(
        self, context: TaskContext, spec: ops.StreamReduce, store: TimestampedKeyValueStore
    ) -> None:
        super().__init__(context)
        self._store = store
        self._reducer = spec.reducer
        self._send_old = spec.send_old_values

    def process(self, batch: Batch) -> Batch:
        batch = without_nulls(self.context, batch)
        get, put, reducer = self._store.get, self._store.put, self._reducer
        aggregates: list[object] = []
        timestamps: list[int] = []
        old: list[object] | None = [] if self._send_old else None
        for key, value, at in zip(batch.keys, batch.values, batch.timestamps, strict=True):
            row, timestamp, before = get(key), at, None
            if row is not None:
                before, known = row
                value = reducer(before, value)
                if known > at:
                    timestamp = known
            put(key, value, timestamp if value is not None else at)
            aggregates.append(value)
            timestamps.append(timestamp)
            if old is not None:
                old.append(before)
        return Batch(batch.keys, aggregates, timestamps, batch.headers, batch.ordinals, old)


def without_nulls(context: TaskContext, batch: Batch) -> Batch:
    """The rows that have a key and a value; the others are counted as dropped."""
    if None not in batch.keys and None not in batch.values:
        return batch
    kept = batch.where(
        [
            key is not None and value is not None
            for key, value in zip(batch.keys, batch.values, strict=True)
        ]
    )
    context.dropped_records += len(batch) - len(kept)
    return kept
