"""Session aggregation (S22): a record joins all sessions it touches into one.

Lateness is judged after merging, so a late record that bridges to a live session counts. Every absorbed
session is removed and forwarded as a tombstone at its end, before the merged result. Updates carry no headers, as in Kafka Streams.
"""

from __future__ import annotations

from functools import partial

from millstream.streams.kernel.aggregation.stream import (
    bytes_of_keys,
    bytes_of_values,
    without_null_keys,
)
from millstream.streams.kernel.aggregation.window_updates import Updates, windowed_keys
from millstream.streams.kernel.columns.batch import NO_HEADERS, Batch
from millstream.streams.kernel.context import TaskContext
from millstream.streams.kernel.emit_interval import FINAL_EMIT, EmitInterval
from millstream.streams.kernel.operator import Operator
from millstream.streams.kernel.turns import RowsInTurn, Turn
from millstream.streams.serdes.windowed import pack_session, session_windowed
from millstream.streams.state.rows.running import NOTHING_WRITTEN, RowKeys, Written
from millstream.streams.state.session.running import (
    RunningSessions,
    Session,
    SessionsInTurn,
    SessionsOfKey,
    SessionWrite,
    StoredSessions,
)
from millstream.streams.state.session.store import SessionStore
from millstream.streams.topology import operators as ops


class SessionAggregate(Operator):
    """KStreamSessionWindowAggregate; null values reach the aggregator, null keys are dropped (S19)."""

    def __init__(
        self,
        context: TaskContext,
        spec: ops.SessionAggregate,
        store: SessionStore,
        *,
        writes_in_turn: bool,
    ) -> None:
        """`writes_in_turn`: a session may be removed and put again for one record; who joins the tombstone must not find it yet."""
        super().__init__(context)
        self._store = store
        self._spec = spec
        self._key_serde = session_windowed(store.key_serde)
        self._interval = EmitInterval(context.config.window_emit_interval_ms)
        self._time, self._emitted = context.node, f"{context.node} emitted"
        self._updates = Updates()
        self._writes_in_turn = writes_in_turn
        self._writes: list[SessionWrite] = []

    def process(self, batch: Batch) -> Batch | RowsInTurn:
        batch = without_null_keys(self.context, batch)
        store, keys = self._store, bytes_of_keys(batch, self._store)
        together = len(batch) > 1 and store.takes_columns and store.cache is None
        running = self._running(batch) if together else None
        closed = self._fold(batch, keys, running)
        updates = self._updates
        rows = updates.rows(
            batch,
            windowed_keys(self._key_serde, updates.names, (keys, batch)),
            store.value_serde,
            send_old=self._spec.send_old_values,
        )
        rows.headers = [NO_HEADERS] * len(rows)
        if running is not None:
            given = [batch.timestamps[record] for record in updates.records]
            steps = Written(updates.names, bytes_of_values(rows, store), given)
            store.write_sessions(running.take_changed(), steps)
        if self._writes_in_turn:
            writes = [partial(store.put, *write) for write in self._writes]
            return RowsInTurn(rows, [Turn(before=write) for write in writes])
        if not self._spec.emit_final:
            return rows
        self.context.counts[self._time, FINAL_EMIT] += len(closed)
        return closed

    def _running(self, batch: Batch) -> RunningSessions:
        """All sessions that records of the batch can touch."""
        gap = self._spec.windows.gap_ms
        first, last = min(batch.timestamps), max(batch.timestamps)
        return RunningSessions(self._store, first - gap, last + gap)

    def _fold(self, batch: Batch, keys: RowKeys, running: RunningSessions | None) -> Batch:
        """Update sessions, in the store where none are running. Gives out what was closed on the way."""
        closed = Batch([], [], [], [], [], [] if self._spec.send_old_values else None)
        self._updates, self._writes = Updates(), []
        store, spec = self._store, self._spec
        times, stream_time = store.times, store.times.get(self._time, -1)
        lateness = spec.windows.grace_ms + spec.windows.gap_ms
        columns = keys, batch.keys, batch.values, batch.timestamps
        position = 0
        try:
            for position, (data, key, value, at) in enumerate(zip(*columns, strict=True)):
                if at > stream_time:
                    stream_time = times[self._time] = at
                sessions = self._stored(key) if running is None else running.of_key(data)
                self._aggregate(sessions, (position, data, key, value, at), stream_time - lateness)
                if spec.emit_final and self._interval.is_over(self.context.wall_clock_ms):
                    if running is not None:
                        store.write_sessions(running.take_changed(), NOTHING_WRITTEN)
                    self._close_sessions(batch, position, closed, stream_time - lateness)
        except Exception:
            self.context.failed_ordinal = batch.ordinals[position]
            raise
        return closed

    def _stored(self, key: object) -> SessionsOfKey:
        if self._writes_in_turn:
            return SessionsInTurn(self._store, key, self._writes)
        return StoredSessions(self._store, key)

    def _aggregate(
        self,
        sessions: SessionsOfKey,
        record: tuple[int, bytes, object, object, int],
        close_time: int,
    ) -> None:
        spec = self._spec
        position, data, key, value, at = record
        gap = spec.windows.gap_ms
        aggregate = spec.initializer()
        start = end = at
        touched = sessions.find(at - gap, at + gap)
        for first, last, known in touched:
            aggregate = spec.merger(key, aggregate, known)
            start, end = min(start, first), max(end, last)
        if end < close_time:
            self.context.dropped_records += 1
            return
        if (start, end) != (at, at):
            for first, last, known in touched:
                sessions.set(first, last, None, at)
                self._update(position, data, (first, last, None), known)
        aggregate = spec.aggregator(key, value, aggregate)
        sessions.set(start, end, aggregate, at)
        self._update(position, data, (start, end, aggregate), None)

    def _update(self, position: int, data: bytes, session: Session, old: object) -> None:
        start, end, aggregate = session
        updates = self._updates
        updates.records.append(position)
        updates.names.append(data + pack_session(end, start))
        updates.aggregates.append(aggregate)
        updates.timestamps.append(end)
        updates.old.append(old)

    def _close_sessions(self, batch: Batch, position: int, closed: Batch, close_time: int) -> None:
        """Give out the sessions that this record has closed, by their ends."""
        emitted = self._store.times.get(self._emitted, -1)
        if close_time <= emitted:
            return
        first = max(0, emitted)
        self._store.times[self._emitted] = close_time
        if close_time - 1 < first:
            return
        for session, stored in list(self._store.fetch_closed(first, close_time - 1)):
            closed.keys.append(session)
            closed.values.append(self._store.aggregate_of(stored))
            closed.timestamps.append(session.end_ms)
            closed.headers.append(batch.headers[position])
            closed.ordinals.append(batch.ordinals[position])
            if closed.old_values is not None:
                closed.old_values.append(None)
