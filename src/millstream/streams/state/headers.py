"""Rows that keep the headers they were put with, in the bytes of Kafka Streams' stores with headers (KIP-1271).

    row        varint length of the headers ++ headers ++ the row as a store without headers has it
    headers    nothing, or: varint count ++ for each: varint length of the name ++ name ++ varint length of the value ++ value

A value that is None has the length -1. The DSL keeps no headers in its rows (KIP-1285): such a row
is a zero byte and the row.
"""

from __future__ import annotations

from dataclasses import replace
from struct import Struct
from typing import Any, Final, NamedTuple, Self

from millstream.streams.errors import InvalidStoreError, SerializationError
from millstream.streams.serdes.varint import read_varint, write_varint
from millstream.streams.state.changelog import Headers
from millstream.streams.state.storage.transaction import TransactionalRows

NO_HEADERS: Final = b"\x00"
"""What a row without headers begins with."""
pack_time_without_headers: Final = Struct(">xq").pack
"""What a timestamped row without headers begins with: no headers, and the timestamp."""
_NO_VALUE: Final = write_varint(-1)


class ValueTimestampHeaders(tuple[Any, int]):  # noqa: SLOT001  # a tuple has no slots, and headers need a place
    """A row of a timestamped store with headers: (value, timestamp) as in other timestamped
    stores, and `headers` besides.

    As a tuple it is compared without the headers.
    """

    headers: Headers

    def __new__(cls, value: object, timestamp: int, headers: Headers = ()) -> Self:
        row = super().__new__(cls, (value, timestamp))
        row.headers = headers
        return row

    @property
    def value(self) -> Any:  # Any: values of any type
        return self[0]

    @property
    def timestamp(self) -> int:
        return self[1]

    def __repr__(self) -> str:
        return f"ValueTimestampHeaders({self[0]!r}, {self[1]}, {self.headers!r})"


def as_row(row: tuple[Any, int] | None) -> ValueTimestampHeaders | None:  # Any: any value
    """Returns the row of a store with headers; a pair is one that an operator has put, without headers."""
    if row is None or isinstance(row, ValueTimestampHeaders):
        return row
    return ValueTimestampHeaders(*row)


class AggregationWithHeaders(NamedTuple):
    """The row of a session in a store with headers."""

    aggregation: Any  # Any: aggregates of any type
    headers: Headers = ()


def with_headers(row: bytes, headers: Headers) -> bytes:
    """Returns the row with its headers in front."""
    if not headers:
        return NO_HEADERS + row
    encoded = encode_headers(headers)
    return write_varint(len(encoded)) + encoded + row


def split_headers(stored: bytes) -> tuple[Headers, bytes]:
    """Returns the headers, and the row behind them. Raises SerializationError for bytes that are no such row."""
    at, end = _span(stored)
    return (decode_headers(stored[at:end]) if at < end else ()), stored[end:]


def without_headers(stored: bytes) -> bytes:
    """Returns the row behind the headers, which are not looked at."""
    return stored[1:] if stored[:1] == NO_HEADERS else stored[_span(stored)[1] :]


def adopt_headers(store: str, rows: TransactionalRows, *, wanted: bool) -> None:
    """Make the rows those of a store with headers, if they are not yet and that is wanted: they have none, so far.

    Raises InvalidStoreError where rows have headers that are not wanted, as Kafka Streams refuses to go back.
    """
    known = rows.metadata
    if known.with_headers and not wanted:
        raise InvalidStoreError(
            f"store {store} was written with headers: keep them, or delete its directory to restore it without"
        )
    if wanted and not known.with_headers:
        for key, row in list(rows.scan(b"", None)):
            rows.put(key, with_headers(row, ()))
        rows.commit(replace(known, with_headers=True))


def encode_headers(headers: Headers) -> bytes:
    """Encodes headers as they stand in a row, without their length; nothing for none."""
    if not headers:
        return b""
    parts = [write_varint(len(headers))]
    for name, value in headers:
        encoded = name.encode()
        parts += (write_varint(len(encoded)), encoded)
        parts += (_NO_VALUE,) if value is None else (write_varint(len(value)), value)
    return b"".join(parts)


def decode_headers(data: bytes) -> Headers:
    """Reads the bytes of `encode_headers`. Raises SerializationError for any others."""
    try:
        count, at = read_varint(data) if data else (0, 0)
        headers = []
        for _ in range(count):
            name, at = _read_bytes(data, at)
            value, at = _read_bytes(data, at)
            headers.append(((name or b"").decode(), value))
    except (IndexError, UnicodeDecodeError) as error:
        raise SerializationError(f"headers of a stored row cannot be read: {error}") from error
    return tuple(headers)


def _span(stored: bytes) -> tuple[int, int]:
    """Returns the positions where the headers begin and end."""
    try:
        length, at = read_varint(stored)
    except IndexError as error:
        raise SerializationError("a row with headers cannot be read: it is empty") from error
    if not 0 <= length <= len(stored) - at:
        raise SerializationError(
            f"a row with headers cannot be read: {length} bytes of headers in {len(stored)} bytes;"
            " was it written by a store without headers?"
        )
    return at, at + length


def _read_bytes(data: bytes, at: int) -> tuple[bytes | None, int]:
    length, at = read_varint(data, at)
    if length < 0:
        return None, at
    if length > len(data) - at:
        raise IndexError(f"{length} bytes wanted, {len(data) - at} left")
    return data[at : at + length], at + length
