"""Time-windowed aggregation: one row of the store per key and window.

Only records with a null key are dropped; null values reach the aggregator. A record updates every
window it falls in that is still open: window end > stream time - grace, judged after the record itself has
advanced the operator's stream time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from millstream.streams.kernel.aggregation.fold import fold_records
from millstream.streams.kernel.aggregation.stream import (
    bytes_of_keys,
    without_null_keys,
    written_steps,
)
from millstream.streams.kernel.aggregation.window_updates import (
    Updates,
    rows_at,
    windowed_keys,
)
from millstream.streams.kernel.columns.batch import Batch
from millstream.streams.kernel.columns.column import Column
from millstream.streams.kernel.context import TaskContext
from millstream.streams.kernel.emit_interval import FINAL_EMIT, EmitInterval
from millstream.streams.kernel.operator import RowByRow
from millstream.streams.serdes.windowed import MAX_TIMESTAMP, Windowed, time_windowed
from millstream.streams.state.rows.running import AnyRows, RowKeys, RunningRows, WriteThroughRows
from millstream.streams.state.rows.segmented import pack_time
from millstream.streams.state.window.rows import NO_SEQUENCE
from millstream.streams.state.window.timestamped import TimestampedWindowStore
from millstream.streams.topology import operators as ops
from millstream.streams.windows import TimeWindows

_Name = Any  # Any: what a caller wants to know of the rows that were updated
_Namer = Callable[[Any, int, int], _Name]  # Any: keys of any type, or their bytes
"""(what the row is found by, start, end) → its name; called once for each row of the batch."""


@dataclass(slots=True, eq=False)
class _Window:
    """A window that records of the batch fall in, and the names of its rows. Rows are found by keys, or their bytes."""

    start: int
    end: int
    rows: AnyRows
    names: dict[Any, Any] = field(default_factory=dict)  # Any: what rows are found by, and called


class WindowAggregateOperator(RowByRow):
    """KStreamWindowAggregate, emitting every update, or each window once when it closes."""

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
        batch = without_null_keys(self.context, batch)
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
        keys = bytes_of_keys(batch, store)
        opened: dict[int, RunningRows] = {}

        def open_window(start: int) -> RunningRows:
            rows = opened[start] = store.running_rows(start)
            return rows

        updates = self._fold(batch, keys, open_window, _as_bytes)
        data = [key for key, _ in updates.names]
        result = self._result(batch, updates, windowed_keys(self._key_serde, data, (keys, batch)))
        log_keys = [log_key for _, log_key in updates.names]
        given = rows_at(batch.timestamps, updates.records)
        rows = ((data, start, row) for start, rows in opened.items() for data, row in rows.items())
        store.write_windows(rows, written_steps(given, log_keys, result, store))
        return result

    def _fold(
        self, batch: Batch, keys: RowKeys, open_window: Callable[[int], AnyRows], name: _Namer
    ) -> Updates:
        """Fold records into the windows that are open when they come; `keys` are what rows are found by."""
        rows, windows, stream_time, dropped = self._placed(batch.timestamps, open_window)
        records = keys, batch.keys, batch.values
        ordinals, timestamps = batch.ordinals, batch.timestamps
        if dropped or len(rows) != len(batch):  # otherwise each record is in one window
            records = rows_at(keys, rows), rows_at(batch.keys, rows), rows_at(batch.values, rows)
            ordinals, timestamps = rows_at(ordinals, rows), rows_at(timestamps, rows)
        aggregates, newest, old = self.loop(
            ordinals,
            timestamps,
            fold_records,
            [window.rows for window in windows],
            records,
            self._initializer,
            self._aggregator,
        )
        self._store.times[self._time] = stream_time
        self.context.dropped_records += dropped
        return Updates(rows, _names(windows, records[0], name), aggregates, newest, old)

    def _placed(
        self, timestamps: list[int], open_window: Callable[[int], AnyRows]
    ) -> tuple[list[int], list[_Window], int, int]:
        """Returns the records and the windows that they update, as two columns; stream time afterwards; updates that came too late."""
        windows, stream_time = self._windows, self._store.times.get(self._time, -1)
        grace = windows.grace_ms
        rows: list[int] = []
        placed: list[_Window] = []
        opened: dict[int, _Window] = {}
        current: list[_Window] = []
        low = high = dropped = 0
        for row, at in enumerate(timestamps):
            if at > stream_time:  # noqa: PLR1730  # a call takes longer
                stream_time = at
            if not low <= at < high:
                low, high = windows.span(at)
                current = []
                for start in windows.starts(at):
                    if start not in opened:
                        end = start + windows.size_ms
                        opened[start] = _Window(start, end, open_window(start))
                    current.append(opened[start])
            for window in current:
                if window.end <= stream_time - grace:
                    dropped += 1
                else:
                    rows.append(row)
                    placed.append(window)
        return rows, placed, stream_time, dropped

    def _result(self, batch: Batch, updates: Updates, keys: Column) -> Batch:
        return updates.rows(batch, keys, self._store.value_serde, send_old=self._send_old)

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
        windows, store = self._windows, self._store
        size = windows.size_ms
        close_time = store.times[self._time] - self._windows.grace_ms
        emitted = store.times.get(self._emitted, -1)
        if close_time <= emitted:
            return
        first = max(0, emitted - size + 1) if emitted >= 0 else 0
        last = close_time - size
        # Kafka Streams does not look where no window has closed since, which is seen in what a cache keeps.
        if last < first or (emitted >= 0 and windows.starts(first - 1) == windows.starts(last)):
            return
        store.times[self._emitted] = close_time
        for window, (value, timestamp) in store.fetch_all(first, last):
            closed.keys.append(window)
            closed.values.append(value)
            closed.timestamps.append(timestamp)
            closed.headers.append(rows.headers[-1])
            closed.ordinals.append(rows.ordinals[-1])
            if closed.old_values is not None:
                closed.old_values.append(None)


def _names(windows: list[_Window], found_by: RowKeys, name: _Namer) -> list[_Name]:
    names = []
    for window, by in zip(windows, found_by, strict=True):
        known = window.names.get(by)
        if known is None:
            known = window.names[by] = name(by, window.start, window.end)
        names.append(known)
    return names


def _windowed(key: object, start: int, end: int) -> _Name:
    return Windowed(key, start, min(end, MAX_TIMESTAMP))


def _as_bytes(by: bytes, start: int, _end: int) -> _Name:
    """The bytes of the windowed key, and those of its changelog record."""
    data = by + pack_time(start)
    return data, data + NO_SEQUENCE
