"""Stream-stream joins: each side keeps its records in a window store and reads the other's.

A record of a left or outer side that finds no partner waits in the store of unmatched records, unless its
window is over already. Waiting records are given out when a record advances stream time, or equals it.
"""

from __future__ import annotations

from collections.abc import Iterator

from millstream.streams.dropped_records import DropReason
from millstream.streams.kernel.columns.batch import Batch
from millstream.streams.kernel.context import NodeContext
from millstream.streams.kernel.operator import Operator, RowByRow
from millstream.streams.serdes.windowed import MAX_TIMESTAMP
from millstream.streams.state.buffers.unmatched import Unmatched, UnmatchedStore
from millstream.streams.state.window.plain import PlainWindowStore
from millstream.streams.topology import operators as ops


class JoinWindowOperator(Operator):
    """KStreamJoinWindow: keeps a side's records; null keys pass without being kept."""

    def __init__(
        self, context: NodeContext, _spec: ops.JoinWindow, store: PlainWindowStore
    ) -> None:
        super().__init__(context)
        self._store = store

    def process(self, batch: Batch) -> Batch:
        record = self.current.record
        for key, value, at, headers, ordinal in zip(
            batch.keys,
            batch.values,
            batch.timestamps,
            batch.headers,
            batch.ordinals,
            strict=True,
        ):
            if key is not None:
                record.timestamp, record.headers, record.ordinal = at, headers, ordinal
                self._store.put(key, value, at)
        return batch


class StreamJoinOperator(RowByRow):
    """KStreamKStreamJoin, one side."""

    def __init__(
        self,
        context: NodeContext,
        spec: ops.StreamJoin,
        other: PlainWindowStore,
        unmatched: UnmatchedStore | None,
    ) -> None:
        super().__init__(context)
        self._spec = spec
        self._other = other
        self._unmatched = unmatched
        self._no_times: dict[str, int] = {}  # an inner join has nothing to remember
        self._interval = context.emit_interval(spec.tracker)
        self._time, self._oldest = f"{spec.tracker} time", f"{spec.tracker} oldest unmatched"

    def process(self, batch: Batch) -> Batch:
        out = Batch([], [], [], [], [])
        self.loop(batch.ordinals, batch.timestamps, self._join_all, batch, out)
        return out

    def _join_all(self, timestamps: Iterator[int], batch: Batch, out: Batch) -> None:
        for row, _ in enumerate(timestamps):
            self._join(batch, row, out)

    def _join(self, batch: Batch, row: int, out: Batch) -> None:
        spec = self._spec
        key, value, at = batch.keys[row], batch.values[row], batch.timestamps[row]
        times = self._no_times if self._unmatched is None else self._unmatched.times
        stream_time = times[self._time] = max(times.get(self._time, -1), at)
        if spec.outer and key is None and value is not None:
            self._append(batch, row, out, (key, at, value, None))
            return
        if key is None or value is None:
            row_at = batch.ordinals[row], at
            self.context.drop(DropReason.NULL_KEY_OR_VALUE, row_at)
            return
        if at == stream_time and self._unmatched is not None:
            self._give_out(batch, row, out)
        first, last = max(0, at - spec.before_ms), max(0, at + spec.after_ms)
        found = self._other.rows_of_key(key, first, last)
        record = self.current.record
        record.timestamp, record.headers = at, batch.headers[row]
        for other_at, other in found:
            if self._unmatched is not None:
                self._unmatched.remove_known(Unmatched(other_at, not spec.is_left, key))
            self._append(batch, row, out, (key, max(at, other_at), value, other))
        if not found and spec.outer:
            if self._unmatched is None or last < stream_time:
                self._append(batch, row, out, (key, at, value, None))
            else:
                times[self._oldest] = min(times.get(self._oldest, MAX_TIMESTAMP), at)
                self._unmatched.add(Unmatched(at, spec.is_left, key), value)

    def _give_out(self, batch: Batch, row: int, out: Batch) -> None:
        """Unmatched records whose windows are over, in the order of time, side and key."""
        spec, store = self._spec, self._unmatched
        assert store is not None, "only joins that keep unmatched records give them out"
        times = store.times
        stream_time = times[self._time]
        if not self._must_look(times.get(self._oldest), stream_time):
            return
        record = self.current.record
        record.timestamp, record.headers = batch.timestamps[row], batch.headers[row]
        times[self._oldest] = MAX_TIMESTAMP
        open_sides: set[bool] = set()
        given: dict[Unmatched, None] = {}
        for at, value in list(store.scan()):
            times[self._oldest] = at.timestamp
            if len(open_sides) == 2:
                break
            wait = spec.left_wait_ms if at.is_left else spec.right_wait_ms
            if at.timestamp + wait + spec.grace_ms >= stream_time:
                open_sides.add(at.is_left)
                continue
            self._append_unmatched(batch, row, out, (at, value))
            given[at] = None
        for at in given:
            store.remove(at)

    def _must_look(self, oldest: int | None, stream_time: int) -> bool:
        """Whether a window may be over. `oldest` is None in a new store, and in one that was restored.

        Where nothing waits, Kafka Streams adds the wait to the largest long: a sum that overflows has it look in vain,
        which begins an interval too. Without a wait, or where windows end before their record, it does not overflow.
        """
        wait = self._spec.after_ms + self._spec.grace_ms
        if oldest is None or oldest == MAX_TIMESTAMP:
            is_early = wait <= 0
        else:
            is_early = oldest + wait >= stream_time
        if is_early:
            return False
        return self._interval.is_over(self.current.wall_clock_ms) and oldest != MAX_TIMESTAMP

    def _append_unmatched(
        self, batch: Batch, row: int, out: Batch, unmatched: tuple[Unmatched, object]
    ) -> None:
        at, value = unmatched
        sides = (value, None) if at.is_left == self._spec.is_left else (None, value)
        self._append(batch, row, out, (at.key, at.timestamp, *sides))

    def _append(
        self, batch: Batch, row: int, out: Batch, joined: tuple[object, int, object, object]
    ) -> None:
        """One result of (key, timestamp, this side's value, the other side's value)."""
        key, timestamp, mine, other = joined
        sides = (mine, other) if self._spec.is_left else (other, mine)
        joiner = self._spec.joiner
        value = joiner(key, *sides) if self._spec.with_key else joiner(*sides)
        out.keys.append(key)
        out.values.append(value)
        out.timestamps.append(timestamp)
        out.headers.append(batch.headers[row])
        out.ordinals.append(batch.ordinals[row])
