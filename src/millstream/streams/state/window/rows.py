"""Base of window stores: how rows are laid out, and how they are found.

Bytes: a changelog key is key ++ start (8) ++ sequence number (4), as in Kafka Streams; a row's key is the same
behind its segment, or start ++ key ++ sequence number where the store is time-ordered.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import Final

from millstream.streams.serdes.windowed import MAX_TIMESTAMP, Windowed
from millstream.streams.state.read_only import ReadOnlyWindowStore, Stored
from millstream.streams.state.rows.segmented import SegmentedStore, pack_time, unpack_time
from millstream.streams.state.store import StoreParts

NO_SEQUENCE: Final = b"\x00\x00\x00\x00"


class WindowRows(SegmentedStore, ReadOnlyWindowStore[Stored, Stored]):
    """Rows by key and window start."""

    bytes_around_key = 20

    def __init__(self, parts: StoreParts) -> None:
        super().__init__(parts)
        assert parts.spec.window_size_ms is not None, "a window store has a window size"
        self._window_size_ms = parts.spec.window_size_ms

    @abstractmethod
    def decode_row(self, stored: bytes) -> Stored:
        """Returns a row as the application sees it."""

    def rows_of_key(
        self, key: object, time_from: int, time_to: int, *, reverse: bool = False
    ) -> list[tuple[int, Stored]]:
        return list(self.rows_of_bytes(self.key_bytes(key), time_from, time_to, reverse=reverse))

    def rows_of_bytes(
        self,
        data: bytes,
        time_from: int,
        time_to: int,
        *,
        reverse: bool = False,
        as_range: bool = False,
    ) -> Iterator[tuple[int, Stored]]:
        """Yields the rows of `rows_of_key`, of the key with these bytes, one by one: what is not
        come to is not used in a cache.
        """
        rows = self.rows_of(data, time_from, time_to, reverse=reverse, as_range=as_range)
        return ((self.row_time(row_key), self.decode_row(stored)) for row_key, stored in rows)

    def rows_of_keys(
        self, key_from: object, key_to: object, time_from: int, time_to: int, *, reverse: bool
    ) -> Iterator[tuple[Windowed[Stored], Stored]]:
        oldest = self.oldest_visible()
        first = b"" if key_from is None else self.key_bytes(key_from)
        last = None if key_to is None else self.key_bytes(key_to)
        rows = self.rows_between(time_from, time_to, oldest=oldest, reverse=reverse)
        for row_key, stored in rows:
            data, start = self.split(row_key)
            if first <= data and (last is None or data <= last):
                yield self.window(data, start), self.decode_row(stored)

    def order_in_memory(self, row_key: bytes) -> tuple[int, bytes]:
        data, start = self.split(row_key)
        return start, data

    def row_time(self, row_key: bytes) -> int:
        start: int = unpack_time(row_key, 8 if self._time_first else len(row_key) - 12)[0]
        return start

    def row_times(self, row_keys: Sequence[bytes]) -> list[int]:
        """Many windows start together: each start is looked at once."""
        first = 8 if self._time_first else -12
        tails = [row_key[first : first + 8] for row_key in row_keys]
        times: dict[bytes, int] = {tail: unpack_time(tail)[0] for tail in set(tails)}
        return [times[tail] for tail in tails]

    def row_data(self, row_key: bytes) -> bytes:
        return self.split(row_key)[0]

    def window(self, data: bytes, start: int) -> Windowed[Stored]:
        """Returns the key of a row as the application sees it."""
        end = min(start + self._window_size_ms, MAX_TIMESTAMP)
        return Windowed(self._key.decode(data), start, end)

    def row_key(self, windowed: bytes, start: int) -> bytes:
        """Returns the key of the one row that this window has where duplicates are not kept;
        `windowed`: key ++ start.
        """
        segment = pack_time(start // self._segment_ms)
        if self._time_first:
            return segment + windowed[-8:] + windowed[:-8] + NO_SEQUENCE
        return segment + windowed + NO_SEQUENCE

    def row_keys(self, windowed: Sequence[bytes]) -> tuple[list[bytes], list[int]]:
        """Returns what `row_key` gives for each, and the starts.

        Many windows start together: each start is looked at once.
        """
        tails = [each[-8:] for each in windowed]
        starts = {tail: unpack_time(tail)[0] for tail in set(tails)}
        if self._time_first:
            heads = {tail: self.segment(start) + tail for tail, start in starts.items()}
            keys = [
                heads[tail] + each[:-8] + NO_SEQUENCE
                for each, tail in zip(windowed, tails, strict=True)
            ]
        else:
            heads = {tail: self.segment(start) for tail, start in starts.items()}
            keys = [
                heads[tail] + each + NO_SEQUENCE for each, tail in zip(windowed, tails, strict=True)
            ]
        return keys, [starts[tail] for tail in tails]

    def log_key(self, row_key: bytes) -> bytes:
        if self._time_first:
            return row_key[16:-4] + row_key[8:16] + row_key[-4:]
        return super().log_key(row_key)

    def log_keys(self, row_keys: Sequence[bytes]) -> list[bytes | None]:
        if self._time_first:
            return [each[16:-4] + each[8:16] + each[-4:] for each in row_keys]
        return [each[8:] for each in row_keys]

    def split(self, row_key: bytes) -> tuple[bytes, int]:
        """Returns the key's bytes and the start."""
        if self._time_first:
            return row_key[16:-4], unpack_time(row_key, 8)[0]
        return row_key[8:-12], unpack_time(row_key, len(row_key) - 12)[0]
