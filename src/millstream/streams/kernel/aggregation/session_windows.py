"""Session aggregation: a record joins all sessions it touches into one.

Lateness is judged after merging, so a late record that bridges to a live session counts. Every absorbed
session is removed and forwarded as a tombstone at its end, before the merged result. Updates carry no
headers, as in Kafka Streams.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from millstream.streams.dropped_records import DropReason, Lateness
from millstream.streams.kernel.aggregation.record_windows import Record, RecordWindowAggregate
from millstream.streams.kernel.aggregation.stream import (
    bytes_of_values,
    without_null_keys,
)
from millstream.streams.kernel.aggregation.window_updates import rows_at, windowed_keys
from millstream.streams.kernel.columns.batch import NO_HEADERS, Batch
from millstream.streams.kernel.context import NodeContext
from millstream.streams.kernel.turns import RowsInTurn, Turn
from millstream.streams.serdes.windowed import Windowed, pack_session, session_windowed
from millstream.streams.state.rows.running import NOTHING_WRITTEN, RowKeys, WrittenRows
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


class SessionAggregateOperator(RecordWindowAggregate[SessionStore, RunningSessions]):
    """KStreamSessionWindowAggregate; null values reach the aggregator, null keys are dropped."""

    def __init__(
        self,
        context: NodeContext,
        spec: ops.SessionAggregate,
        store: SessionStore,
        *,
        writes_in_turn: bool,
    ) -> None:
        """`writes_in_turn`: a session may be removed and put again for one record; who joins the
        tombstone must not find it yet.
        """
        super().__init__(context, spec, store)
        self._spec = spec
        self._key_serde = session_windowed(store.key_serde)
        self._lateness_ms = spec.windows.grace_ms + spec.windows.gap_ms
        self._writes_in_turn = writes_in_turn
        self._writes: list[SessionWrite] = []

    def process(self, batch: Batch) -> Batch | RowsInTurn:
        self._writes = []
        rows = super().process(batch)
        if not self._writes_in_turn:
            return rows
        assert isinstance(rows, Batch), "what is given out when it is closed is not written in turn"
        writes = [partial(self._store.put, *write) for write in self._writes]
        return RowsInTurn(rows, [Turn(before=write) for write in writes])

    def accepted(self, batch: Batch) -> Batch:
        return without_null_keys(self, batch)

    def running(self, batch: Batch) -> RunningSessions:
        gap = self._spec.windows.gap_ms
        first, last = min(batch.timestamps), max(batch.timestamps)
        return RunningSessions(self._store, first - gap, last + gap)

    def rows(self, batch: Batch, keys: RowKeys) -> Batch:
        names = windowed_keys(self._key_serde, self._updates.names, (keys, batch))
        serde = self._store.value_serde
        rows = self._updates.rows(batch, names, serde, send_old=self._send_old)
        rows.headers = [NO_HEADERS] * len(rows)
        return rows

    def write(self, running: RunningSessions, batch: Batch, rows: Batch | None) -> None:
        written = NOTHING_WRITTEN
        if rows is not None:
            given = rows_at(batch.timestamps, self._updates.records)
            written = WrittenRows(self._updates.names, bytes_of_values(rows, self._store), given)
        self._store.write_sessions(running.take_changed(), written)

    def fold_record(
        self, record: Record, running: RunningSessions | None, stream_time: int
    ) -> bool:
        spec, (position, data, key, value, at) = self._spec, record
        sessions = self._stored(key) if running is None else running.of_key(data)
        gap = spec.windows.gap_ms
        aggregate = spec.initializer()
        start = end = at
        touched = sessions.find(at - gap, at + gap)
        for first, last, known in touched:
            aggregate = spec.merger(key, aggregate, known)
            start, end = min(start, first), max(end, last)
        if end < stream_time - self._lateness_ms:
            needed = stream_time - gap - end
            grace = spec.windows.grace_ms
            late = Lateness((start, end), end + gap + grace, grace, needed, stream_time)
            self.leave_out(position, DropReason.LATE_FOR_SESSION, late)
            return True
        if (start, end) != (at, at):
            for first, last, known in touched:
                sessions.set(first, last, None, at)
                self._update(position, data, (first, last, None), known)
        aggregate = spec.aggregator(key, value, aggregate)
        sessions.set(start, end, aggregate, at)
        self._update(position, data, (start, end, aggregate), None)
        return True

    def _stored(self, key: object) -> SessionsOfKey:
        if self._writes_in_turn:
            return SessionsInTurn(self._store, key, self._writes)
        return StoredSessions(self._store, key)

    def _update(self, position: int, data: bytes, session: Session, old: object) -> None:
        start, end, aggregate = session
        updates = self._updates
        updates.records.append(position)
        updates.names.append(data + pack_session(end, start))
        updates.aggregates.append(aggregate)
        updates.timestamps.append(end)
        updates.old.append(old)

    def closed_by(
        self, stream_time: int
    ) -> Iterator[tuple[Windowed[Any], Any, int]]:  # Any: of any type
        """Yields the closed sessions, by their ends."""
        close_time, store = stream_time - self._lateness_ms, self._store
        emitted = store.times.get(self._emitted, -1)
        if close_time <= emitted:
            return
        first, last = max(0, emitted), close_time - 1
        for session, stored in list(store.fetch_closed(first, last)) if first <= last else ():
            yield session, store.aggregate_of(stored), session.end_ms
        store.times[self._emitted] = close_time
