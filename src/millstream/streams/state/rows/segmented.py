"""Base of window and session stores: rows that belong to a time and are deleted by segments.

A row's key has its segment (8 bytes) in front, so that old segments are one range.

Retention counts from the newest time that was put (not from stream time), the store's observed time: a row is visible
while its time is larger than that - retention. The persistent time-ordered store alone also shows the row at exactly
that time (both measured on Kafka Streams 4.3.1). On disk a row is refused once its segment is gone, in memory at once.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from struct import Struct
from typing import Any

from millstream.streams.serdes.windowed import MAX_TIMESTAMP
from millstream.streams.state.cache import NOT_CACHED, FlushedRows, ProcessorRecordContext
from millstream.streams.state.storage.transaction import overlaid
from millstream.streams.state.store import StateStore, StoreParts

_LONG = Struct(">q")
pack_time = _LONG.pack
_pack_end = Struct(">Q").pack
"""Of a time and one millisecond: behind the last time there is one more, in the same order."""
unpack_time = _LONG.unpack_from
_SEGMENT_MS_MIN = 60_000
"""Kafka Streams': a segment is half of the retention, but never less than a minute."""
_BY_TIME = b"\x00"
"""Kafka Streams' mark of a row that is found by its time."""
_EARLIEST = pack_time(0)
_NEWEST = "newest"
"""The newest time that was put, among the store's times."""
_OBSERVED = "observed"
"""The time by which rows expire, where the newest is of records that come again."""


class SegmentedStore(StateStore):
    """Sub-classes know how a row's key is laid out behind its segment."""

    edge_is_visible = True
    """Whether a row that is exactly as old as the retention is found where rows on disk are ordered by time."""
    bytes_around_key: int
    """How much longer a row's key is than the bytes of the application's key."""

    def __init__(self, parts: StoreParts) -> None:
        super().__init__(parts)
        spec = parts.spec
        assert spec.retention_ms is not None, "a window store has a retention"
        self._retention_ms = spec.retention_ms
        self._segment_ms = max(spec.retention_ms // 2, _SEGMENT_MS_MIN)
        self._time_first = spec.time_ordered and spec.persistent
        self._shows_edge = self.edge_is_visible and self._time_first
        self._newest = self.times.get(_NEWEST, -1)
        """No row is newer."""
        self._observed = _observed(self.times)
        self._first_kept = self._oldest_kept(self._observed)
        self._deleted_before = 0
        """Segments that end at this time have been deleted."""
        self._observed_max: int | None = None
        """The observed time of the last commit, where what is restored is ahead of it."""
        self._newest_cached = -1
        """The newest time that was ever put in the cache."""
        self._cached_origin: ProcessorRecordContext | None = None
        """Of a row that leaves the cache, where that is put by itself."""

    @property
    def layout(self) -> str:
        """Names the segments, too: with another retention each row would be looked for in another one."""
        by_time = ", by time" if self._time_first else ""
        return f"{super().layout}, segments of {self._segment_ms} ms{by_time}"

    def known_times(self) -> dict[str, int]:
        times = {**self.times, _NEWEST: self._newest}
        if self._observed < self._newest:
            return {**times, _OBSERVED: self._observed}
        times.pop(_OBSERVED, None)
        return times

    def go_back(self, times: Mapping[str, int]) -> None:
        """Keep and show the rows that were there at a commit, although those that are restored are newer.

        At least once a changelog has rows of records behind the committed offsets. These come again, and find what they
        found before: without the rows that have expired since, a window that they belong to would begin anew, and its
        result replace the one of before.
        """
        self._observed_max = _observed(times)
        self._observed = min(self._observed, self._observed_max)
        self._first_kept = self._oldest_kept(self._observed)

    def admits_restored(self, time: int) -> bool:
        """Note the time of a row that is restored; False where it is too old to be stored."""
        self._newest = max(self._newest, time)
        self.advance(time if self._observed_max is None else min(time, self._observed_max))
        return not self.is_expired(time)

    def resume(self, times: Mapping[str, int]) -> None:
        """Take over times. Rows that were restored may be newer than that commit: none is newer than the newest."""
        newest = max(self._newest, times.get(_NEWEST, -1))
        observed = max(self._observed, _observed(times))
        super().resume({**times, _NEWEST: newest, _OBSERVED: observed})

    def discard(self) -> None:
        super().discard()
        self._newest = self.times.get(_NEWEST, -1)
        self._observed = _observed(self.times)
        self._first_kept = self._oldest_kept(self._observed)

    @abstractmethod
    def row_time(self, row_key: bytes) -> int:
        """Returns the time of a row, by which it expires."""

    def row_times(self, row_keys: Sequence[bytes]) -> list[int]:
        """Returns the times of several rows."""
        return list(map(self.row_time, row_keys))

    def log_key(self, row_key: bytes) -> bytes:
        """Returns the key of a row's changelog record: all behind the segment, with the bytes of the key first."""
        return row_key[8:]

    @abstractmethod
    def row_data(self, row_key: bytes) -> bytes:
        """Returns the bytes of a row's key, as the application knows it."""

    def forget(self, row_key: bytes) -> None:
        """A row comes too late to be stored."""

    def forget_before(self, row_key: bytes) -> None:
        """Rows before this key are deleted with their segments."""

    def segment(self, time: int) -> bytes:
        return pack_time(time // self._segment_ms)

    def segment_after(self, time: int) -> bytes | None:
        """Returns the prefix of keys in the segment after that of this time; None if there is none."""
        number = time // self._segment_ms + 1
        return None if number > MAX_TIMESTAMP else pack_time(number)

    def put_row(self, row_key: bytes, stored: bytes | None, timestamp: int) -> None:
        super().put_row(row_key, stored, timestamp)
        if self.cache is not None:
            self._newest_cached = max(self._newest_cached, self.row_time(row_key))

    def set_row(self, row_key: bytes, stored: bytes | None, _timestamp: int) -> None:
        if self.admits(self.row_time(row_key)):
            self.rows.pending[row_key] = stored
        else:
            self.forget(row_key)

    def set_rows(self, rows: FlushedRows) -> None:
        times = self.row_times(rows.row_keys)
        newest = max(times, default=self._newest)
        if min(times, default=newest) < self._oldest_kept(max(newest, self._observed)):
            columns = zip(rows.row_keys, rows.stored, rows.timestamps, rows.origins, strict=True)
            for (
                row_key,
                stored,
                timestamp,
                origin,
            ) in columns:  # an earlier one may still be in time
                self._cached_origin = origin
                self.set_row(row_key, stored, timestamp)
            self._cached_origin = None
            return
        self.advance(newest)
        self.rows.pending.update(zip(rows.row_keys, rows.stored, strict=True))

    def stored_row(self, row_key: bytes) -> bytes | None:
        """Returns the bytes of a row that can be seen, in the cache or in the store."""
        stored = NOT_CACHED if self.cache is None else self.cache.get(self.cache_key(row_key))
        return self.flushed_row(row_key) if stored is NOT_CACHED else stored

    def flushed_row(self, row_key: bytes) -> bytes | None:
        return None if self.row_time(row_key) < self.oldest_visible() else self.rows.get(row_key)

    def rows_between(
        self, low: int, high: int, *, oldest: int, reverse: bool = False
    ) -> Iterator[tuple[bytes, bytes]]:
        """Yields the rows with low <= time <= high: of those in the store the ones from `oldest` on, of a cache all.

        On disk in the order of their keys, which begin with the segment; in memory by time.
        """
        rows = self._stored_between(max(low, oldest), high, reverse=reverse)
        if not self.spec.persistent:
            rows = iter(sorted(rows, key=lambda row: self.order_in_memory(row[0]), reverse=reverse))
        if self.cache is None:
            return rows
        cached = self._cached_between(low, high, reverse=reverse)
        return overlaid(self._comparable(rows), cached, reverse=reverse)

    @abstractmethod
    def order_in_memory(self, row_key: bytes) -> tuple[Any, ...]:  # Any: what is compared
        """Returns the key by which the rows of several keys are ordered in memory."""

    def rows_of(
        self, data: bytes, low: int, high: int, *, reverse: bool = False, as_range: bool = False
    ) -> Iterator[tuple[bytes, bytes]]:
        """Yields the rows of this key with low <= time <= high, in the order of their times, as `rows_between`.

        `as_range`: asked for as those from one key to the same one, as operators of Kafka Streams do; a cache sees it.
        """
        oldest, high = max(low, self.oldest_visible()), min(high, MAX_TIMESTAMP)
        rows = self._stored_of(data, oldest, high, reverse=reverse)
        if self.cache is None:
            return rows
        cached = self._cached_of(data, low, high, reverse=reverse, as_range=as_range)
        return overlaid(self._comparable(rows), cached, reverse=reverse)

    def _stored_between(
        self, low: int, high: int, *, reverse: bool
    ) -> Iterator[tuple[bytes, bytes]]:
        end = self.segment_after(high)
        for row_key, stored in self.rows.scan(self.segment(low), end, reverse=reverse):
            if low <= self.row_time(row_key) <= high:
                yield row_key, stored

    def _stored_of(
        self, data: bytes, low: int, high: int, *, reverse: bool
    ) -> Iterator[tuple[bytes, bytes]]:
        high = min(high, self._newest)
        for first, end in self._ranges_of(data, low, high, reverse=reverse):
            for row_key, stored in self.rows.scan(first, end, reverse=reverse):
                if self._is_of(row_key, data, low, high):
                    yield row_key, stored

    def _cached_of(
        self, data: bytes, low: int, high: int, *, reverse: bool, as_range: bool
    ) -> Iterator[tuple[bytes, bytes | None]]:
        """The same of the cache; what lies between these rows counts as used, too."""
        assert self.cache is not None, "asked for only where there is one"
        first_key = self.cache.first_key()
        if first_key is None or high < low:
            return
        if self.spec.persistent:
            since = max(low, unpack_time(first_key)[0] * self._segment_ms)
            if reverse:  # backwards Kafka Streams looks at a segment from its very beginning
                since = since // self._segment_ms * self._segment_ms
            until = min(high, self._newest_cached)
            ranges = self._ranges_of(data, since, until, reverse=reverse)
        else:
            start = pack_time(max(low, 0))
            first = (_EARLIEST if as_range else start) + data + start
            ranges = iter([(first, pack_time(high) + data + _pack_end(high + 1))])
        for first, end in ranges:
            for key, stored in self._in_cache(first, end, reverse=reverse):
                if low <= self.row_time(key) <= high and self.row_data(key) == data:
                    yield key, stored

    @property
    def cache_keys_differ(self) -> bool:
        """Whether a cache finds a row by another key than the row's."""
        return self._time_first or not self.spec.persistent

    def cache_key(self, row_key: bytes) -> bytes:
        """Returns the key of a row in the cache.

        In memory, every millisecond is a segment; rows that are ordered by time have a mark.
        """
        if self._time_first:
            return row_key[:8] + _BY_TIME + row_key[8:]
        if self.spec.persistent:
            return row_key
        return pack_time(self.row_time(row_key)) + row_key[8:]

    def _in_cache(
        self, low: bytes, high: bytes | None, *, reverse: bool
    ) -> Iterator[tuple[bytes, bytes | None]]:
        """Rows of the cache, by keys that can be read as those of rows."""
        assert self.cache is not None, "asked for only where there is one"
        cached = self.cache.scan(low, high, reverse=reverse)
        if not self._time_first:
            return cached
        return ((key[:8] + key[9:], stored) for key, stored in cached)

    def _cached_between(
        self, low: int, high: int, *, reverse: bool
    ) -> Iterator[tuple[bytes, bytes | None]]:
        """Rows of several keys.

        Kafka Streams looks at all there are, or up to the first that is too new where time is first.
        """
        first, end = b"", None
        if self._time_first:
            first, end = self.segment(low) + _BY_TIME + pack_time(low), self.segment_after(high)
        for key, stored in self._in_cache(first, end, reverse=reverse):
            time = self.row_time(key)
            if low <= time <= high:
                yield key, stored
            elif self._time_first and time > high and not reverse:
                return

    def _comparable(self, rows: Iterator[tuple[bytes, bytes]]) -> Iterator[tuple[bytes, bytes]]:
        """Rows of the store, by keys that compare with those of `_in_cache`."""
        if self.spec.persistent:
            return rows
        return ((self.cache_key(row_key), stored) for row_key, stored in rows)

    def _is_of(self, row_key: bytes, data: bytes, low: int, high: int) -> bool:
        """Whether a row within `_ranges_of` these is wanted; keys that only begin alike are longer."""
        if not self._time_first and self.spec.persistent:
            return len(row_key) == len(data) + self.bytes_around_key
        return low <= self.row_time(row_key) <= high and self.row_data(row_key) == data

    def _ranges_of(
        self, data: bytes, low: int, high: int, *, reverse: bool
    ) -> Iterator[tuple[bytes, bytes]]:
        """Yields the ranges in which rows of this key and these times may lie, segment by segment."""
        if high < low:
            return
        segments = range(low // self._segment_ms, high // self._segment_ms + 1)
        for number in reversed(segments) if reverse else segments:
            segment = pack_time(number)
            if self._time_first:
                yield segment, pack_time(number + 1)
            else:
                yield segment + data + pack_time(low), segment + data + _pack_end(high + 1)

    def oldest_visible(self) -> int:
        oldest = self._observed - self._retention_ms
        return max(0, oldest if self._shows_edge else oldest + 1)

    def is_expired(self, time: int) -> bool:
        """Whether a row is too old to be stored."""
        return time < self._first_kept

    def admits(self, time: int) -> bool:
        """Note the time of a row that is being put; False, and counted, where it is too old to be stored."""
        if time > self._observed:
            self.advance(time)
        if time >= self._first_kept:
            return True
        self.refuse_expired(time, self._first_kept, self._retention_ms, self._cached_origin)
        return False

    def advance(self, time: int) -> None:
        """Note a new observed time; when it opens a segment, delete the segments that are too old."""
        observed = self._observed
        if time <= observed:
            return
        opens_segment = time // self._segment_ms > observed // self._segment_ms
        self._observed = time
        if time > self._newest:  # noqa: PLR1730  # a call takes longer
            self._newest = time
        self._first_kept = self._oldest_kept(time)
        oldest_segment = (time - self._retention_ms) // self._segment_ms
        if opens_segment and oldest_segment > 0:
            self._deleted_before = oldest_segment * self._segment_ms
            first_kept = pack_time(oldest_segment)
            self.rows.delete_before(first_kept)
            self.forget_before(first_kept)

    def _oldest_kept(self, observed: int) -> int:
        """The oldest time that can be stored at an observed time: on disk as long as its segment is there."""
        oldest = observed - self._retention_ms
        if self.spec.persistent:
            return oldest // self._segment_ms * self._segment_ms
        return oldest + 1


def _observed(times: Mapping[str, int]) -> int:
    return times.get(_OBSERVED, times.get(_NEWEST, -1))
