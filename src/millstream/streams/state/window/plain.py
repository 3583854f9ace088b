"""Window stores without timestamps: values of a key and a start, several of them where duplicates are kept.

Stream-stream joins keep their records here. With duplicates every put takes the next sequence number, and putting None
changes nothing but the changelog, as in Kafka Streams.
"""

from __future__ import annotations

from struct import Struct

from millstream.streams.state.changelog import Headers
from millstream.streams.state.read_only import Stored
from millstream.streams.state.rows.segmented import pack_time, unpack_time
from millstream.streams.state.store import StoreParts
from millstream.streams.state.window.rows import WindowRows

_SEQUENCE = Struct(">i")
_SEQUENCE_NAME = "sequence"


class PlainWindowStore(WindowRows):
    """Values by key and window start: Kafka Streams' WindowStore."""

    def __init__(self, parts: StoreParts) -> None:
        super().__init__(parts)
        self._duplicates = parts.spec.retain_duplicates

    def put(self, key: object, value: object, start: int) -> None:
        """Add a value, or set it where duplicates are not kept; None deletes it there."""
        data, written = self.encoded(key, value)
        sequence = _SEQUENCE.pack(self._next_sequence())
        row_key = self.segment(start) + data + pack_time(start) + sequence
        if written is None and self._duplicates:  # which deletes nothing
            if not self.spec.persistent:
                self.admits(start)  # in memory it is still the newest
            self.log_row(row_key, None, self.now(), self.record_headers())
        else:
            self.put_row(row_key, written, self.now())

    def row_at(self, key: object, start: int) -> Stored:
        """Returns the row of a key at a time.

        Where duplicates are kept it is the last one put on disk, and none in memory.
        """
        if self._duplicates and not self.spec.persistent:
            return None
        sequence = _SEQUENCE.pack(self.times.get(_SEQUENCE_NAME, 0))
        row_key = self.segment(start) + self.key_bytes(key) + pack_time(start) + sequence
        stored = self.stored_row(row_key)
        return None if stored is None else self._decode_value(stored)

    def restore_row(
        self, key: bytes, value: bytes | None, _timestamp: int, _headers: Headers
    ) -> None:
        start = unpack_time(key, len(key) - 12)[0]
        is_deletion = value is None and self._duplicates  # which deletes nothing
        if is_deletion and self.spec.persistent:
            return
        if self.admits_restored(start) and not is_deletion:
            self.rows.put(self.segment(start) + key, value)

    def decode_row(self, stored: bytes) -> Stored:
        return self._decode_value(stored)

    def _next_sequence(self) -> int:
        if not self._duplicates:
            return 0
        number = self.times[_SEQUENCE_NAME] = self.times.get(_SEQUENCE_NAME, 0) + 1 & 0x7FFFFFFF
        return number
