"""Time-windowed aggregation: one row of the store per key and window.

Only records with a null key are dropped; null values reach the aggregator. A record updates every
window it falls in that is still open: window end > stream time - grace, judged after the record itself has
advanced the operator's stream time.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from millstream.streams.dropped_records import DropReason, Lateness
from millstream.streams.kernel.aggregation.column_counts import Run, tallied
from millstream.streams.kernel.aggregation.counting import add_to_rows, count_rows, counted
from millstream.streams.kernel.aggregation.fold import Folded, fold_records
from millstream.streams.kernel.aggregation.stream import (
    bytes_of_keys,
    keys_as_they_came,
    without_null_keys,
    written_steps,
    written_values,
)
from millstream.streams.kernel.aggregation.window_updates import (
    missing_final_time,
    rows_at,
    windowed_keys,
)
from millstream.streams.kernel.columns.arrow_bytes import ArrowBytes
from millstream.streams.kernel.columns.batch import NO_ROWS, Batch
from millstream.streams.kernel.columns.column import Column
from millstream.streams.kernel.context import NodeContext
from millstream.streams.kernel.operator import RowByRow
from millstream.streams.kernel.schedule import FINAL_EMIT, EmitInterval
from millstream.streams.serdes.windowed import MAX_TIMESTAMP, Windowed, time_windowed
from millstream.streams.state.rows.running import (
    AnyRows,
    RowKeys,
    RunningRows,
    WriteThroughRows,
    WrittenRows,
)
from millstream.streams.state.rows.segmented import pack_time
from millstream.streams.state.window.timestamped import TimestampedWindowStore
from millstream.streams.topology import operators as ops
from millstream.streams.topology.functions import add_one
from millstream.streams.windows import TimeWindows


@dataclass(slots=True, eq=False)
class _Placed:
    """The windows that records of a batch update."""

    stream_time: int
    """As it was before the batch, and then after it."""
    runs: list[tuple[int, int, list[int]]] = field(default_factory=list)
    """Records from the first to the end, and the starts of the open windows that they fall in."""
    late: list[tuple[int, int]] = field(default_factory=list)
    """Records from the first to the end that came too late for some of their windows."""
    late_updates: int = 0
    first_late: tuple[int, int, int] = (0, 0, 0)
    """The first record that came too late for one of its windows, the start of that, and the stream time then."""
    needed_ms: int = 0
    """The least grace that would have kept all of them."""

    def leave_out(self, first: int, end: int, closed: Sequence[int], size_ms: int) -> None:
        """Notes that these records come too late for the windows with these starts, the earliest first."""
        start, stream_time = closed[0], self.stream_time
        if not self.late:
            self.first_late = first, start, stream_time
        self.late.append((first, end))
        self.late_updates += len(closed) * (end - first)
        self.needed_ms = max(self.needed_ms, stream_time - start - size_ms + 1)

    def records(self, count: int) -> Sequence[int]:
        """Returns the record of each update; `count`: of the records in the batch."""
        placed = sum(end - first for first, end, starts in self.runs if len(starts) == 1)
        if placed == count:
            return range(count)
        return [
            row for first, end, starts in self.runs for row in range(first, end) for _ in starts
        ]

    def named_runs(self) -> list[Run]:
        """Returns the runs with what follows the bytes of keys in the names of windows."""
        return [(first, end, list(map(pack_time, starts))) for first, end, starts in self.runs]

    def names(self, keys: RowKeys) -> list[Any]:  # Any: bytes; None has no place here
        """Returns the bytes of the windowed key of each update; `keys`: the bytes of the keys of all records."""
        names: list[Any] = []  # Any: the same
        for first, end, starts in self.runs:
            if len(starts) == 1:
                tail = pack_time(starts[0])
                names += [key + tail for key in keys[first:end]]
            else:
                tails = [pack_time(start) for start in starts]
                names += [key + tail for key in keys[first:end] for tail in tails]
        return names


class WindowAggregateOperator(RowByRow):
    """KStreamWindowAggregate, emitting every update, or each window once when it closes."""

    def __init__(
        self, context: NodeContext, spec: ops.WindowAggregate, store: TimestampedWindowStore
    ) -> None:
        super().__init__(context)
        self._store = store
        self._windows = spec.windows
        self._initializer = spec.initializer
        self._aggregator = spec.aggregator
        self._counts = spec.aggregator is add_one
        self._emit_final = spec.emit_final
        if spec.emit_final:
            context.counts.by_node[context.node, FINAL_EMIT] = (
                0  # there before the first window closes
            )
        self._send_old = spec.send_old_values
        self._interval = EmitInterval(context.config.window_emit_interval_ms)
        self._time, self._emitted = context.node, f"{context.node} emitted"
        self._key_serde = time_windowed(store.key_serde, spec.windows.size_ms)

    def process(self, batch: Batch) -> Batch:
        batch = without_null_keys(self, batch)
        if self._emit_final:
            return self._process_final(batch)
        return self._process_updates(batch)

    def _process_updates(self, batch: Batch) -> Batch:
        store, windows = self._store, self._windows
        open_ms = windows.size_ms + windows.grace_ms
        stream_time = store.times.get(self._time, -1)
        is_together = (
            len(batch) > 1
            and store.takes_columns
            and store.keeps_open_windows(stream_time, open_ms)
        )
        placed = self._placed(batch.timestamps, stream_time)
        records = placed.records(len(batch))
        if is_together:
            return self._update_together(batch, placed, records)
        names: list[object] = [
            Windowed(key, start, min(start + windows.size_ms, MAX_TIMESTAMP))
            for first, end, starts in placed.runs
            for key in batch.keys[first:end]
            for start in starts
        ]
        through = WriteThroughRows(
            lambda name: store.row_at(name.key, name.start_ms),
            lambda name, value, at: store.put(name.key, value, name.start_ms, at),
        )
        folded = self._fold(batch, records, names, through)
        self._note(placed, batch)
        return self._result(batch, records, Column(self._key_serde, values=names), folded)

    def _update_together(self, batch: Batch, placed: _Placed, records: Sequence[int]) -> Batch:
        """Rows are read once a batch and written once: none of them can expire meanwhile."""
        store = self._store
        rows = store.running_rows()
        if store.cache is not None:  # from which the changes go on, if not as final results
            set_rows = self._fold_rows(batch, placed, records, rows)
            self._note(placed, batch)
            store.write_windows(rows, WrittenRows(set_rows, (), ()))
            return NO_ROWS
        keys: RowKeys = bytes_of_keys(batch, store)
        names = placed.names(keys)
        folded = self._fold(batch, records, names, rows)
        self._note(placed, batch)
        windowed = windowed_keys(self._key_serde, names, (keys, batch))
        result = self._result(batch, records, windowed, folded)
        given = rows_at(batch.timestamps, records)
        values = written_values(rows, result, store)
        store.write_windows(rows, written_steps(given, names, values, result))
        return result

    def _fold(self, batch: Batch, records: Sequence[int], names: RowKeys, rows: AnyRows) -> Folded:
        """Fold records into the windows that are open when they come; `names` are what rows are found by."""
        timestamps = rows_at(batch.timestamps, records)
        if self._counts and isinstance(rows, RunningRows):
            return counted(names, timestamps, rows, with_old=self._send_old)
        return self.loop(
            rows_at(batch.ordinals, records),
            timestamps,
            fold_records,
            rows,
            (names, rows_at(batch.keys, records), rows_at(batch.values, records)),
            self._initializer,
            self._aggregator,
        )

    def _fold_rows(
        self, batch: Batch, placed: _Placed, records: Sequence[int], rows: AnyRows
    ) -> RowKeys:
        """The same where only the rows are wanted, as all records leave them.

        Returns what the rows that were set are found by.
        """
        keys = keys_as_they_came(batch, self._store)
        if self._counts and isinstance(rows, RunningRows) and isinstance(keys, ArrowBytes):
            tally = tallied(keys, batch.timestamps, placed.named_runs())
            if tally is not None:
                add_to_rows(tally, rows)
                return list(tally.counts)
        names = placed.names(keys.rows() if isinstance(keys, ArrowBytes) else keys)
        if self._counts:
            count_rows(names, rows_at(batch.timestamps, records), rows)
        else:
            self._fold(batch, records, names, rows)
        return names

    def _placed(self, timestamps: list[int], stream_time: int) -> _Placed:
        """Returns which records update which windows.

        One that a record falls in is not closed by that record itself.
        """
        windows, placed = self._windows, _Placed(stream_time)
        size, grace, count = windows.size_ms, windows.grace_ms, len(timestamps)
        in_order = timestamps == sorted(timestamps)
        first = 0
        while first < count:
            low, high = windows.span(timestamps[first])
            starts = windows.starts(timestamps[first])
            if in_order:
                end = bisect_left(timestamps, high, first)
                newest = timestamps[end - 1]
            else:
                end = first + 1
                while end < count and low <= timestamps[end] < high:
                    end += 1
                newest = max(timestamps[first:end])
            still_open = [start for start in starts if start + size > placed.stream_time - grace]
            if len(still_open) < len(starts):
                placed.leave_out(first, end, starts[: len(starts) - len(still_open)], size)
            if still_open:
                placed.runs.append((first, end, still_open))
            placed.stream_time = max(placed.stream_time, newest)
            first = end
        return placed

    def _note(self, placed: _Placed, batch: Batch) -> None:
        self._store.times[self._time] = placed.stream_time
        if placed.late:
            self._drop_late(placed, batch)

    def _drop_late(self, placed: _Placed, batch: Batch) -> None:
        first, start, stream_time = placed.first_late
        end, grace = start + self._windows.size_ms, self._windows.grace_ms
        needed, updates = placed.needed_ms, placed.late_updates
        late = Lateness((start, end), end + grace, grace, needed, stream_time, updates)
        row = batch.ordinals[first], batch.timestamps[first]
        # Rows that were made of one record are one record.
        of_records = {each for first, end in placed.late for each in batch.ordinals[first:end]}
        reason, records = DropReason.LATE_FOR_WINDOW, len(of_records)
        self.context.drop(reason, row, records=records, late=late)

    def _result(self, batch: Batch, records: Sequence[int], keys: Column, folded: Folded) -> Batch:
        aggregates, newest, old = folded
        return Batch(
            keys,
            Column(self._store.value_serde, values=aggregates),
            newest,
            rows_at(batch.headers, records),
            rows_at(batch.ordinals, records),
            old if self._send_old else None,
        )

    def _process_final(self, batch: Batch) -> Batch:
        """Update the store up to a row that can close windows, give those out, and go on behind it."""
        closed = Batch([], [], [], [], [], [] if self._send_old else None)
        first = 0
        while first < len(batch):
            end = self._end_of_open(batch.timestamps, first)
            part = batch.part(first, end)
            self._process_updates(part)
            if self._interval.is_over(self.current.wall_clock_ms):
                self._close_windows(part, closed)
            first = end
        self.context.counts.by_node[self.node, FINAL_EMIT] += len(closed)
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
        for window, (value, timestamp) in store.fetch_all(first, last):
            if timestamp < 0:
                self.note_failure(rows.ordinals[-1])
                raise missing_final_time(window)
            closed.keys.append(window)
            closed.values.append(value)
            closed.timestamps.append(timestamp)
            closed.headers.append(rows.headers[-1])
            closed.ordinals.append(rows.ordinals[-1])
            if closed.old_values is not None:
                closed.old_values.append(None)
        store.times[self._emitted] = close_time  # not of what has failed: that is tried again
