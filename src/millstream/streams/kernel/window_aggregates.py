"""Time-windowed aggregation: one row of the store per key and window.

Only records with a null key are dropped; null values reach the aggregator (S19). A record updates every
window it falls in that is still open: window end > stream time - grace, judged after the record itself has
advanced the operator's stream time (S21).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from millstream.streams.kernel.aggregates import written_steps
from millstream.streams.kernel.batch import Batch
from millstream.streams.kernel.columns import Column, has_nulls, written
from millstream.streams.kernel.context import TaskContext
from millstream.streams.kernel.emit_interval import FINAL_EMIT, EmitInterval
from millstream.streams.kernel.operator import Operator
from millstream.streams.serdes.windowed import MAX_TIMESTAMP, Windowed, time_windowed
from millstream.streams.state.running_rows import AnyRows, RowKeys, RunningRows, WriteThroughRows
from millstream.streams.state.segmented import pack_time
from millstream.streams.state.timestamped_window import TimestampedWindowStore
from millstream.streams.state.window_rows import NO_SEQUENCE
from millstream.streams.topology import operators as ops
from millstream.streams.windows import TimeWindows

Name = Any  # Any: what the caller of a fold wants to know of the rows that were updated
Namer = Callable[[Any, Any, int, int], Name]  # Any: keys of any type
"""(what the row is found by, key, start, end) → its name; called once for each row of the batch."""


@dataclass(slots=True, eq=False)
class _Window:
    """A window that records of the batch fall in, and the names of its rows. Rows are found by keys, or their bytes."""

    start: int
    end: int
    rows: AnyRows
    names: dict[Any, Name] = field(default_factory=dict)  # Any: keys or their bytes


@dataclass(slots=True, eq=False)
class _Updates:
    """What came of a batch: columns of equal length."""

    records: list[int] = field(default_factory=list)
    """Where in the batch the record stands."""
    names: list[Name] = field(default_factory=list)
    aggregates: list[object] = field(default_factory=list)
    timestamps: list[int] = field(default_factory=list)
    old: list[object] = field(default_factory=list)


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
        self._interval = EmitInterval(context.config.window_emit_interval_ms)
        self._time, self._emitted = context.node, f"{context.node} emitted"
        self._key_serde = time_windowed(store.key_serde, spec.windows.size_ms)

    def process(self, batch: Batch) -> Batch:
        if has_nulls(batch.key_column):
            kept = batch.where([key is not None for key in batch.keys])
            self.context.dropped_records += len(batch) - len(kept)
            batch = kept
        if self._emit_final:
            return self._process_final(batch)
        return self._process_updates(batch)

    def _process_updates(self, batch: Batch) -> Batch:
        store, windows = self._store, self._windows
        open_ms = windows.size_ms + windows.grace_ms
        if (
            len(batch) > 1
            and store.takes_columns
            and store.keeps_open_windows(store.times.get(self._time, -1), open_ms)
        ):
            return self._update_together(batch)
        updates = self._fold(batch, batch.keys, self._write_through, _windowed)
        return self._result(batch, updates, Column(self._key_serde, values=updates.names))

    def _write_through(self, start: int) -> WriteThroughRows:
        get, put = self._store.row_at, self._store.put
        return WriteThroughRows(
            lambda key: get(key, start), lambda key, value, at: put(key, value, start, at)
        )

    def _update_together(self, batch: Batch) -> Batch:
        """Rows are read once a batch and written once: none of them can expire meanwhile."""
        store = self._store
        try:
            keys = written(batch.key_column, store.key_serde)
        except Exception as error:
            raise store.unwritable(batch.keys, [None] * len(batch)) from error
        opened: dict[int, RunningRows] = {}

        def open_window(start: int) -> RunningRows:
            rows = opened[start] = store.running_rows(start)
            return rows

        updates = self._fold(batch, keys, open_window, _windowed_as_bytes)
        names = updates.names
        key_column = Column(
            self._key_serde,
            data=[data for _, data, _ in names],
            values=[window for window, _, _ in names],
        )
        result = self._result(batch, updates, key_column)
        log_keys = [log_key for _, _, log_key in names]
        given = [batch.timestamps[record] for record in updates.records]
        store.write_windows(opened, written_steps(given, log_keys, result, store))
        return result

    def _fold(
        self,
        batch: Batch,
        keys: RowKeys,
        open_window: Callable[[int], AnyRows],
        name: Namer,
    ) -> _Updates:
        windows, times = self._windows, self._store.times
        initializer, aggregator = self._initializer, self._aggregator
        stream_time, grace = times.get(self._time, -1), windows.grace_ms
        updates = _Updates()
        records, names, aggregates = updates.records, updates.names, updates.aggregates
        timestamps, old = updates.timestamps, updates.old
        opened: dict[int, _Window] = {}
        current: list[_Window] = []
        low = high = dropped = 0
        record = -1
        for by, key, value, at in zip(
            keys, batch.keys, batch.values, batch.timestamps, strict=True
        ):
            record += 1
            if at > stream_time:  # noqa: PLR1730  # a call takes longer
                stream_time = at
            if not low <= at < high:
                low, high = windows.span(at)
                current = [self._window(start, opened, open_window) for start in windows.starts(at)]
            for window in current:
                if window.end <= stream_time - grace:
                    dropped += 1
                    continue
                rows = window.rows
                before, timestamp = rows[by]
                if before is None:
                    before, timestamp = initializer(), at
                elif timestamp < at:
                    timestamp = at
                aggregate = aggregator(key, value, before)
                rows[by] = (aggregate, timestamp if aggregate is not None else at)
                known = window.names.get(by)
                if known is None:
                    known = window.names[by] = name(by, key, window.start, window.end)
                records.append(record)
                names.append(known)
                aggregates.append(aggregate)
                timestamps.append(timestamp)
                old.append(before)
        times[self._time] = stream_time
        self.context.dropped_records += dropped
        return updates

    def _window(
        self,
        start: int,
        opened: dict[int, _Window],
        open_window: Callable[[int], AnyRows],
    ) -> _Window:
        window = opened.get(start)
        if window is None:
            end = start + self._windows.size_ms
            window = opened[start] = _Window(start, end, open_window(start))
        return window

    def _result(self, batch: Batch, updates: _Updates, keys: Column) -> Batch:
        headers, ordinals = batch.headers, batch.ordinals
        return Batch(
            keys,
            Column(self._store.value_serde, values=updates.aggregates),
            updates.timestamps,
            [headers[record] for record in updates.records],
            [ordinals[record] for record in updates.records],
            updates.old if self._send_old else None,
        )

    def _process_final(self, batch: Batch) -> Batch:
        """Update the store up to a row that can close windows, give those out, and go on behind it."""
        closed = Batch([], [], [], [], [], [] if self._send_old else None)
        first = 0
        while first < len(batch):
            end = self._end_of_open(batch.timestamps, first)
            part = batch.part(first, end)
            self._process_updates(part)
            if self._interval.is_over(self.context.wall_clock_ms):
                self._close_windows(part, closed)
            first = end
        self.context.counts[self._time, FINAL_EMIT] += len(closed)
        return closed

    def _end_of_open(self, timestamps: list[int], first: int) -> int:
        """The end of the rows that can be processed together: the last of them is the first that can close a window."""
        if not self._interval.is_always_over:
            return len(timestamps) if first else 1  # the wall clock stands still during a run
        windows, times = self._windows, self._store.times
        if not isinstance(windows, TimeWindows):
            return len(timestamps)  # unlimited windows never close
        stream_time, emitted = times.get(self._time, -1), times.get(self._emitted, -1)
        start = max(0, ((emitted - windows.size_ms) // windows.advance_ms + 1) * windows.advance_ms)
        closing_time = start + windows.size_ms + windows.grace_ms
        for row in range(first, len(timestamps)):
            if timestamps[row] >= closing_time or stream_time >= closing_time:
                return row + 1
        return len(timestamps)

    def _close_windows(self, rows: Batch, closed: Batch) -> None:
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
            closed.headers.append(rows.headers[-1])
            closed.ordinals.append(rows.ordinals[-1])
            if closed.old_values is not None:
                closed.old_values.append(None)


def _windowed(_by: object, key: object, start: int, end: int) -> Name:
    return Windowed(key, start, min(end, MAX_TIMESTAMP))


def _windowed_as_bytes(by: bytes, key: object, start: int, end: int) -> Name:
    """The windowed key, its bytes, and those of its changelog record."""
    data = by + pack_time(start)
    return Windowed(key, start, min(end, MAX_TIMESTAMP)), data, data + NO_SEQUENCE
