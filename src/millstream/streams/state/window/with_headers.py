"""Window stores that keep the headers of each row: Kafka Streams' TimestampedWindowStoreWithHeaders (KIP-1271)."""

from __future__ import annotations

from millstream.streams.state.changelog import Headers
from millstream.streams.state.rows.headers import ValueTimestampHeaders, as_row
from millstream.streams.state.rows.timestamped_with_headers import TimestampedRowsWithHeaders
from millstream.streams.state.window.timestamped import TimestampedWindowStore


class TimestampedWindowStoreWithHeaders(TimestampedRowsWithHeaders, TimestampedWindowStore):
    """Rows are ValueTimestampHeaders."""

    def row_at(self, key: object, start: int) -> ValueTimestampHeaders | None:
        return as_row(super().row_at(key, start))

    def put(
        self, key: object, value: object, start: int, timestamp: int, headers: Headers = ()
    ) -> None:
        """Set the row of a key and window start; a None value deletes it."""
        data, written = self.encoded(key, value)
        row = None if written is None else ValueTimestampHeaders(value, timestamp, headers)
        stored = None if written is None else self.row_bytes(written, timestamp, headers)
        self._put(data, start, row, stored, timestamp)
