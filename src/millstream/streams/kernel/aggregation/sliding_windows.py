"""Sliding-window aggregation: one window for every set of records that lie within the time difference.

A record has a left window that ends at it and a right window that starts just after it. Windows that contain
the record are updated, missing ones are created from what their neighbours hold. Both bounds are inclusive.
Records earlier than the time difference share one window that starts at 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from millstream.streams.dropped_records import DropReason, Lateness
from millstream.streams.kernel.aggregation.record_windows import Record, RecordWindowAggregate
from millstream.streams.kernel.aggregation.stream import (
    bytes_of_values,
    without_nulls,
    written_steps,
)
from millstream.streams.kernel.aggregation.window_updates import (
    rows_at,
    windowed_keys,
)
from millstream.streams.kernel.columns.batch import Batch
from millstream.streams.kernel.context import NodeContext
from millstream.streams.kernel.turns import RowsInTurn
from millstream.streams.serdes.windowed import Windowed, time_windowed
from millstream.streams.state.rows.running import NOTHING_WRITTEN, RowKeys
from millstream.streams.state.rows.segmented import pack_time
from millstream.streams.state.rows.timestamped import Row
from millstream.streams.state.window.running import RunningWindows, StoredWindows, WindowsOfKey
from millstream.streams.state.window.timestamped import TimestampedWindowStore
from millstream.streams.topology import operators as ops


@dataclass(slots=True, eq=False)
class _Key:
    """A key of the batch: its windows, and the bytes of the windowed keys of those that it has updated."""

    key: object
    data: bytes
    windows: WindowsOfKey
    names: dict[int, bytes] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class _Around:
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


class SlidingAggregateOperator(RecordWindowAggregate[TimestampedWindowStore, RunningWindows]):
    """KStreamSlidingWindowAggregate; null keys and null values are dropped."""

    def __init__(
        self, context: NodeContext, spec: ops.SlidingAggregate, store: TimestampedWindowStore
    ) -> None:
        super().__init__(context, spec, store)
        self._spec = spec
        self._difference = spec.windows.difference_ms
        self._key_serde = time_windowed(store.key_serde, self._difference)
        self._keys: dict[bytes, _Key] = {}
        """Those of the batch that have been met."""
        self._close_time = 0

    def process(self, batch: Batch) -> Batch | RowsInTurn:
        self._keys = {}
        return super().process(batch)

    def accepted(self, batch: Batch) -> Batch:
        return without_nulls(self, batch)

    def running(self, batch: Batch) -> RunningWindows:
        """Returns all windows that records of the batch may look at, unless they are too late to."""
        difference, grace = self._difference, self._spec.windows.grace_ms
        in_time = self._store.times.get(self._time, -1) - grace - difference
        first = max(min(batch.timestamps), in_time)
        low = max(0, first - 2 * difference)
        return RunningWindows(self._store, low, max(batch.timestamps) + 1)

    def rows(self, batch: Batch, keys: RowKeys) -> Batch:
        names = windowed_keys(self._key_serde, self._updates.names, (keys, batch))
        serde = self._store.value_serde
        return self._updates.rows(batch, names, serde, send_old=self._send_old)

    def write(self, running: RunningWindows, batch: Batch, rows: Batch | None) -> None:
        written = NOTHING_WRITTEN
        if rows is not None:
            given = rows_at(batch.timestamps, self._updates.records)
            values = bytes_of_values(rows, self._store)
            written = written_steps(given, self._updates.names, values, rows)
        self._store.write_windows(running.take_changed(), written)

    def fold_record(self, record: Record, running: RunningWindows | None, stream_time: int) -> bool:
        position, data, key, value, at = record
        self._close_time = stream_time - self._spec.windows.grace_ms
        if at + 1 + self._difference <= self._close_time:
            self._leave_out(position, max(0, at - self._difference))
            return False
        known = self._keys.get(data)
        if known is None:
            windows = StoredWindows(self._store, key) if running is None else running.of_key(data)
            known = self._keys[data] = _Key(key, data, windows)
        around = _Around(position, known, value, at)
        if at < self._difference:
            self._process_early(around)
            return False
        self._process(around)
        return True

    def _process(self, record: _Around) -> None:
        if not self._update_existing(record):
            return
        self._create_previous_right(record)
        if not record.left_exists:
            self._create_left(record)
        self._create_right(record)

    def _update_existing(self, record: _Around) -> bool:
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

    def _process_early(self, record: _Around) -> None:
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

    def _create_left(self, record: _Around) -> None:
        """The window that ends at the record; it holds earlier records if the previous one is within it."""
        start, previous = record.at - self._difference, record.previous
        known = record.left_aggregate
        if previous is not None and known is not None and start <= previous:
            self._update(record, start, (known[0], record.at))
        else:
            self._update(record, start, (self._spec.initializer(), record.at))

    def _create_previous_right(self, record: _Around) -> None:
        """The window just after the previous record, if this record is the first in it."""
        if record.previous is None:
            return
        start = record.previous + 1
        if start not in record.starts and start + self._difference >= record.at:
            self._update(record, start, (self._spec.initializer(), record.at))

    def _create_right(self, record: _Around) -> None:
        """The window just after the record, if later records are known: it holds what they hold."""
        known = record.right_aggregate
        if record.right_exists or known is None or known[1] <= record.at:
            return
        self._set(record, record.at + 1, known, None)

    def _update(self, record: _Around, start: int, row: Row) -> None:
        """Add the record to a window, unless that is closed."""
        if start + self._difference < self._close_time:
            self._leave_out(record.position, start)
            return
        before, newest = row
        at = record.at
        aggregate = self._spec.aggregator(record.key.key, record.value, before)
        if newest < at or before is None:
            newest = at
        self._set(record, start, (aggregate, newest), before)

    def _leave_out(self, position: int, start: int) -> None:
        """Counts an update of the window with this start as late.

        Of a record that is late for all of them, that of the window that ends with it.
        """
        grace, end = self._spec.windows.grace_ms, start + self._difference + 1
        stream_time = self._close_time + grace
        needed = stream_time - end + 1
        late = Lateness((start, end), end + grace, grace, needed, stream_time)
        self.leave_out(position, DropReason.LATE_FOR_WINDOW, late)

    def _set(self, record: _Around, start: int, row: Row, old: object) -> None:
        aggregate, timestamp = row
        key, updates = record.key, self._updates
        key.windows.set(start, row if aggregate is not None else (None, record.at))
        name = key.names.get(start)
        if name is None:
            name = key.names[start] = key.data + pack_time(start)
        updates.records.append(record.position)
        updates.names.append(name)
        updates.aggregates.append(aggregate)
        updates.timestamps.append(timestamp)
        updates.old.append(old)

    def closed_by(
        self, stream_time: int
    ) -> Iterator[tuple[Windowed[Any], Any, int]]:  # Any: of any type
        """Yields the closed windows, by their starts."""
        close_time, store = stream_time - self._spec.windows.grace_ms, self._store
        emitted = store.times.get(self._emitted, -1)
        if close_time <= emitted:
            return
        first, last = max(0, emitted - self._difference), close_time - self._difference - 1
        for window, row in list(store.fetch_all(first, last)) if first <= last else ():
            yield window, row[0], row[1]
        store.times[self._emitted] = close_time  # not of what has failed: that is tried again
