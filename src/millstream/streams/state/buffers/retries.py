"""Records that wait to be tried again, and behind them the later ones of their keys, in the order in which they came.

    key      key ++ number (8): numbers of a key follow each other, those of records without a key are negative
    value    due time (8) ++ failures (4) ++ record context ++ error? ++ value? ++ raw key? ++ raw value?

The raw key and value are those of the record that the task had read, for dead letters; -2 in place of the length says
that they are the same bytes as key and value. Which records come first, and when these are due, is kept in memory, and
read from the rows when it is first asked for after they were restored or rolled back.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from struct import Struct
from typing import Final, NamedTuple

from millstream.streams.errors import SerializationError
from millstream.streams.options import WaitingRecord
from millstream.streams.serdes.serde import Serde
from millstream.streams.state.buffers.record_bytes import (
    read_context,
    read_value,
    written_context,
    written_value,
)
from millstream.streams.state.changelog import Headers
from millstream.streams.state.key_value.store import OrderedRows
from millstream.streams.state.read_only import Stored
from millstream.streams.state.storage.byte_store import end_of_prefix

_NUMBER: Final = Struct(">q")
_HEAD: Final = Struct(">qi")
_LENGTH: Final = Struct(">i")
_SAME: Final = _LENGTH.pack(-2)

_Place = bytes | int
"""Where a record waits: its key, or its number where it has no key, and so nothing to wait for."""


class FirstRecord(NamedTuple):
    """The record of a key whose turn it is."""

    row_key: bytes
    key: Stored
    record: WaitingRecord


@dataclass(slots=True)
class _Queue:
    """The numbers of the records that wait at one place. `due_ms`: of the first; None while that is being tried."""

    first: int
    last: int
    due_ms: int | None = None


class _Index:
    """`order` has an entry (due time, row key) for each first record, and entries that were overtaken since."""

    def __init__(self) -> None:
        self.queues: dict[_Place, _Queue] = {}
        self.order: list[tuple[int, bytes]] = []
        self.lowest = 0
        """Of the numbers of records without a key."""

    def schedule(self, row_key: bytes, due_ms: int) -> None:
        """Notes when the first record of its place is due."""
        self.queues[_place(row_key)].due_ms = due_ms
        heapq.heappush(self.order, (due_ms, row_key))

    def first(self) -> tuple[int, bytes] | None:
        """Returns the entry that is due first."""
        order = self.order
        while order:
            due_ms, row_key = order[0]
            queue = self.queues.get(_place(row_key))
            if queue is not None and (queue.due_ms, queue.first) == (due_ms, _number(row_key)):
                return order[0]
            heapq.heappop(order)
        return None


class RetryStore(OrderedRows):
    """As who reads it sees it, a row is a key and the list of its records; records without a key have a row each."""

    _known: _Index | None = None

    # What the operator asks.

    def read_index(self) -> None:
        """Reads all rows, if that was not done since they were restored or rolled back: otherwise
        it is done when it is needed.
        """
        self._known = self._index

    @property
    def next_due_ms(self) -> int | None:
        """The time when the first record is due; None where none waits."""
        first = self._index.first()
        return None if first is None else first[0]

    def holds(self, key: object) -> bool:
        """Whether a record of this key waits, so that others must wait behind it."""
        queues = self._index.queues
        return bool(queues) and key is not None and self.key_bytes(key) in queues

    def append(self, key: object, record: WaitingRecord) -> None:
        """Have a record wait behind all others of its key."""
        data, value = self.encode(key, record.value)
        index = self._index
        if data is None:
            place: _Place = index.lowest - 1
            number = index.lowest = index.lowest - 1
        else:
            place = data
            number = index.queues[data].last + 1 if data in index.queues else 0
        row_key = _row_key(place, number)
        self._write(row_key, record, value)
        if number <= 0:
            index.queues[place] = _Queue(number, number)
            index.schedule(row_key, record.due_ms)
        else:
            index.queues[place].last = number

    def take_due(self, time_ms: int, most: int) -> list[FirstRecord]:
        """Returns records that are due, each the first of its key, those first that have been due longest.

        Each of them must be given back to `wait_again` or `remove`.
        """
        index = self._index
        due: list[FirstRecord] = []
        while len(due) < most and (first := index.first()) is not None and first[0] <= time_ms:
            _, row_key = heapq.heappop(index.order)
            index.queues[_place(row_key)].due_ms = None
            due.append(FirstRecord(row_key, self._read_key(row_key), self._read(row_key)))
        return due

    def wait_again(self, first: FirstRecord, record: WaitingRecord) -> None:
        """Keep a record that has failed once more."""
        self._write(first.row_key, record, self.encode(first.key, record.value)[1])
        self._index.schedule(first.row_key, record.due_ms)

    def remove(self, first: FirstRecord) -> None:
        """Forget a record: it is the turn of the next one of its key."""
        self.put_row(first.row_key, None, first.record.context.timestamp)
        queues, place = self._index.queues, _place(first.row_key)
        queue = queues[place]
        if queue.first == queue.last:
            del queues[place]
            return
        queue.first += 1
        row_key = first.row_key[: -_NUMBER.size] + _NUMBER.pack(queue.first)
        self._index.schedule(row_key, _HEAD.unpack_from(self._stored(row_key))[0])

    def encode(self, key: object, value: object) -> tuple[bytes | None, bytes | None]:
        """Returns key and value as bytes, None for None.

        Raises SerializationError where their serdes cannot write them.
        """
        if key is not None:
            return self.encoded(key, value)
        try:
            return None, None if value is None else self._encode_value(value)
        except Exception as error:
            raise self._unwritable(key, value) from error

    # What readers ask.

    def get(self, key: object) -> list[WaitingRecord] | None:
        """Returns the records of a key in their order; None where none waits."""
        data = self.key_bytes(key)
        return self._waiting_at(data) if data in self._index.queues else None

    def get_flushed(self, key: object) -> list[WaitingRecord] | None:
        """Returns what `get` gives: no cache holds anything back."""
        return self.get(key)

    def rows_between(
        self, lower: object, upper: object, *, reverse: bool
    ) -> Iterator[tuple[Stored, Stored]]:
        low = b"" if lower is None else self.key_bytes(lower)
        end = None if upper is None else self.key_bytes(upper) + b"\x00"
        return self._rows_of_keys(low, end, reverse=reverse)

    def prefix_scan(
        self, prefix: object, serde: Serde[Stored] | None = None
    ) -> Iterator[tuple[Stored, Stored]]:
        data = self.key_bytes(prefix) if serde is None else serde.encode(prefix)
        return self._rows_of_keys(data, end_of_prefix(data), reverse=False)

    def approximate_num_entries(self) -> int:
        """Returns the number of keys that have records waiting; each record without a key counts as one."""
        return len(self._index.queues)

    def decode_row(self, stored: bytes) -> Stored:
        """Returns one waiting record; None where its raw key would be that of its row."""
        return self._decoded(b"", stored)

    # What the task asks.

    def discard(self) -> None:
        super().discard()
        self._known = None

    def restore_columns(
        self,
        keys: Sequence[bytes | None],
        values: Sequence[bytes | None],
        timestamps: Sequence[int],
        headers: Sequence[Headers] | None,
    ) -> None:
        super().restore_columns(keys, values, timestamps, headers)
        self._known = None

    def close(self) -> None:
        super().close()
        self._known = None

    def restore_row(
        self, key: bytes, value: bytes | None, _timestamp: int, _headers: Headers
    ) -> None:
        self.rows.put(key, value)

    # Rows.

    @property
    def _index(self) -> _Index:
        if self._known is None:
            self._known = self._index_of_rows()
        return self._known

    def _index_of_rows(self) -> _Index:
        index = _Index()
        for row_key, _ in self.rows.scan(b"", None):
            place, number = _place(row_key), _number(row_key)
            queue = index.queues.setdefault(place, _Queue(number, number))
            queue.first, queue.last = min(queue.first, number), max(queue.last, number)
            index.lowest = min(index.lowest, number)
        for place, queue in index.queues.items():
            row_key = _row_key(place, queue.first)
            index.schedule(row_key, _HEAD.unpack_from(self._stored(row_key))[0])
        return index

    def _rows_of_keys(
        self, low: bytes, end: bytes | None, *, reverse: bool
    ) -> Iterator[tuple[Stored, Stored]]:
        """The places are gone through as they are when this is called."""
        places = [
            place
            for place in self._index.queues
            if low <= (data := place if isinstance(place, bytes) else b"")
            and (end is None or data < end)
        ]
        places.sort(key=lambda place: _row_key(place, 0), reverse=reverse)
        keys = ((None if isinstance(place, int) else self._key.decode(place)) for place in places)
        return iter(list(zip(keys, map(self._waiting_at, places), strict=True)))

    def _waiting_at(self, place: _Place) -> list[WaitingRecord]:
        queue = self._index.queues[place]
        numbers = range(queue.first, queue.last + 1)
        return [self._read(_row_key(place, number)) for number in numbers]

    def _stored(self, row_key: bytes) -> bytes:
        stored = self.flushed_row(row_key)
        assert stored is not None, "numbers of a key follow each other"
        return stored

    def _write(self, row_key: bytes, record: WaitingRecord, value: bytes | None) -> None:
        context = record.context
        key = None if _number(row_key) < 0 else row_key[: -_NUMBER.size]
        halves = ((context.source_raw_key, key), (context.source_raw_value, value))
        parts = [
            _HEAD.pack(record.due_ms, record.failures),
            written_context(context),
            written_value(None if record.error is None else record.error.encode()),
            written_value(value),
            *(_SAME if raw == given else written_value(raw) for raw, given in halves),
        ]
        self.put_row(row_key, b"".join(parts), context.timestamp)

    def _read_key(self, row_key: bytes) -> Stored:
        return None if _number(row_key) < 0 else self._key.decode(row_key[: -_NUMBER.size])

    def _read(self, row_key: bytes) -> WaitingRecord:
        key = None if _number(row_key) < 0 else row_key[: -_NUMBER.size]
        stored = self._stored(row_key)
        try:
            return self._decoded(key, stored)
        except Exception as error:
            unreadable = SerializationError(
                f"a record in store {self.name} cannot be read with serde {self._value.name}: {error}; "
                "give the serdes with which it was written"
            )
            unreadable.is_final = True
            raise unreadable from error

    def _decoded(self, key: bytes | None, stored: bytes) -> WaitingRecord:
        due_ms, failures = _HEAD.unpack_from(stored)
        rest = stored[_HEAD.size :]
        context, at = read_context(rest)
        error, at = read_value(rest, at)
        value, at = read_value(rest, at)
        raw_key, at = _read_raw(rest, at, key)
        raw_value, _ = _read_raw(rest, at, value)
        context = replace(
            context,
            topic=context.topic or None,
            source_raw_key=raw_key,
            source_raw_value=raw_value,
        )
        return WaitingRecord(
            None if value is None else self._decode_value(value),
            context,
            failures,
            due_ms,
            None if error is None else error.decode(),
        )


def _place(row_key: bytes) -> _Place:
    number = _number(row_key)
    return number if number < 0 else row_key[: -_NUMBER.size]


def _row_key(place: _Place, number: int) -> bytes:
    return _NUMBER.pack(place) if isinstance(place, int) else place + _NUMBER.pack(number)


def _number(row_key: bytes) -> int:
    number: int = _NUMBER.unpack_from(row_key, len(row_key) - _NUMBER.size)[0]
    return number


def _read_raw(data: bytes, at: int, same: bytes | None) -> tuple[bytes | None, int]:
    if data[at : at + _LENGTH.size] == _SAME:
        return same, at + _LENGTH.size
    return read_value(data, at)
