"""Aggregation in windows that records make, sessions and sliding windows: what a record updates
depends on those around it.

Where a store takes whole columns, what lies around the records of a batch is read once for each key and written once,
when the batch is through; otherwise every access goes to the store.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator
from typing import Any, Generic, TypeVar

from millstream.streams.dropped_records import DropReason, Lateness
from millstream.streams.kernel.aggregation.stream import bytes_of_keys
from millstream.streams.kernel.aggregation.window_updates import Updates, missing_final_time
from millstream.streams.kernel.columns.batch import NO_ROWS, Batch
from millstream.streams.kernel.context import NodeContext
from millstream.streams.kernel.operator import RowByRow
from millstream.streams.kernel.schedule import FINAL_EMIT, EmitInterval
from millstream.streams.kernel.turns import RowsInTurn
from millstream.streams.serdes.windowed import Windowed
from millstream.streams.state.rows.running import RowKeys
from millstream.streams.state.session.store import SessionStore
from millstream.streams.state.window.timestamped import TimestampedWindowStore
from millstream.streams.topology import operators as ops

StoreT = TypeVar("StoreT", SessionStore, TimestampedWindowStore)
RunningT = TypeVar("RunningT")


Record = tuple[int, bytes, object, object, int]
"""Where in the batch a record stands, the bytes of its key, key, value, timestamp."""


class RecordWindowAggregate(RowByRow, Generic[StoreT, RunningT]):
    """Base of both kinds: goes through a batch, keeps stream time, and gives out windows that are closed on the way.

    `RunningT`: the windows that records of a batch can touch, while the batch is folded into them.
    """

    def __init__(
        self,
        context: NodeContext,
        spec: ops.SlidingAggregate | ops.SessionAggregate,
        store: StoreT,
    ) -> None:
        super().__init__(context)
        self._store: StoreT = store
        self._emit_final = spec.emit_final
        if spec.emit_final:
            context.counts.by_node[context.node, FINAL_EMIT] = (
                0  # there before the first window closes
            )
        self._send_old = spec.send_old_values
        self._interval = EmitInterval(context.config.window_emit_interval_ms)
        self._time, self._emitted = context.node, f"{context.node} emitted"
        self._updates = Updates()
        self._batch = NO_ROWS

    def leave_out(self, position: int, reason: DropReason, late: Lateness) -> None:
        """Counts a record of the batch, or an update that it should have made, as dropped."""
        row = self._batch.ordinals[position], self._batch.timestamps[position]
        self.context.drop(reason, row, late=late)

    @abstractmethod
    def accepted(self, batch: Batch, /) -> Batch:
        """Returns the records that are aggregated."""

    @abstractmethod
    def running(self, batch: Batch, /) -> RunningT:
        """Returns all windows that records of the batch can touch."""

    @abstractmethod
    def fold_record(self, record: Record, running: RunningT | None, stream_time: int, /) -> bool:
        """Update the windows around a record, in the store where none are running; False: it closes no window."""

    @abstractmethod
    def rows(self, batch: Batch, keys: RowKeys, /) -> Batch:
        """Returns the updates as rows of the batch's records."""

    @abstractmethod
    def write(self, running: RunningT, batch: Batch, rows: Batch | None, /) -> None:
        """Write what was changed; `rows` are what goes to the changelog, or None while more updates will come."""

    @abstractmethod
    def closed_by(
        self, stream_time: int, /
    ) -> Iterable[tuple[Windowed[Any], Any, int]]:  # Any: of any type
        """Returns (window, aggregate, timestamp) of what has been closed since this was last asked."""

    def process(self, batch: Batch) -> Batch | RowsInTurn:
        batch, store = self.accepted(batch), self._store
        self._batch = batch
        keys = bytes_of_keys(batch, store)
        is_running = store.takes_columns and store.keeps_decoded and store.cache is None
        together = len(batch) > 1 and is_running
        running = self.running(batch) if together else None
        closed = Batch([], [], [], [], [], [] if self._send_old else None)
        self._updates = Updates()
        self.loop(batch.ordinals, batch.timestamps, self._fold, batch, keys, running, closed)
        rows = self.rows(batch, keys)
        if running is not None:
            self.write(running, batch, rows)
        if not self._emit_final:
            return rows
        self.context.counts.by_node[self.node, FINAL_EMIT] += len(closed)
        return closed

    def _fold(
        self,
        timestamps: Iterator[int],
        batch: Batch,
        keys: RowKeys,
        running: RunningT | None,
        closed: Batch,
    ) -> None:
        """Update windows record by record; what is closed on the way is given out."""
        times, stream_time = self._store.times, self._store.times.get(self._time, -1)
        fold_record, emit_final = self.fold_record, self._emit_final
        records = zip(keys, batch.keys, batch.values, timestamps, strict=True)
        for position, (data, key, value, at) in enumerate(records):
            if at > stream_time:
                stream_time = times[self._time] = at
            may_close = fold_record((position, data, key, value, at), running, stream_time)
            if emit_final and may_close and self._interval.is_over(self.current.wall_clock_ms):
                if running is not None:
                    self.write(running, batch, None)
                for window, aggregate, timestamp in self.closed_by(stream_time):
                    if timestamp < 0:
                        raise missing_final_time(window)
                    closed.keys.append(window)
                    closed.values.append(aggregate)
                    closed.timestamps.append(timestamp)
                    closed.headers.append(batch.headers[position])
                    closed.ordinals.append(batch.ordinals[position])
                    if closed.old_values is not None:
                        closed.old_values.append(None)
