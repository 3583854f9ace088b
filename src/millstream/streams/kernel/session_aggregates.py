"""Session aggregation (S22): a record joins all sessions it touches into one.

Lateness is judged after merging, so a late record that bridges to a live session counts. Every absorbed
session is removed and forwarded as a tombstone at its end, before the merged result. Updates carry no headers, as in Kafka Streams.
"""

from __future__ import annotations

from millstream.streams.kernel.batch import NO_HEADERS, Batch, Headers
from millstream.streams.kernel.context import TaskContext
from millstream.streams.kernel.emit_interval import FINAL_EMIT, EmitInterval
from millstream.streams.kernel.operator import Operator
from millstream.streams.serdes.windowed import Windowed
from millstream.streams.state.session import SessionStore
from millstream.streams.topology import operators as ops


class SessionAggregate(Operator):
    """KStreamSessionWindowAggregate; null values reach the aggregator, null keys are dropped (S19)."""

    multiplies = True

    def __init__(
        self, context: TaskContext, spec: ops.SessionAggregate, store: SessionStore
    ) -> None:
        super().__init__(context)
        self._store = store
        self._spec = spec
        self._interval = EmitInterval(context.config.window_emit_interval_ms)
        self._time, self._emitted = context.node, f"{context.node} emitted"

    def process(self, batch: Batch) -> Batch:
        out = Batch([], [], [], [], [], [] if self._spec.send_old_values else None)
        for row in range(len(batch)):
            if batch.keys[row] is None:
                self.context.dropped_records += 1
            else:
                self._aggregate(batch, row, out)
        if self._spec.emit_final:
            self.context.counts[self._time, FINAL_EMIT] += len(out)
        return out

    def _aggregate(self, batch: Batch, row: int, out: Batch) -> None:
        spec, store = self._spec, self._store
        key, at = batch.keys[row], batch.timestamps[row]
        gap = spec.windows.gap_ms
        stream_time = store.times[self._time] = max(store.times.get(self._time, -1), at)
        close_time = stream_time - spec.windows.grace_ms - gap
        aggregate = spec.initializer()
        start = end = at
        touched = [
            (session, store.aggregate_of(stored))
            for session, stored in store.find_sessions(key, at - gap, at + gap)
        ]
        for session, value in touched:
            aggregate = spec.merger(key, aggregate, value)
            start, end = min(start, session.start_ms), max(end, session.end_ms)
        if end < close_time:
            self.context.dropped_records += 1
        else:
            if (start, end) != (at, at):
                for session, value in touched:
                    store.put(session, None, at)
                    self._update(batch, row, out, (session, value, None))
            aggregate = spec.aggregator(key, batch.values[row], aggregate)
            merged = Windowed(key, start, end)
            store.put(merged, aggregate, at)
            self._update(batch, row, out, (merged, None, aggregate))
        if spec.emit_final and self._interval.is_over(self.context.wall_clock_ms):
            self._close_sessions(batch, row, out, close_time)

    def _update(
        self, batch: Batch, row: int, out: Batch, change: tuple[Windowed[object], object, object]
    ) -> None:
        if not self._spec.emit_final:
            _append(batch, row, out, change, NO_HEADERS)

    def _close_sessions(self, batch: Batch, row: int, out: Batch, close_time: int) -> None:
        """Give out the sessions that this row has closed, by their ends."""
        emitted = self._store.times.get(self._emitted, -1)
        if close_time <= emitted:
            return
        first = max(0, emitted)
        self._store.times[self._emitted] = close_time
        if close_time - 1 < first:
            return
        for session, stored in list(self._store.fetch_closed(first, close_time - 1)):
            change = (session, None, self._store.aggregate_of(stored))
            _append(batch, row, out, change, batch.headers[row])


def _append(
    batch: Batch,
    row: int,
    out: Batch,
    change: tuple[Windowed[object], object, object],
    headers: Headers,
) -> None:
    session, old, new = change
    out.keys.append(session)
    out.values.append(new)
    out.timestamps.append(session.end_ms)
    out.headers.append(headers)
    out.ordinals.append(batch.ordinals[row])
    if out.old_values is not None:
        out.old_values.append(old)
