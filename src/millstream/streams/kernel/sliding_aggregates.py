"""Sliding-window aggregation: one window for every set of records that lie within the time difference.

A record has a left window that ends at it and a right window that starts just after it. Windows that contain
the record are updated, missing ones are created from what their neighbours hold. Both bounds are inclusive.
Records earlier than the time difference share one window that starts at 0 (S21).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from millstream.streams.kernel.batch import Batch
from millstream.streams.kernel.context import TaskContext
from millstream.streams.kernel.emit_interval import FINAL_EMIT, EmitInterval
from millstream.streams.kernel.operator import Operator
from millstream.streams.serdes.windowed import Windowed
from millstream.streams.state.timestamped_window import Row, TimestampedWindowStore
from millstream.streams.topology import operators as ops


@dataclass(slots=True)
class _Found:
    """What the store holds around a record."""

    starts: set[int] = field(default_factory=set)
    left_aggregate: Row | None = None
    right_aggregate: Row | None = None
    left_exists: bool = False
    right_exists: bool = False
    previous: int | None = None
    """Timestamp of the record before this one, where it matters."""


class SlidingAggregate(Operator):
    """KStreamSlidingWindowAggregate; null keys and null values are dropped (S19)."""

    multiplies = True

    def __init__(
        self, context: TaskContext, spec: ops.SlidingAggregate, store: TimestampedWindowStore
    ) -> None:
        super().__init__(context)
        self._store = store
        self._spec = spec
        self._difference = spec.windows.difference_ms
        self._interval = EmitInterval(context.config.window_emit_interval_ms)
        self._time, self._emitted = context.node, f"{context.node} emitted"
        self._batch = self._out = Batch([], [], [], [], [])
        self._row = 0
        self._close_time = 0

    def process(self, batch: Batch) -> Batch:
        self._batch = batch
        self._out = Batch([], [], [], [], [], [] if self._spec.send_old_values else None)
        store = self._store
        for row, at in enumerate(batch.timestamps):
            self._row = row
            if batch.keys[row] is None or batch.values[row] is None:
                self.context.dropped_records += 1
                continue
            stream_time = store.times[self._time] = max(store.times.get(self._time, -1), at)
            self._close_time = stream_time - self._spec.windows.grace_ms
            if at + 1 + self._difference <= self._close_time:
                self.context.dropped_records += 1
                continue
            if at < self._difference:
                self._process_early(at)  # which gives nothing out
                continue
            self._process(at)
            if self._spec.emit_final and self._interval.is_over(self.context.wall_clock_ms):
                self._close_windows()
        if self._spec.emit_final:
            self.context.counts[self._time, FINAL_EMIT] += len(self._out)
        return self._out

    def _process(self, at: int) -> None:
        found = _Found()
        if not self._update_existing(at, found):
            return
        self._create_previous_right(at, found)
        if not found.left_exists:
            self._create_left(at, found)
        self._create_right(at, found)

    def _update_existing(self, at: int, found: _Found) -> bool:
        """Update windows that contain the record, newest first. False: nothing else is to be done."""
        key, difference = self._batch.keys[self._row], self._difference
        first = max(0, at - 2 * difference)
        for start, row in self._store.backward_fetch(key, first, at + 1):
            found.starts.add(start)
            end = start + difference
            if start == at + 1:
                found.right_exists = True
            elif end > at:
                found.right_aggregate = found.right_aggregate or row
                self._update(start, row)
            elif end == at:
                found.left_exists = True
                self._update(start, row)
                if row[1] >= at:
                    return False
                found.previous = row[1]
            else:
                found.left_aggregate, found.previous = row, row[1]
                break
        return True

    def _process_early(self, at: int) -> None:
        found = _Found()
        combined: Row | None = None
        for start, row in self._store.fetch(self._batch.keys[self._row], 0, at + 1):
            found.starts.add(start)
            if start == 0:
                combined = row
                if row[1] < at:
                    found.previous = row[1]
            elif start <= at:
                found.right_aggregate = row
                self._update(start, row)
            else:
                found.right_exists = True
        if found.right_aggregate is None and combined is not None and combined[1] > at:
            found.right_aggregate = combined
        self._create_right(at, found)
        if combined is not None:
            self._create_previous_right(at, found)
        self._update(0, combined or (self._spec.initializer(), at))

    def _create_left(self, at: int, found: _Found) -> None:
        """The window that ends at the record; it holds earlier records if the previous one is within it."""
        previous, aggregate = found.previous, found.left_aggregate
        if previous is not None and aggregate is not None and at - self._difference <= previous:
            self._update(at - self._difference, (aggregate[0], at))
        else:
            self._update(at - self._difference, (self._spec.initializer(), at))

    def _create_previous_right(self, at: int, found: _Found) -> None:
        """The window just after the previous record, if this record is the first in it."""
        if found.previous is None:
            return
        start = found.previous + 1
        if start not in found.starts and start + self._difference >= at:
            self._update(start, (self._spec.initializer(), at))

    def _create_right(self, at: int, found: _Found) -> None:
        """The window just after the record, if later records are known: it holds what they hold."""
        aggregate = found.right_aggregate
        if found.right_exists or aggregate is None or aggregate[1] <= at:
            return
        key = self._batch.keys[self._row]
        self._store.put(key, aggregate[0], at + 1, aggregate[1])
        self._forward(at + 1, None, aggregate)

    def _update(self, start: int, row: Row) -> None:
        """Add the record to a window, unless that is closed."""
        if start + self._difference < self._close_time:
            self.context.dropped_records += 1
            return
        batch, number = self._batch, self._row
        key, at = batch.keys[number], batch.timestamps[number]
        before, known = row
        aggregate = self._spec.aggregator(key, batch.values[number], before)
        timestamp = at if before is None else max(at, known)
        self._store.put(key, aggregate, start, timestamp if aggregate is not None else at)
        self._forward(start, before, (aggregate, timestamp))

    def _forward(self, start: int, old: object, row: Row) -> None:
        if not self._spec.emit_final:
            key = self._batch.keys[self._row]
            self._append(Windowed(key, start, start + self._difference), old, row)

    def _append(self, window: Windowed[object], old: object, row: Row) -> None:
        batch, out = self._batch, self._out
        out.keys.append(window)
        out.values.append(row[0])
        out.timestamps.append(row[1])
        out.headers.append(batch.headers[self._row])
        out.ordinals.append(batch.ordinals[self._row])
        if out.old_values is not None:
            out.old_values.append(old)

    def _close_windows(self) -> None:
        """Give out the windows that this record has closed (S23)."""
        close_time, emitted = self._close_time, self._store.times.get(self._emitted, -1)
        if close_time <= emitted:
            return
        self._store.times[self._emitted] = close_time
        first, last = max(0, emitted - self._difference), close_time - self._difference - 1
        if last < first:
            return
        for window, row in list(self._store.fetch_all(first, last)):
            self._append(window, None, row)
