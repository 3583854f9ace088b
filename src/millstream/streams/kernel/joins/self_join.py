"""A stream joined with itself from one store: a record meets those before it, then itself, then is kept."""

from __future__ import annotations

from collections.abc import Iterator

from millstream.streams.dropped_records import DropReason
from millstream.streams.kernel.columns.batch import Batch
from millstream.streams.kernel.context import NodeContext
from millstream.streams.kernel.joins.stream_stream import JoinWindowOperator
from millstream.streams.kernel.operator import RowByRow
from millstream.streams.state.window.plain import PlainWindowStore
from millstream.streams.topology import operators as ops

_STREAM_TIME = "join time"


class SelfJoinOperator(RowByRow):
    """KStreamKStreamSelfJoin: gives what two stores would give, in the same order.

    A record that came later than the store keeps records, less 1 ms, does not meet itself (measured).
    """

    def __init__(self, context: NodeContext, spec: ops.SelfJoin, store: PlainWindowStore) -> None:
        super().__init__(context)
        self._spec = spec
        self._store = store
        assert store.spec.retention_ms is not None, "a window store has a retention"
        self._meets_itself_ms = store.spec.retention_ms - 1
        self._keep = JoinWindowOperator(context, ops.JoinWindow(spec.store), store)

    def process(self, batch: Batch) -> Batch:
        out = Batch([], [], [], [], [])
        self.loop(batch.ordinals, batch.timestamps, self._join_all, batch, out)
        return out

    def _join_all(self, timestamps: Iterator[int], batch: Batch, out: Batch) -> None:
        for row, _ in enumerate(timestamps):
            self._join(batch, row, out)
            self._keep.process(batch.take((row,)))

    def _join(self, batch: Batch, row: int, out: Batch) -> None:
        spec = self._spec
        key, value, at = batch.keys[row], batch.values[row], batch.timestamps[row]
        if key is None or value is None:
            row_at = batch.ordinals[row], at
            self.context.drop(DropReason.NULL_KEY_OR_VALUE, row_at)
            return
        times = self._store.times
        stream_time = times[_STREAM_TIME] = max(times.get(_STREAM_TIME, -1), at)
        met_itself = stream_time - at >= self._meets_itself_ms
        for other_at, other in self._kept(key, at - spec.before_ms, at + spec.after_ms):
            self._append(batch, row, out, (value, other, max(at, other_at)))
        for other_at, other in self._kept(key, at - spec.after_ms, at + spec.before_ms):
            if other_at > at and not met_itself:  # results go on in the order of time
                met_itself = True
                self._append(batch, row, out, (value, value, at))
            self._append(batch, row, out, (other, value, max(at, other_at)))
        if not met_itself:
            self._append(batch, row, out, (value, value, at))

    def _kept(self, key: object, first: int, last: int) -> list[tuple[int, object]]:
        return self._store.rows_of_key(key, max(0, first), max(0, last))

    def _append(
        self, batch: Batch, row: int, out: Batch, joined: tuple[object, object, int]
    ) -> None:
        """One result of (left value, right value, timestamp)."""
        left, right, timestamp = joined
        key, joiner = batch.keys[row], self._spec.joiner
        out.keys.append(key)
        out.values.append(joiner(key, left, right) if self._spec.with_key else joiner(left, right))
        out.timestamps.append(timestamp)
        out.headers.append(batch.headers[row])
        out.ordinals.append(batch.ordinals[row])
