"""Session stores: rows of a key and a session [start, end], which expire by their end.

Bytes: a changelog key is key ++ end (8) ++ start (8), as in Kafka Streams; a row's key is the same behind its
segment, or end ++ start ++ key where the store is time-ordered. Values carry no timestamp.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from millstream.streams.serdes.serde import Serde
from millstream.streams.serdes.windowed import (
    MAX_TIMESTAMP,
    Windowed,
    pack_session,
    session_windowed,
)
from millstream.streams.state.cache import FlushedRows, ProcessorRecordContext
from millstream.streams.state.changelog import Headers
from millstream.streams.state.headers import (
    NO_HEADERS,
    AggregationWithHeaders,
    split_headers,
    with_headers,
    without_headers,
)
from millstream.streams.state.read_only import ReadOnlySessionStore, Stored
from millstream.streams.state.rows.running import WrittenRows
from millstream.streams.state.rows.segmented import SegmentedStore, unpack_time
from millstream.streams.state.store import StoreParts

Session = tuple[Windowed[Stored], Stored]


class SessionStore(SegmentedStore, ReadOnlySessionStore[Stored, Stored]):
    """One value per key and session."""

    edge_is_visible = False
    bytes_around_key = 24

    def __init__(self, parts: StoreParts) -> None:
        super().__init__(parts)
        self.keeps_decoded = parts.value.immutable
        """Whether a batch may keep aggregates as they are, from one record to the next."""
        self._row_start = b""
        """What a row begins with that an operator writes."""

    def fetch_session(self, key: object, start: int, end: int) -> Stored:
        stored = self.stored_row(self._row_key(key, start, end))
        return None if stored is None else self.decode_row(stored)

    def put(self, session: Windowed[Stored], value: object, timestamp: int | None = None) -> None:
        """Set the value of a session; None removes it.

        `timestamp` is that of the changelog record; if it is not given, that of the record being processed.
        """
        stored = self.encoded(session.key, value)[1]
        self.put_session(session, stored, self.now() if timestamp is None else timestamp)

    def remove(self, session: Windowed[Stored]) -> None:
        """Remove a session. One that is too old already is not counted; in memory it is not the newest one by that.

        As in Kafka Streams it is otherwise by putting None, which a cache does with it, too.
        """
        row_key = self._row_key(session.key, session.start_ms, session.end_ms)
        if self.cache is not None:
            self.put_row(row_key, None, self.now())
            return
        if self.spec.persistent:
            self.advance(session.end_ms)
        self.rows.pending[row_key] = None
        self.log_row(row_key, None, self.now(), self.record_headers())

    def put_session(self, session: Windowed[Stored], stored: bytes | None, timestamp: int) -> None:
        """Set the stored form of a session."""
        row_key = self._row_key(session.key, session.start_ms, session.end_ms)
        self.put_row(row_key, stored, timestamp)

    @property
    def takes_columns(self) -> bool:
        return True

    def order_of(self, start: int, end: int) -> tuple[int, int]:
        """Returns the sort key among sessions of one key: their ends; in memory the latest start comes first."""
        return end, start if self.spec.persistent else -start

    def sessions_of_bytes(
        self, data: bytes, earliest_end: int, latest_start: int
    ) -> list[tuple[int, int, Stored]]:
        """Returns (start, end, aggregate) of the key with these bytes, as `find_sessions` has them."""
        return [
            (start, end, self.aggregate_of(self.decode_row(stored)))
            for start, end, stored in self._found_sessions(data, earliest_end, latest_start)
        ]

    def write_sessions(
        self, rows: Iterable[tuple[bytes, int, int, Stored]], written: WrittenRows
    ) -> None:
        """Set sessions, by key's bytes, start and end, as a batch has left them; those that are too
        old by now are forgotten.

        `written` is every single step on the way, for the changelog.
        """
        assert self.cache is None, "a cache holds back single sessions"
        pending, encode = self.rows.pending, self._encode_value
        for data, start, end, aggregate in rows:
            if end >= self._deleted_before:
                row_key = self._row_key_of(data, pack_session(end, start), end)
                stored = None if aggregate is None else self._row_start + encode(aggregate)
                pending[row_key] = stored
        if self.changelog is not None:
            self.changelog.extend(written.keys, written.values, written.timestamps)

    def aggregate_of(self, row: Stored) -> Stored:
        """Returns the aggregate that operators work with, of a row as processors see it."""
        return row

    @property
    def table_key_serde(self) -> Serde[Any]:  # Any: tables of any type
        return session_windowed(self._key)

    def change_times(self, rows: FlushedRows) -> Sequence[int]:
        return self.row_times(rows.row_keys)

    def sessions_of_key(
        self, key: object, earliest_end: int, latest_start: int, *, reverse: bool
    ) -> list[Session]:
        found = self._found_sessions(
            self.key_bytes(key), earliest_end, latest_start, reverse=reverse
        )
        return [
            (Windowed(key, start, end), self.decode_row(stored)) for start, end, stored in found
        ]

    def _found_sessions(
        self, data: bytes, earliest_end: int, latest_start: int, *, reverse: bool = False
    ) -> list[tuple[int, int, bytes]]:
        """(start, end, row), in the order of the sessions."""
        found = []
        for row_key, stored in self.rows_of(data, earliest_end, MAX_TIMESTAMP - 1, reverse=reverse):
            _, start, end = self._split(row_key)
            if start <= latest_start:
                found.append((start, end, stored))
        return found

    def sessions_of_keys(
        self,
        keys: tuple[object, object],
        earliest_end: int,
        latest_start: int,
        latest_end: int,
        *,
        reverse: bool,
    ) -> Iterator[Session]:
        oldest = self.oldest_visible()
        first, last = (None if key is None else self.key_bytes(key) for key in keys)
        rows = self.rows_between(earliest_end, latest_end, oldest=oldest, reverse=reverse)
        for row_key, stored in rows:
            data, start, end = self._split(row_key)
            in_range = (first is None or first <= data) and (last is None or data <= last)
            if in_range and start <= latest_start:
                yield Windowed(self._key.decode(data), start, end), self.decode_row(stored)

    def fetch_closed(self, earliest_end: int, latest_end: int) -> Iterator[Session]:
        """Yields the sessions that end in this range, for an operator that gives out what is closed.

        On disk, what is older than the retention is found too as long as its segment is there.
        """
        oldest = 0 if self.spec.persistent else self.oldest_visible()
        for row_key, stored in self.rows_between(earliest_end, latest_end, oldest=oldest):
            data, start, end = self._split(row_key)
            yield Windowed(self._key.decode(data), start, end), self.decode_row(stored)

    def _stored_of(
        self, data: bytes, low: int, high: int, *, reverse: bool
    ) -> Iterator[tuple[bytes, bytes]]:
        rows = super()._stored_of(data, low, high, reverse=reverse)
        if self.spec.persistent:
            return rows
        # Of sessions with one end the latest start comes first.
        return iter(sorted(rows, key=lambda row: self.order_in_memory(row[0]), reverse=reverse))

    def order_in_memory(self, row_key: bytes) -> tuple[int, bytes, int]:
        data, start, end = self._split(row_key)
        return end, data, -start

    def restore_row(
        self, key: bytes, value: bytes | None, _timestamp: int, headers: Headers
    ) -> None:
        end = unpack_time(key, len(key) - 16)[0]
        if self.admits_restored(end):
            row = None if value is None else self.restored_row(value, headers)
            self.rows.put(self._row_key_of(key[:-16], key[-16:], end), row)

    def restored_row(self, value: bytes, _headers: Headers) -> bytes:
        """Returns the stored form of a changelog record."""
        return value

    def row_time(self, row_key: bytes) -> int:
        return self._split(row_key)[2]

    def row_data(self, row_key: bytes) -> bytes:
        return self._split(row_key)[0]

    def decode_row(self, stored: bytes) -> Stored:
        """Returns a row as the application sees it."""
        return self._decode_value(stored)

    def log_key(self, row_key: bytes) -> bytes:
        return row_key[24:] + row_key[8:24] if self._time_first else super().log_key(row_key)

    def _row_key(self, key: object, start: int, end: int) -> bytes:
        return self._row_key_of(self.encoded(key, None)[0], pack_session(end, start), end)

    def _row_key_of(self, data: bytes, times: bytes, end: int) -> bytes:
        return self.segment(end) + (times + data if self._time_first else data + times)

    def _split(self, row_key: bytes) -> tuple[bytes, int, int]:
        at = 8 if self._time_first else len(row_key) - 16
        data = row_key[24:] if self._time_first else row_key[8:-16]
        return data, unpack_time(row_key, at + 8)[0], unpack_time(row_key, at)[0]


class SessionStoreWithHeaders(SessionStore):
    """Rows are AggregationWithHeaders: Kafka Streams' store of this name (KIP-1271).

    Operators of the DSL put theirs without headers (KIP-1285).
    """

    def __init__(self, parts: StoreParts) -> None:
        super().__init__(parts)
        self._row_start = NO_HEADERS

    def put(
        self,
        session: Windowed[Stored],
        value: object,
        timestamp: int | None = None,
        headers: Headers = (),
    ) -> None:
        """Set the aggregate of a session; None removes it. `timestamp` as of other session stores."""
        written = self.encoded(session.key, value)[1]
        stored = None if written is None else with_headers(written, headers)
        self.put_session(session, stored, self.now() if timestamp is None else timestamp)

    @property
    def takes_columns(self) -> bool:
        """Whether columns are taken: not of records with headers, since each logs removals with its own."""
        return super().takes_columns and not self.record_headers()

    def aggregate_of(self, row: Stored) -> Stored:
        return row.aggregation

    def logged_value(self, stored: bytes) -> bytes:
        return without_headers(stored)

    def change_origins(self, rows: FlushedRows) -> list[ProcessorRecordContext]:
        """Gives the records with the headers of the sessions, as in Kafka Streams."""
        return [
            origin._replace(headers=() if stored is None else split_headers(stored)[0])
            for origin, stored in zip(rows.origins, rows.stored, strict=True)
        ]

    def decode_row(self, stored: bytes) -> AggregationWithHeaders:
        headers, aggregate = split_headers(stored)
        return AggregationWithHeaders(self._decode_value(aggregate), headers)

    def restored_row(self, value: bytes, headers: Headers) -> bytes:
        return with_headers(value, headers)
