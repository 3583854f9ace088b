"""What window and session stores share: rows that belong to a time and are forgotten by segments.

A row's key has its segment (8 bytes) in front, so that old segments are one range.

Retention counts from the newest time that was put (not from stream time): a row is visible while its time is
larger than newest - retention. The persistent time-ordered store alone also shows the row at exactly that time
(both measured on Kafka Streams 4.3.1). On disk a row is refused once its segment is gone, in memory at once.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from struct import Struct

from millstream.streams.serdes.windowed import MAX_TIMESTAMP
from millstream.streams.state.store import StateStore, StoreParts

_LONG = Struct(">q")
pack_time = _LONG.pack
unpack_time = _LONG.unpack_from
_SEGMENT_MS_MIN = 60_000
_NEWEST = "newest"
"""The newest time that was put, among the store's times."""


class SegmentedStore(StateStore):
    """Sub-classes know how a row's key is laid out behind its segment."""

    edge_is_visible = True
    """Whether a row that is exactly as old as the retention is found where rows on disk are ordered by time."""

    def __init__(self, parts: StoreParts) -> None:
        super().__init__(parts)
        spec = parts.spec
        assert spec.retention_ms is not None, "a window store has a retention"
        self._retention_ms = spec.retention_ms
        self._segment_ms = max(spec.retention_ms // 2, _SEGMENT_MS_MIN)
        self._time_first = spec.time_ordered
        self._shows_edge = self.edge_is_visible and spec.time_ordered and spec.persistent
        self._newest = self.times.get(_NEWEST, -1)
        self._first_kept = self._oldest_kept()
        self._deleted_before = 0
        """Segments that end at this time have been deleted."""

    def commit(self, *, changelog_offset: int | None, marker: str | None) -> None:
        self.times[_NEWEST] = self._newest
        super().commit(changelog_offset=changelog_offset, marker=marker)

    def discard(self) -> None:
        super().discard()
        self._newest = self.times.get(_NEWEST, -1)
        self._first_kept = self._oldest_kept()

    @abstractmethod
    def row_time(self, row_key: bytes) -> int:
        """The time of a row, by which it expires."""

    def forget(self, row_key: bytes) -> None:
        """A row is being deleted with its segment."""

    def segment(self, time: int) -> bytes:
        return pack_time(time // self._segment_ms)

    def rows_between(
        self, low: int, high: int, *, reverse: bool = False
    ) -> Iterator[tuple[bytes, bytes]]:
        """Stored rows with low <= time <= high."""
        end_segment = high // self._segment_ms + 1
        end = None if end_segment > MAX_TIMESTAMP else pack_time(end_segment)
        for row_key, stored in self.rows.scan(self.segment(low), end, reverse=reverse):
            if low <= self.row_time(row_key) <= high:
                yield row_key, stored

    def rows_of(
        self, data: bytes, low: int, high: int, *, reverse: bool = False
    ) -> Iterator[tuple[bytes, bytes]]:
        """Stored rows of these times that may have this key, segment by segment; the caller looks at both."""
        high = max(low, min(high, self._newest))
        segments = range(low // self._segment_ms, high // self._segment_ms + 1)
        for number in reversed(segments) if reverse else segments:
            segment = pack_time(number)
            if self._time_first:
                first, end = segment, pack_time(number + 1)
            else:
                first, end = segment + data + pack_time(low), segment + data + pack_time(high + 1)
            yield from self.rows.scan(first, end, reverse=reverse)

    def oldest_visible(self) -> int:
        oldest = self._newest - self._retention_ms
        return max(0, oldest if self._shows_edge else oldest + 1)

    def is_expired(self, time: int) -> bool:
        """Whether a row is too old to be stored."""
        return time < self._first_kept

    def admits(self, time: int) -> bool:
        """Note the time of a row that is being put; False, and counted, where it is too old to be stored."""
        if time > self._newest:
            self.advance(time)
        if time >= self._first_kept:
            return True
        self.expired_puts += 1
        return False

    def advance(self, time: int) -> None:
        """Note a new newest time; when it opens a segment, delete the segments that are too old."""
        if time <= self._newest:
            return
        opens_segment = time // self._segment_ms > self._newest // self._segment_ms
        self._newest = time
        self._first_kept = self._oldest_kept()
        oldest_segment = (time - self._retention_ms) // self._segment_ms
        if opens_segment and oldest_segment > 0:
            self._deleted_before = oldest_segment * self._segment_ms
            for row_key, _ in list(self.rows.scan(b"", pack_time(oldest_segment))):
                self.rows.put(row_key, None)
                self.forget(row_key)

    def _oldest_kept(self) -> int:
        """The oldest time that can still be stored: on disk as long as its segment is there."""
        oldest = self._newest - self._retention_ms
        if self.spec.persistent:
            return oldest // self._segment_ms * self._segment_ms
        return oldest + 1
