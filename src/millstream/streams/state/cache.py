"""The record cache of one store: what was written since the last flush, once per row (S38).

An update that is followed by another of the same row is never seen by anybody downstream, nor by the changelog. Rows
themselves are in the store at once: reads need no cache. Kept here is what they were at the last flush, and where the
last update of each came from.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from millstream.streams.state.changelog import Headers
from millstream.streams.state.transaction import TransactionalRows

_ENTRY_OVERHEAD_BYTES = 96
"""About what Kafka Streams counts for an entry besides its key and value."""


@dataclass(frozen=True, slots=True)
class Origin:
    """The record that was being processed when a row was written."""

    topic: str | None = None
    offset: int = -1
    headers: Headers = ()
    raw_key: bytes | None = None
    raw_value: bytes | None = None


@dataclass(slots=True)
class CacheEntry:
    """A row that was written: its bytes now and at the last flush, None where there was, or is, no row."""

    row_key: bytes
    log_key: bytes
    before: bytes | None
    stored: bytes | None
    timestamp: int
    origin: Origin

    @property
    def size_bytes(self) -> int:
        return len(self.row_key) + len(self.stored or b"") + _ENTRY_OVERHEAD_BYTES


class RecordCache:
    """Entries are in the order of their latest write; that is the order in which they are flushed."""

    def __init__(self, rows: TransactionalRows) -> None:
        self._rows = rows
        self._entries: dict[bytes, CacheEntry] = {}
        self.size_bytes = 0
        self.origin = Origin()
        """Of what is written next; whoever processes records sets it."""

    def write(
        self,
        row_key: bytes,
        log_key: bytes,
        stored: bytes | None,
        timestamp: int,
        headers: Headers | None = None,
    ) -> None:
        """To be called before the rows are changed. `headers` of the record, where the store knows better than `origin`."""
        origin = self.origin if headers is None else replace(self.origin, headers=headers)
        known = self._entries.pop(row_key, None)
        if known is None:
            before = self._rows.get(row_key)
        else:
            before = known.before
            self.size_bytes -= known.size_bytes
        entry = CacheEntry(row_key, log_key, before, stored, timestamp, origin)
        self._entries[row_key] = entry
        self.size_bytes += entry.size_bytes

    def entry(self, row_key: bytes) -> CacheEntry | None:
        """What was written to a row since the last flush."""
        return self._entries.get(row_key)

    def take(self, *, tells_changes: bool) -> list[CacheEntry]:
        """What is to go on, the oldest write first. Of a table, rows that came and went since the last flush are left out."""
        entries = list(self._entries.values())
        self.clear()
        if not tells_changes:
            return entries
        return [each for each in entries if not (each.before is None and each.stored is None)]

    def clear(self) -> None:
        self._entries = {}
        self.size_bytes = 0
