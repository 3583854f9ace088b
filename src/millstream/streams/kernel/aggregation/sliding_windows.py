"""Sliding-window aggregation: one window for every set of records that lie within the time difference.

A record has a left window that ends at it and a right window that starts just after it. Windows that contain
the record are updated, missing ones are created from what their neighbours hold. Both bounds are inclusive.
Records earlier than the time difference share one window that starts at 0 (S21).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from millstream.streams.kernel.aggregation.stream import bytes_of_keys, without_nulls, written_steps
from millstream.streams.kernel.aggregation.window_updates import (
    Updates,
    windowed_keys,
)
from millstream.streams.kernel.columns.batch import Batch
from millstream.streams.kernel.context import TaskContext
from millstream.streams.kernel.emit_interval import FINAL_EMIT, EmitInterval
from millstream.streams.kernel.operator import Operator
from millstream.streams.serdes.windowed import time_windowed
from millstream.streams.state.rows.running import NOTHING_WRITTEN, RowKeys
from millstream.streams.state.rows.segmented import pack_time
from millstream.streams.state.rows.timestamped import Row
from millstream.streams.state.window.rows import NO_SEQUENCE
from millstream.streams.state.window.running import RunningWindows, StoredWindows, WindowsOfKey
from millstream.streams.state.window.timestamped import TimestampedWindowStore
from millstream.streams.topology import operators as ops


@dataclass(slots=True, eq=False)
class _Key:
    """A key of the batch: its windows, and what those that it has updated are called in topics and in the changelog."""

    key: object
    data: bytes
    windows: WindowsOfKey
    names: dict[int, tuple[bytes, bytes]] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class _Record:
    """A record of the batch, and what was found around it."""

    position: int
    key: _Key
    value: object
    at: int
    starts: list[int] = field(default_factory=list)
    left_aggregate: Row | None = None
    right_aggregate: Row | None = None
    left_exists: bool = False
    right_exists: bool = False
    previous: int | None = None
    """Timestamp of the record before this one, where it matters."""


class SlidingAggregate(Operator):
    """KStreamSlidingWindowAggregate; null keys and null values are dropped (S19)."""

    def __init__(
        self, context: TaskContext, spec: ops.SlidingAggregate, store: TimestampedWindowStore
    ) -> None:
        super().__init__(context)
        self._store = store
        self._spec = spec
        self._difference = spec.windows.difference_ms
        self._key_serde = time_windowed(store.key_serde, self._difference)
        self._interval = EmitInterval(context.config.window_emit_interval_ms)
        self._time, self._emitted = context.node, f"{context.node} emitted"
        self._updates = Updates()
        self._close_time = 0

    def process(self, batch: Batch) -> Batch:
        batch = without_nulls(self.context, batch)
        store, keys = self._store, bytes_of_keys(batch, self._store)
        together = len(batch) > 1 and store.takes_columns and store.cache is None
        running = self._running(batch) if together else None
        closed = self._fold(batch, keys, running)
        updates = self._updates
        data = [key for key, _ in updates.names]
        rows = updates.rows(
            batch,
            windowed_keys(self._key_serde, data, (keys, batch)),
            store.value_serde,
            send_old=self._spec.send_old_values,
        )
        if running is not None:
            given = [batch.timestamps[record] for record in updates.records]
            log_keys = [log_key for _, log_key in updates.names]
            steps = written_steps(given, log_keys, rows, store)
            store.write_windows(running.take_changed(), steps)
        if not self._spec.emit_final:
            return rows
        self.context.counts[self._time, FINAL_EMIT] += len(closed)
        return closed

    def _running(self, batch: Batch) -> RunningWindows:
        """All windows that records of the batch may look at, unless they are too late to."""
        difference, grace = self._difference, self._spec.windows.grace_ms
        in_time = self._store.times.get(self._time, -1) - grace - difference
        first = max(min(batch.timestamps), in_time)
        low = max(0, first - 2 * difference)
        return RunningWindows(self._store, low, max(batch.timestamps) + 1)

    def _fold(self, batch: Batch, keys: RowKeys, running: RunningWindows | None) -> Batch:
        """Update windows, in the store where none are running. Gives out what was closed on the way."""
        closed = Batch([], [], [], [], [], [] if self._spec.send_old_values else None)
        self._updates = Updates()
        store, grace = self._store, self._spec.windows.grace_ms
        times, stream_time = store.times, store.times.get(self._time, -1)
        known: dict[bytes, _Key] = {}
        columns = keys, batch.keys, batch.values, batch.timestamps
        position = 0
        try:
            for position, (data, key, value, at) in enumerate(zip(*columns, strict=True)):
                if at > stream_time:
                    stream_time = times[self._time] = at
                self._close_time = stream_time - grace
                if at + 1 + self._difference <= self._close_time:
                    self.context.dropped_records += 1
                    continue
                if data not in known:
                    windows = StoredWindows(store, key) if running is None else running.of_key(data)
                    known[data] = _Key(key, data, windows)
                record = _Record(position, known[data], value, at)
                if at < self._difference:
                    self._process_early(record)  # which gives nothing out
                    continue
                self._process(record)
                if self._spec.emit_final and self._interval.is_over(self.context.wall_clock_ms):
                    if running is not None:
                        store.write_windows(running.take_changed(), NOTHING_WRITTEN)
                    self._close_windows(batch, position, closed)
        except Exception:
            self.context.failed_ordinal = batch.ordinals[position]
            raise
        return closed

    def _process(self, record: _Record) -> None:
        if not self._update_existing(record):
            return
        self._create_previous_right(record)
        if not record.left_exists:
            self._create_left(record)
        self._create_right(record)

    def _update_existing(self, record: _Record) -> bool:
        """Update windows that contain the record, newest first. False: nothing else is to be done."""
        at, difference = record.at, self._difference
        for start, row in record.key.windows.latest_first(max(0, at - 2 * difference), at + 1):
            record.starts.append(start)
            end = start + difference
            if start == at + 1:
                record.right_exists = True
            elif end > at:
                record.right_aggregate = record.right_aggregate or row
                self._update(record, start, row)
            elif end == at:
                record.left_exists = True
                self._update(record, start, row)
                if row[1] >= at:
                    return False
                record.previous = row[1]
            else:
                record.left_aggregate, record.previous = row, row[1]
                break
        return True

    def _process_early(self, record: _Record) -> None:
        at = record.at
        combined: Row | None = None
        for start, row in record.key.windows.earliest_first(0, at + 1):
            record.starts.append(start)
            if start == 0:
                combined = row
                if row[1] < at:
                    record.previous = row[1]
            elif start <= at:
                record.right_aggregate = row
                self._update(record, start, row)
            else:
                record.right_exists = True
        if record.right_aggregate is None and combined is not None and combined[1] > at:
            record.right_aggregate = combined
        self._create_right(record)
        if combined is not None:
            self._create_previous_right(record)
        self._update(record, 0, combined or (self._spec.initializer(), at))

    def _create_left(self, record: _Record) -> None:
        """The window that ends at the record; it holds earlier records if the previous one is within it."""
        start, previous = record.at - self._difference, record.previous
        known = record.left_aggregate
        if previous is not None and known is not None and start <= previous:
            self._update(record, start, (known[0], record.at))
        else:
            self._update(record, start, (self._spec.initializer(), record.at))

    def _create_previous_right(self, record: _Record) -> None:
        """The window just after the previous record, if this record is the first in it."""
        if record.previous is None:
            return
        start = record.previous + 1
        if start not in record.starts and start + self._difference >= record.at:
            self._update(record, start, (self._spec.initializer(), record.at))

    def _create_right(self, record: _Record) -> None:
        """The window just after the record, if later records are known: it holds what they hold."""
        known = record.right_aggregate
        if record.right_exists or known is None or known[1] <= record.at:
            return
        self._set(record, record.at + 1, known, None)

    def _update(self, record: _Record, start: int, row: Row) -> None:
        """Add the record to a window, unless that is closed."""
        if start + self._difference < self._close_time:
            self.context.dropped_records += 1
            return
        before, newest = row
        at = record.at
        aggregate = self._spec.aggregator(record.key.key, record.value, before)
        if newest < at or before is None:
            newest = at
        self._set(record, start, (aggregate, newest), before)

    def _set(self, record: _Record, start: int, row: Row, old: object) -> None:
        aggregate, timestamp = row
        key, updates = record.key, self._updates
        key.windows.set(start, row if aggregate is not None else (None, record.at))  # S20
        name = key.names.get(start)
        if name is None:
            data = key.data + pack_time(start)
            name = key.names[start] = data, data + NO_SEQUENCE
        updates.records.append(record.position)
        updates.names.append(name)
        updates.aggregates.append(aggregate)
        updates.timestamps.append(timestamp)
        updates.old.append(old)

    def _close_windows(self, batch: Batch, position: int, closed: Batch) -> None:
        """Give out the windows that this record has closed (S23)."""
        close_time, emitted = self._close_time, self._store.times.get(self._emitted, -1)
        if close_time <= emitted:
            return
        self._store.times[self._emitted] = close_time
        first, last = max(0, emitted - self._difference), close_time - self._difference - 1
        if last < first:
            return
        for window, row in list(self._store.fetch_all(first, last)):
            closed.keys.append(window)
            closed.values.append(row[0])
            closed.timestamps.append(row[1])
            closed.headers.append(batch.headers[position])
            closed.ordinals.append(batch.ordinals[position])
            if closed.old_values is not None:
                closed.old_values.append(None)
