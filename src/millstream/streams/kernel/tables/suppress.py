"""KTable.suppress: changes wait in a buffer until their window closes, a time limit passes, or room is needed.

Only stream time counts, so nothing is given out without new records. A change goes on with the timestamp and
headers it came with.
"""

from __future__ import annotations

from typing import Final

from millstream.streams.errors import StreamsError
from millstream.streams.kernel.columns.batch import Batch
from millstream.streams.kernel.context import NodeContext
from millstream.streams.kernel.operator import Operator
from millstream.streams.kernel.turns import RowsInTurn, Turn
from millstream.streams.serdes.windowed import Windowed
from millstream.streams.state.buffers.suppression import SuppressionBuffer
from millstream.streams.topology import operators as ops

_EMIT: Final = "suppression-emit"
"""What the metric of rows given out is called."""


class SuppressOperator(Operator):
    """KTableSuppressProcessor."""

    def __init__(self, context: NodeContext, spec: ops.Suppress, store: SuppressionBuffer) -> None:
        super().__init__(context)
        self._store = store
        self._spec = spec
        self._time = context.node
        context.counts.by_node[context.node, _EMIT] = 0  # there before the first row

    def process(self, batch: Batch) -> RowsInTurn:
        store, spec = self._store, self._spec
        old_values = batch.old_values or [None] * len(batch)
        out = RowsInTurn(Batch([], [], [], [], [], [] if spec.send_old_values else None), [])
        for row, key in enumerate(batch.keys):
            at = batch.timestamps[row]
            stream_time = store.times[self._time] = max(store.times.get(self._time, -1), at)
            context = self.current.record_context(batch.ordinals[row], at, batch.headers[row])
            time = at
            if spec.until_window_closes:
                assert isinstance(key, Windowed), "the DSL found a window above"
                time = key.end_ms
            store.put(time, key, (batch.values[row], old_values[row]), context)
            self._give_out(stream_time, batch.ordinals[row], out)
        self.context.counts.by_node[self.node, _EMIT] += len(out.turns)
        return out

    def _give_out(self, stream_time: int, ordinal: int, out: RowsInTurn) -> None:
        store, spec = self._store, self._spec
        while (time := store.oldest_time()) is not None and time <= stream_time - spec.wait_ms:
            self._emit(ordinal, out)
        while self._is_full():
            if not spec.emit_early:
                raise StreamsError(
                    f"{self._time} buffers {len(store)} rows of {store.bytes_buffered} bytes, more than it may: "
                    "give it more room, or let it emit early"
                )
            self._emit(ordinal, out)

    def _is_full(self) -> bool:
        spec, store = self._spec, self._store
        too_many = spec.max_records is not None and len(store) > spec.max_records
        return too_many or (spec.max_bytes is not None and store.bytes_buffered > spec.max_bytes)

    def _emit(self, ordinal: int, out: RowsInTurn) -> None:
        leaving = self._store.evict()
        if leaving.new is None and self._spec.until_window_closes:
            leaving.forget()
            return  # the window has not been seen below
        out.turns.append(Turn(leaving.context, after=leaving.forget))
        rows = out.rows
        rows.keys.append(leaving.key)
        rows.values.append(leaving.new)
        rows.timestamps.append(leaving.context.timestamp)
        rows.headers.append(leaving.context.headers)
        rows.ordinals.append(ordinal)
        if rows.old_values is not None:
            rows.old_values.append(leaving.old)
