"""The buffer behind `suppress`: the latest change of each key, in the order of the time it was first buffered.

A later change of a buffered key takes its place. Bytes of the changelog are Kafka Streams' own, version 3:
record context ++ prior value ++ old value ++ new value ++ buffer time. Changelog records are written when the
task commits, one per key that changed since, without a timestamp; -1 stands for that here.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from struct import Struct

from millstream.streams.errors import StreamsError
from millstream.streams.options import RecordContext
from millstream.streams.state.buffers.record_bytes import (
    read_context,
    read_value,
    written_context,
    written_value,
)
from millstream.streams.state.changelog import Headers
from millstream.streams.state.read_only import Stored
from millstream.streams.state.store import ChangelogRecord, StateStore, StoreParts
from millstream.streams.topology.java_order import hash_order_of_bytes

CHANGELOG_HEADERS = (("v", b"\x03"),)
"""The version of the layout, by which Kafka Streams tells those of its releases apart."""
NO_TIMESTAMP = -1
"""Of changelog records: Kafka Streams gives them none, so the producer stamps them."""
_INT = Struct(">i")
_LONG = Struct(">q")
_SAME_AS_PRIOR = -2
"""A length that stands for an old value which is the prior one: Kafka Streams writes such bytes once."""


@dataclass(slots=True)
class Buffered:
    """One change that waits. `prior` is the value that downstream last saw."""

    time: int
    prior: bytes | None
    old: bytes | None
    new: bytes | None
    context: RecordContext

    def size(self, key: bytes) -> int:
        """Returns the bytes as Kafka Streams counts them for `max_bytes`."""
        old = 0 if self.old is None or self.old == self.prior else len(self.old)
        context = self.context
        headers = sum(len(name) + len(value or b"") for name, value in context.headers)
        values = len(self.prior or b"") + old + len(self.new or b"")
        return 8 + len(key) + values + 8 + 8 + len(context.topic or "") + 4 + headers

    def encode(self) -> bytes:
        """Returns the changelog value."""
        old = written_value(self.old)
        if self.old is not None and self.old == self.prior:
            old = _INT.pack(_SAME_AS_PRIOR)
        parts = (
            written_context(self.context),
            written_value(self.prior),
            old,
            written_value(self.new),
        )
        return b"".join(parts) + _LONG.pack(self.time)

    @classmethod
    def decode(cls, data: bytes) -> Buffered:
        context, at = read_context(data)
        prior, at = read_value(data, at)
        if _INT.unpack_from(data, at)[0] == _SAME_AS_PRIOR:
            old, at = prior, at + 4
        else:
            old, at = read_value(data, at)
        new, at = read_value(data, at)
        return cls(_LONG.unpack_from(data, at)[0], prior, old, new, context)


@dataclass(frozen=True, slots=True)
class EvictedChange:
    """A change that was evicted and goes on."""

    key: Stored
    new: Stored
    old: Stored
    context: RecordContext
    forget: Callable[[], object]
    """To be called when it has gone through everything below."""


class SuppressionBuffer(StateStore):
    """Buffered changes in memory; their encoded form in the rows, so that they survive with the other stores."""

    def __init__(self, parts: StoreParts) -> None:
        super().__init__(parts)
        self._dirty: list[bytes] = []
        self._leaving: dict[bytes, Buffered] = {}
        self._load()

    @property
    def bytes_buffered(self) -> int:
        return self._bytes

    def __len__(self) -> int:
        return len(self._entries)

    def put(
        self, time: int, key: object, change: tuple[object, object], context: RecordContext
    ) -> None:
        """Buffer a change (new value, old value) of a key."""
        new, old = change
        try:
            data = self._encode_key(key)
            new_data = None if new is None else self._encode_value(new)
            old_data = None if old is None else self._encode_value(old)
        except StreamsError:
            raise
        except Exception as error:
            raise self._unwritable(key, new) from error
        known = self._entries.get(data)
        if known is None:
            entry = Buffered(time, old_data, old_data, new_data, context)
            heapq.heappush(self._order, (time, data))
        else:
            self._bytes -= known.size(data)
            entry = Buffered(known.time, known.prior, old_data, new_data, context)
        self._entries[data] = entry
        self._bytes += entry.size(data)
        self._touch(data, entry)

    def waiting(self, key: object) -> Buffered | None:
        """Returns the change of a key that waits, or is just going out: its readers still see what was before."""
        data = self._encode_key(key)
        return self._entries.get(data) or self._leaving.get(data)

    def prior(self, waiting: Buffered) -> object:
        """Returns the value that downstream has last seen; when that was is not known any more."""
        return None if waiting.prior is None else self._decode_value(waiting.prior)

    def oldest_time(self) -> int | None:
        """Returns the time of the change that has waited longest."""
        return self._order[0][0] if self._order else None

    def evict(self) -> EvictedChange:
        """Take out the change that has waited longest."""
        _, data = heapq.heappop(self._order)
        entry = self._leaving[data] = self._entries.pop(data)
        self._bytes -= entry.size(data)
        self._touch(data, None)
        decode = self._decode_value
        new = None if entry.new is None else decode(entry.new)
        old = None if entry.old is None else decode(entry.old)
        forget = partial(self._leaving.pop, data, None)
        return EvictedChange(self._key.decode(data), new, old, entry.context, forget)

    def flush(self) -> None:
        """Write changelog records of the keys that changed since the last flush."""
        dirty, self._dirty = hash_order_of_bytes(self._dirty), []
        if self.changelog is not None:
            for data in dirty:
                written = self.rows.pending.get(data)
                headers = () if written is None else CHANGELOG_HEADERS
                self.changelog.append(data, written, NO_TIMESTAMP, headers)

    def changes(self) -> Iterator[tuple[bytes, Buffered]]:
        """Yields everything that is buffered, oldest first."""
        for _, data in sorted(self._order):
            yield data, self._entries[data]

    def discard(self) -> None:
        super().discard()
        self._dirty = []
        self._load()

    def restore_row(
        self, key: bytes, value: bytes | None, _timestamp: int, _headers: Headers
    ) -> None:
        self.rows.put(key, value)

    def restore_rows(self, records: Sequence[ChangelogRecord]) -> None:
        super().restore_rows(records)
        self._load()

    def _load(self) -> None:
        self._entries = {key: Buffered.decode(data) for key, data in self.rows.scan(b"", None)}
        self._order = [(entry.time, key) for key, entry in self._entries.items()]
        heapq.heapify(self._order)
        self._bytes = sum(entry.size(key) for key, entry in self._entries.items())

    def _touch(self, data: bytes, entry: Buffered | None) -> None:
        self._dirty.append(data)
        self.rows.put(data, None if entry is None else entry.encode())
