"""Time-windowed aggregation: one row of the store per key and window.

Only records with a null key are dropped; null values reach the aggregator (S19). A record updates every
window it falls in that is still open: window end > stream time - grace, judged after the record itself has
advanced the operator's stream time (S21).
"""

from __future__ import annotations

from millstream.streams.kernel.batch import Batch
from millstream.streams.kernel.context import TaskContext
from millstream.streams.kernel.operator import Operator
from millstream.streams.serdes.windowed import MAX_TIMESTAMP, Windowed
from millstream.streams.state.timestamped_window import TimestampedWindowStore
from millstream.streams.topology import operators as ops


class WindowAggregate(Operator):
    """KStreamWindowAggregate, emitting every update, or each window once when it closes (S23)."""

    multiplies = True

    def __init__(
        self, context: TaskContext, spec: ops.WindowAggregate, store: TimestampedWindowStore
    ) -> None:
        super().__init__(context)
        self._store = store
        self._windows = spec.windows
        self._initializer = spec.initializer
        self._aggregator = spec.aggregator
        self._emit_final = spec.emit_final
        self._send_old = spec.send_old_values
        self._time, self._emitted = context.node, f"{context.node} emitted"

    def process(self, batch: Batch) -> Batch:
        if None in batch.keys:
            kept = batch.where([key is not None for key in batch.keys])
            self.context.dropped_records += len(batch) - len(kept)
            batch = kept
        if self._emit_final:
            return self._process_final(batch)
        return self._process_updates(batch)

    def _process_updates(self, batch: Batch) -> Batch:
        store, size = self._store, self._windows.size_ms
        get, put, starts = store.row_at, store.put, self._windows.starts
        initializer, aggregator = self._initializer, self._aggregator
        grace, stream_time = self._windows.grace_ms, store.times.get(self._time, -1)
        expired_puts, dropped = store.expired_puts, 0
        rows: list[int] = []
        keys: list[object] = []
        aggregates: list[object] = []
        timestamps: list[int] = []
        old: list[object] | None = [] if self._send_old else None
        row = -1
        for key, value, at in zip(batch.keys, batch.values, batch.timestamps, strict=True):
            row += 1
            if at > stream_time:
                stream_time = store.times[self._time] = at
            for start in starts(at):
                end = start + size
                if end <= stream_time - grace:
                    dropped += 1
                    continue
                known = get(key, start)
                timestamp = at
                if known is None:
                    before = initializer()
                else:
                    before, stored_at = known
                    if stored_at > at:
                        timestamp = stored_at
                aggregate = aggregator(key, value, before)
                put(key, aggregate, start, timestamp if aggregate is not None else at)
                rows.append(row)
                keys.append(Windowed(key, start, min(end, MAX_TIMESTAMP)))
                aggregates.append(aggregate)
                timestamps.append(timestamp)
                if old is not None:
                    old.append(before)
        self.context.dropped_records += dropped + store.expired_puts - expired_puts
        headers, ordinals = batch.headers, batch.ordinals
        return Batch(
            keys,
            aggregates,
            timestamps,
            [headers[row] for row in rows],
            [ordinals[row] for row in rows],
            old,
        )

    def _process_final(self, batch: Batch) -> Batch:
        """Row by row: update the store, then give out the windows that this row has closed."""
        closed = Batch([], [], [], [], [], [] if self._send_old else None)
        for row in range(len(batch)):
            one = batch.take((row,))
            self._process_updates(one)
            self._close_windows(one, closed)
        return closed

    def _close_windows(self, one: Batch, closed: Batch) -> None:
        size, store = self._windows.size_ms, self._store
        close_time = store.times[self._time] - self._windows.grace_ms
        emitted = store.times.get(self._emitted, -1)
        if close_time <= emitted:
            return
        first = max(0, emitted - size + 1) if emitted >= 0 else 0
        store.times[self._emitted] = close_time
        last = close_time - size
        if last < first:
            return
        for window, (value, timestamp) in store.fetch_all(first, last):
            closed.keys.append(window)
            closed.values.append(value)
            closed.timestamps.append(timestamp)
            closed.headers.append(one.headers[0])
            closed.ordinals.append(one.ordinals[0])
            if closed.old_values is not None:
                closed.old_values.append(None)
