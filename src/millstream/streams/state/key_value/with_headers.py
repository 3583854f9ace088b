"""Key-value stores that keep the headers of each row: Kafka Streams' TimestampedKeyValueStoreWithHeaders (KIP-1271)."""

from __future__ import annotations

from collections.abc import Iterable

from millstream.streams.state.changelog import Headers
from millstream.streams.state.headers import ValueTimestampHeaders, as_row
from millstream.streams.state.key_value.store import TimestampedKeyValueStore
from millstream.streams.state.rows.timestamped_with_headers import TimestampedRowsWithHeaders


class TimestampedKeyValueStoreWithHeaders(TimestampedRowsWithHeaders, TimestampedKeyValueStore):
    """Rows are ValueTimestampHeaders."""

    def get(self, key: object) -> ValueTimestampHeaders | None:
        return as_row(super().get(key))

    def put(self, key: object, value: object, timestamp: int, headers: Headers = ()) -> None:
        """Set the row of a key; a None value deletes it."""
        data, written = self.encoded(key, value)
        row = None if written is None else ValueTimestampHeaders(value, timestamp, headers)
        self.note_row(data, row)
        stored = None if written is None else self.row_bytes(written, timestamp, headers)
        self.put_row(data, stored, timestamp)

    def put_if_absent(
        self, key: object, value: object, timestamp: int, headers: Headers = ()
    ) -> ValueTimestampHeaders | None:
        """Set the row of a key that has none; gives the row it had."""
        known = self.get(key)
        if known is None:
            self.put(key, value, timestamp, headers)
        return known

    def put_all(self, rows: Iterable[tuple[object, tuple[object, int]]]) -> None:
        """Set the rows of several keys, given as `all` gives them, or as pairs without headers."""
        for key, row in rows:
            value, timestamp = row
            self.put(key, value, timestamp, getattr(row, "headers", ()))
