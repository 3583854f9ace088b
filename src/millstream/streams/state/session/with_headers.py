"""Session stores that keep the headers of each session: Kafka Streams' SessionStoreWithHeaders (KIP-1271)."""

from __future__ import annotations

from millstream.streams.serdes.windowed import Windowed
from millstream.streams.state.cache import FlushedRows, ProcessorRecordContext
from millstream.streams.state.changelog import Headers
from millstream.streams.state.headers import (
    NO_HEADERS,
    AggregationWithHeaders,
    split_headers,
    with_headers,
    without_headers,
)
from millstream.streams.state.read_only import Stored
from millstream.streams.state.session.store import SessionStore
from millstream.streams.state.store import StoreParts


class SessionStoreWithHeaders(SessionStore):
    """Rows are AggregationWithHeaders. Operators of the DSL put theirs without headers (KIP-1285)."""

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
