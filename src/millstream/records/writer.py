# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# mypy: disable-error-code="valid-type, untyped-decorator, no-any-return"
# Reason: Cython's C types and decorators mean nothing to mypy.
"""Records written as they stand in a batch: rows of Arrow buffers, or records that come one by one.

A leaf like `walker`: interpreted as `writer`, compiled as `writer_compiled` (docs/adr/0005). It owns the layout of
records, how large they are and how many of them fit; buffers, headers and compression belong to the caller.
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

from millstream.errors import InvalidRecord

if TYPE_CHECKING:
    from collections.abc import Sequence

    from millstream.records.record import Header

try:
    import cython
except ModuleNotFoundError:  # only a build needs Cython
    from millstream.records import uncompiled as cython
if cython.compiled:
    from cython.cimports.libc.string import memcpy


def column_size(rows: Sequence[object], of_null: cython.Py_ssize_t) -> int:
    """Returns the bytes of all rows together, where a null counts as given."""
    row: (
        cython.object
    )  # a serde of a user may give other things than bytes, which is said elsewhere
    total: cython.Py_ssize_t = 0
    if not cython.compiled and None not in rows:
        return sum(map(len, rows))  # type: ignore[arg-type]  # a third of the time of a loop that is interpreted
    for row in rows:
        total += of_null if row is None else len(row)
    return total


@cython.cclass
class BinarySource:
    """An Arrow binary column that is read row by row.

    `offsets` is int32, one more than rows. `validity` is a bitmap whose bit `first_bit` belongs to the first row; an
    empty one means that no row is null.
    """

    _offsets: cython.const[cython.int][::1]
    _validity: cython.const[cython.uchar][::1]
    _data: cython.const[cython.uchar][::1]
    _first_bit: cython.Py_ssize_t
    _has_nulls: cython.bint

    def __init__(
        self, offsets: memoryview, validity: memoryview, first_bit: int, data: memoryview
    ) -> None:
        rows = len(offsets) - 1
        if len(validity) and len(validity) * 8 < first_bit + rows:
            raise BufferError(f"a bitmap of {len(validity)} bytes for {first_bit} + {rows} rows")
        self._offsets = offsets
        self._validity = validity
        self._data = data
        self._first_bit = first_bit
        self._has_nulls = len(validity) > 0

    def rows(self) -> int:
        return len(self._offsets) - 1

    @cython.cfunc
    @cython.inline
    def length(self, row: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Bytes of a row, -1 for null."""
        bit: cython.Py_ssize_t
        start: cython.Py_ssize_t = self._offsets[row]
        end: cython.Py_ssize_t = self._offsets[row + 1]
        if self._has_nulls:
            bit = self._first_bit + row
            if not self._validity[bit >> 3] >> (bit & 7) & 1:
                return -1
        if start < 0 or end < start or end > len(self._data):
            raise BufferError(f"row {row} is not within its Arrow column")
        return end - start

    @cython.cfunc
    @cython.inline
    def put(
        self,
        out: cython.pointer[cython.uchar],
        at: cython.Py_ssize_t,
        row: cython.Py_ssize_t,
    ) -> cython.Py_ssize_t:
        """Write length and bytes of a row; the place behind them."""
        length: cython.Py_ssize_t = self.length(row)
        start: cython.Py_ssize_t = self._offsets[row]
        at = _put_varint(out, at, length)
        if length <= 0:
            return at
        if cython.compiled:
            memcpy(out + at, cython.address(self._data[0]) + start, length)
        else:
            out[at : at + length] = self._data[start : start + length]
        return at + length


@cython.cclass
class HeaderSource:
    """An Arrow list column of header keys and values; `list_offsets` is int32, one more than rows."""

    _list_offsets: cython.const[cython.int][::1]
    _keys: BinarySource
    _values: BinarySource

    def __init__(self, list_offsets: memoryview, keys: BinarySource, values: BinarySource) -> None:
        if keys.rows() != values.rows() or list_offsets[len(list_offsets) - 1] > keys.rows():
            raise BufferError("more headers announced than there are")
        self._list_offsets = list_offsets
        self._keys = keys
        self._values = values

    def rows(self) -> int:
        return len(self._list_offsets) - 1

    @cython.cfunc
    def count(self, row: cython.Py_ssize_t) -> cython.Py_ssize_t:
        return self._list_offsets[row + 1] - self._list_offsets[row]

    @cython.cfunc
    def size(self, row: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Bytes of the headers of a row, without their count."""
        first: cython.Py_ssize_t = self._list_offsets[row]
        last: cython.Py_ssize_t = self._list_offsets[row + 1]
        index: cython.Py_ssize_t
        length: cython.Py_ssize_t
        total: cython.Py_ssize_t = 0
        for index in range(first, last):
            length = self._keys.length(index)
            if length < 0:
                raise InvalidRecord(f"a header of row {row} has no key; only its value may be null")
            total += _field_size(length) + _field_size(self._values.length(index))
        return total

    @cython.cfunc
    def put(
        self,
        out: cython.pointer[cython.uchar],
        at: cython.Py_ssize_t,
        row: cython.Py_ssize_t,
    ) -> cython.Py_ssize_t:
        """Write the headers of a row; the place behind them."""
        index: cython.Py_ssize_t
        for index in range(self._list_offsets[row], self._list_offsets[row + 1]):
            at = self._keys.put(out, at, index)
            at = self._values.put(out, at, index)
        return at


@cython.cclass
class RecordWriter:
    """Rows of keys, values, timestamps (int64, ms) and perhaps headers, to be written batch by batch.

    The first record of each batch has `batch_headers` before its own.
    """

    _keys: BinarySource
    _values: BinarySource
    _timestamps: cython.const[cython.longlong][::1]
    _headers: HeaderSource | None
    _rows: cython.Py_ssize_t
    _batch_headers: cython.const[cython.uchar][::1]
    _batch_header_count: cython.Py_ssize_t

    def __init__(
        self,
        keys: BinarySource,
        values: BinarySource,
        timestamps: memoryview,
        headers: HeaderSource | None,
        batch_headers: Sequence[Header] = (),
    ) -> None:
        rows = len(timestamps)
        if keys.rows() != rows or values.rows() != rows:
            raise BufferError("every column must have the same number of rows")
        if headers is not None and headers.rows() != rows:
            raise BufferError("every column must have the same number of rows")
        self._keys = keys
        self._values = values
        self._timestamps = timestamps
        self._headers = headers
        self._rows = rows
        self._batch_headers = encode_headers(batch_headers)
        self._batch_header_count = len(batch_headers)

    def timestamp(self, row: cython.Py_ssize_t) -> int:
        if row < 0 or row >= self._rows:
            raise IndexError(f"row {row} of {self._rows}")
        return self._timestamps[row]

    def fit(self, first: cython.Py_ssize_t, bytes_max: cython.longlong) -> tuple[int, int, int]:
        """The rows from `first` on that make records of `bytes_max` together, at least one of them.

        Gives the row after the last one, the exact size of the records and their highest timestamp.
        """
        row: cython.Py_ssize_t = first
        total: cython.longlong = 0
        size: cython.longlong
        max_timestamp: cython.longlong
        if first < 0 or first >= self._rows:
            raise IndexError(f"row {first} of {self._rows}")
        max_timestamp = self._timestamps[first]
        while row < self._rows:
            size = self._body_size(first, row)
            size += _varint_size(size)
            if row > first and total + size > bytes_max:
                break
            total += size
            max_timestamp = max(max_timestamp, self._timestamps[row])
            row += 1
        return row, total, max_timestamp

    def write(
        self,
        out: cython.uchar[::1],
        start: cython.Py_ssize_t,
        first: cython.Py_ssize_t,
        last: cython.Py_ssize_t,
    ) -> int:
        """Write rows `first` up to `last` into `out` from `start` on; the place behind them.

        Raises BufferError where `out` is shorter than `fit` said it must be.
        """
        data: cython.pointer[cython.uchar]
        at: cython.Py_ssize_t = start
        room: cython.Py_ssize_t = len(out)
        row: cython.Py_ssize_t
        size: cython.Py_ssize_t
        data = cython.address(out[0]) if cython.compiled else out
        if first < 0 or last > self._rows or at < 0:
            raise IndexError(f"rows {first} to {last} of {self._rows}, from byte {start} on")
        for row in range(first, last):
            size = self._body_size(first, row)
            if size + _varint_size(size) > room - at:
                raise BufferError(f"row {row} does not fit in {room} bytes")
            at = _put_varint(data, at, size)
            data[at] = 0  # attributes: none are defined
            at = _put_varint(data, at + 1, self._timestamps[row] - self._timestamps[first])
            at = _put_varint(data, at, row - first)
            at = self._keys.put(data, at, row)
            at = self._values.put(data, at, row)
            at = self._put_headers(data, at, first, row)
        return at

    @cython.cfunc
    def _put_headers(
        self,
        out: cython.pointer[cython.uchar],
        at: cython.Py_ssize_t,
        first: cython.Py_ssize_t,
        row: cython.Py_ssize_t,
    ) -> cython.Py_ssize_t:
        index: cython.Py_ssize_t
        at = _put_varint(out, at, self._header_count(first, row))
        if row == first:
            for index in range(len(self._batch_headers)):
                out[at + index] = self._batch_headers[index]
            at += len(self._batch_headers)
        if self._headers is not None:
            at = self._headers.put(out, at, row)
        return at

    @cython.cfunc
    def _header_count(self, first: cython.Py_ssize_t, row: cython.Py_ssize_t) -> cython.Py_ssize_t:
        count: cython.Py_ssize_t = self._batch_header_count if row == first else 0
        return count if self._headers is None else count + self._headers.count(row)

    @cython.cfunc
    def _body_size(self, first: cython.Py_ssize_t, row: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Bytes of a record after its length."""
        size: cython.Py_ssize_t = 1 + _varint_size(self._timestamps[row] - self._timestamps[first])
        size += _varint_size(row - first)
        size += _field_size(self._keys.length(row)) + _field_size(self._values.length(row))
        size += _varint_size(self._header_count(first, row))
        if row == first:
            size += len(self._batch_headers)
        return size if self._headers is None else size + self._headers.size(row)


@cython.cclass
class RecordBuffer:
    """The records of one batch, written as they come. It grows, and keeps the timestamps when the bytes are gone."""

    _out: bytearray | None
    _view: cython.uchar[::1]
    _timestamps: cython.longlong[::1]
    _at: cython.Py_ssize_t
    _count: cython.Py_ssize_t
    _max_timestamp: cython.longlong

    def __init__(self, first_byte: int, like: RecordBuffer | None = None) -> None:
        """The first record stands at `first_byte`: what is before it is the caller's.

        There is room at once for as much as `like` has taken: memory that grows is copied, and is
        new to the processor each time.
        """
        size: cython.Py_ssize_t = 256 if like is None else like._at
        count: cython.Py_ssize_t = 4 if like is None else like._count
        self._out = bytearray(first_byte + size + 256)
        self._view = memoryview(self._out)
        self._timestamps = memoryview(array("q", bytes(8 * (count + 4))))
        self._at = first_byte
        self._count = 0
        self._max_timestamp = -1

    def append(
        self,
        timestamp: cython.longlong,
        key: bytes | None,
        value: bytes | None,
        headers: Sequence[Header] | None,
    ) -> None:
        """Writes one record. Timestamps (ms) count from that of the first one."""
        tail: bytes = _header_section(headers) if headers else b"\x00"
        count: cython.Py_ssize_t = self._count
        at: cython.Py_ssize_t = self._at
        delta: cython.longlong = timestamp - self._timestamps[0] if count else 0
        size: cython.Py_ssize_t = 1 + _varint_size(delta) + _varint_size(count)
        size += _field_size(_length(key)) + _field_size(_length(value)) + len(tail)
        if self._out is None or at + size + 10 > len(self._view) or count == len(self._timestamps):
            self._grow(at + size + 10)
        data = cython.address(self._view[0]) if cython.compiled else self._view
        at = _put_varint(data, at, size)
        data[at] = 0  # attributes: none are defined
        at = _put_varint(data, at + 1, delta)
        at = _put_varint(data, at, count)
        at = _put_field(data, at, key)
        at = _put_field(data, at, value)
        self._at = _put_bytes(data, at, tail)
        self._timestamps[count] = timestamp
        self._max_timestamp = max(self._max_timestamp, timestamp)
        self._count = count + 1

    def take(self) -> bytearray:
        """Returns the bytes, which are the caller's from now on. No record can be appended any more."""
        out = self._out
        if out is None:
            raise ValueError("the records of a batch can be taken once")
        self._out = None
        self._view = memoryview(bytearray(1))  # a view forbids that the length changes
        del out[self._at :]
        return out

    def timestamp(self, index: cython.Py_ssize_t) -> int:
        """Returns the timestamp (ms) of a record, also of one whose bytes are taken."""
        if index < 0 or index >= self._count:
            raise IndexError(f"record {index} of {self._count}")
        return self._timestamps[index]

    def max_timestamp(self) -> int:
        return self._max_timestamp

    @cython.cfunc
    def _grow(self, needed: cython.Py_ssize_t) -> None:
        """Room for so many bytes and one more record: twice as much, so that bytes are copied once on average."""
        if self._out is None:
            raise ValueError("the records of this batch are taken")
        if needed > len(self._view):
            out = bytearray(max(needed, 2 * len(self._view)))
            out[: self._at] = memoryview(self._out)[: self._at]
            self._out = out
            self._view = memoryview(out)
        if self._count == len(self._timestamps):
            timestamps = array("q", bytes(16 * self._count))
            memoryview(timestamps)[: self._count] = memoryview(self._timestamps)
            self._timestamps = memoryview(timestamps)


@cython.cfunc
@cython.inline
def _length(content: bytes | None) -> cython.Py_ssize_t:
    return -1 if content is None else len(content)


@cython.cfunc
@cython.inline
def _put_field(
    out: cython.pointer[cython.uchar], at: cython.Py_ssize_t, content: bytes | None
) -> cython.Py_ssize_t:
    """Write a length and as many bytes, -1 for null; the place behind them."""
    if content is None:
        return _put_varint(out, at, -1)
    return _put_bytes(out, _put_varint(out, at, len(content)), content)


@cython.cfunc
@cython.inline
def _put_bytes(
    out: cython.pointer[cython.uchar], at: cython.Py_ssize_t, content: bytes
) -> cython.Py_ssize_t:
    length: cython.Py_ssize_t = len(content)
    if cython.compiled:
        source: cython.pointer[cython.const[cython.uchar]] = content
        memcpy(out + at, source, length)
    else:
        out[at : at + length] = content
    return at + length


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def _varint_size(number: cython.longlong) -> cython.Py_ssize_t:
    value: cython.ulonglong = (number << 1) ^ (number >> 63)
    size: cython.Py_ssize_t = 1
    while value > 0x7F:
        value >>= 7
        size += 1
    return size


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def _field_size(length: cython.Py_ssize_t) -> cython.Py_ssize_t:
    """A length and as many bytes; -1 stands for null."""
    return _varint_size(length) + max(length, 0)


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def _put_varint(
    out: cython.pointer[cython.uchar], at: cython.Py_ssize_t, number: cython.longlong
) -> cython.Py_ssize_t:
    """Zigzag, seven bits a byte, lowest first; the place behind it."""
    value: cython.ulonglong = (number << 1) ^ (number >> 63)
    while value > 0x7F:
        out[at] = (value & 0x7F) | 0x80
        at += 1
        value >>= 7
    out[at] = value
    return at + 1


def encode_record(
    timestamp_delta: cython.longlong,
    offset_delta: cython.longlong,
    key: bytes | None,
    value: bytes | None,
    headers: Sequence[Header],
) -> bytes:
    """One record as it stands in a batch, for those who have their records one by one."""
    body: bytes = (
        b"\x00" + _varint(timestamp_delta) + _varint(offset_delta) + _field(key) + _field(value)
    )
    body += _header_section(headers) if headers else b"\x00"
    return _varint(len(body)) + body


@cython.cfunc
def _header_section(headers: Sequence[Header]) -> bytes:
    return _varint(len(headers)) + encode_headers(headers)


def encode_headers(headers: Sequence[Header]) -> bytes:
    """Headers as they stand in a record, without their count."""
    return b"".join(_field(name.encode()) + _field(content) for name, content in headers)


@cython.cfunc
def _field(content: bytes | None) -> bytes:
    if content is None:
        return b"\x01"
    return _varint(len(content)) + content


@cython.cfunc
def _varint(number: cython.longlong) -> bytes:
    if 0 <= number < 2048:
        return _SMALL_VARINTS[number]
    return _encode_varint(number)


def _encode_varint(number: int) -> bytes:
    value = (number << 1) ^ (number >> 63)
    out = bytearray()
    while value > 0x7F:
        out.append((value & 0x7F) | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


_SMALL_VARINTS: list[bytes] = [_encode_varint(number) for number in range(2048)]
"""Nearly every length and delta there is; a look-up is a tenth of the loop."""
