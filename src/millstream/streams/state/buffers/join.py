"""Records of a stream that wait until the table they are joined with has had its time (KIP-923).

Keys are 0 ++ timestamp (8) ++ key ++ sequence number (4), so that they come out in the order of
time, and of arrival for equal keys. Values and the changelog have Kafka Streams' bytes, those of
suppression buffers with nothing but a new value.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from struct import Struct
from typing import Final, NamedTuple

from millstream.streams.options import RecordContext
from millstream.streams.serdes.windowed import MAX_TIMESTAMP
from millstream.streams.state.buffers.suppression import NO_TIMESTAMP, Buffered
from millstream.streams.state.changelog import Headers
from millstream.streams.state.store import ChangelogRecord, StateStore, StoreParts

_TIME: Final = Struct(">bq")
_SEQUENCE: Final = Struct(">i")
_OBSERVED: Final = "observed"
_NUMBER: Final = "number"


class BufferedRecord(NamedTuple):
    key: object
    value: object
    context: RecordContext


class JoinBuffer(StateStore):
    def __init__(self, parts: StoreParts) -> None:
        super().__init__(parts)
        grace_ms = parts.spec.retention_ms
        assert grace_ms is not None, "a join that buffers has a grace period"
        self._grace_ms = grace_ms
        self._oldest: int | None = None
        self._find_oldest()

    def put(self, key: object, value: object, context: RecordContext) -> bool:
        """Keep a record; False for one that is older than the grace period already."""
        observed = self.times.get(_OBSERVED, -1)
        if observed - self._grace_ms > context.timestamp:
            return False
        self.times[_OBSERVED] = max(observed, context.timestamp)
        number = self.times[_NUMBER] = self.times.get(_NUMBER, 0) + 1 & 0x7FFFFFFF
        data = _TIME.pack(0, context.timestamp) + self._encode_key(key) + _SEQUENCE.pack(number)
        self._write(data, Buffered(0, None, None, self._encode_value(value), context).encode())
        if self._oldest is None or context.timestamp < self._oldest:
            self._oldest = context.timestamp
        return True

    def take_due(self) -> Iterator[BufferedRecord]:
        """Takes out the records whose grace period is over, the oldest first."""
        due_ms = self.times.get(_OBSERVED, -1) - self._grace_ms
        if self._oldest is None or self._oldest > due_ms:
            return
        end = _TIME.pack(0, due_ms + 1) if due_ms < MAX_TIMESTAMP else None
        for data, stored in list(self.rows.scan(b"", end)):
            self._write(data, None)
            kept = Buffered.decode(stored)
            assert kept.new is not None, "null values are never buffered"
            key = self._key.decode(data[_TIME.size : -_SEQUENCE.size])
            yield BufferedRecord(key, self._decode_value(kept.new), kept.context)
        self._find_oldest()

    def discard(self) -> None:
        super().discard()
        self._find_oldest()

    def restore_row(
        self, key: bytes, value: bytes | None, _timestamp: int, _headers: Headers
    ) -> None:
        """The time and the number that were reached can be read from the keys."""
        at, number = _TIME.unpack_from(key)[1], _SEQUENCE.unpack(key[-_SEQUENCE.size :])[0]
        self.times[_OBSERVED] = max(self.times.get(_OBSERVED, -1), at)
        self.times[_NUMBER] = max(self.times.get(_NUMBER, 0), number)
        self.rows.put(key, value)

    def restore_rows(self, records: Sequence[ChangelogRecord]) -> None:
        super().restore_rows(records)
        self._find_oldest()

    def _find_oldest(self) -> None:
        first = next(iter(self.rows.scan(b"", None)), None)
        self._oldest = None if first is None else _TIME.unpack_from(first[0])[1]

    def _write(self, data: bytes, written: bytes | None) -> None:
        self.rows.put(data, written)
        if self.changelog is not None:
            self.changelog.append(data, written, NO_TIMESTAMP)
