# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# mypy: disable-error-code="valid-type, untyped-decorator, no-any-return"
# Reason: Cython's C types and decorators mean nothing to mypy.
"""Finds the records of a batch, and moves their keys, values and headers into Arrow buffers.

A leaf: this file runs interpreted as `walker` and compiled as `walker_compiled` (docs/adr/0005). It owns the bounds of
hostile records and nothing else: buffers come from the caller, who sizes them by counts it has checked.

Every length is compared with what is left before it is used, so the compiled code needs no bounds checks of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from millstream.errors import InvalidRecord

try:
    import cython
except ModuleNotFoundError:  # only a build needs Cython
    from millstream.records import uncompiled as cython

if TYPE_CHECKING:
    from millstream.records.batch import BatchHeader

PLACE_COLUMNS = 6
"""int32 columns that a walk fills besides offsets and timestamps."""


@cython.cclass
class BinaryColumn:
    """An Arrow binary column that is written row by row.

    `offsets` is int32, one more than rows; `validity` a bitmap of zeros; `data` has room for every row.
    """

    _offsets: cython.int[::1]
    _validity: cython.uchar[::1]
    _data: cython.uchar[::1]
    _rows: cython.Py_ssize_t
    _filled: cython.Py_ssize_t
    _nulls: cython.Py_ssize_t

    def __init__(self, offsets: memoryview, validity: memoryview, data: memoryview) -> None:
        self._offsets = offsets
        self._offsets[0] = 0
        self._validity = validity
        self._data = data
        self._rows = 0
        self._filled = 0
        self._nulls = 0

    def counts(self) -> tuple[int, int, int]:
        """Rows, null rows and bytes so far."""
        return self._rows, self._nulls, self._filled

    @cython.cfunc
    @cython.inline
    def append(
        self,
        source: cython.pointer[cython.const[cython.uchar]],
        source_bytes: cython.Py_ssize_t,
        at: cython.Py_ssize_t,
        length: cython.Py_ssize_t,
    ) -> cython.int:
        """One row: `length` bytes of `source` from `at` on, or null when `length` is -1. Gives 0."""
        row: cython.Py_ssize_t = self._rows
        filled: cython.Py_ssize_t = self._filled
        index: cython.Py_ssize_t
        target: cython.pointer[cython.uchar]
        if row + 1 >= len(self._offsets):
            raise BufferError("more rows than the column has room for")
        if length < 0:
            self._nulls += 1
        else:
            if length > source_bytes - at or length > len(self._data) - filled:
                raise BufferError("more bytes than the section holds or the column has room for")
            self._validity[row >> 3] |= 1 << (row & 7)
            if cython.compiled:
                target = cython.address(self._data[0]) + filled
                source += at
                for index in range(length):
                    target[index] = source[index]
            else:
                self._data[filled : filled + length] = source[at : at + length]
            filled += length
            self._filled = filled
        self._rows = row + 1
        self._offsets[row + 1] = filled
        return 0


@cython.cclass
class HeadersColumn:
    """An Arrow list column of header keys and values; `list_offsets` is int32, one more than rows."""

    _list_offsets: cython.int[::1]
    _keys: BinaryColumn
    _values: BinaryColumn

    def __init__(self, list_offsets: memoryview, keys: BinaryColumn, values: BinaryColumn) -> None:
        self._list_offsets = list_offsets
        self._list_offsets[0] = 0
        self._keys = keys
        self._values = values


@cython.cclass
class RecordColumns:
    """One row a record: its offset and timestamp (both int64), and the places of its parts in its section.

    `places` is int32 and holds, capacity rows each: key start, key length, value start, value length, start of the
    headers, header count. Lengths are -1 for null.
    """

    _offsets: cython.longlong[::1]
    _timestamps: cython.longlong[::1]
    _key_at: cython.int[::1]
    _key_length: cython.int[::1]
    _value_at: cython.int[::1]
    _value_length: cython.int[::1]
    _headers_at: cython.int[::1]
    _header_count: cython.int[::1]
    _capacity: cython.Py_ssize_t
    _rows: cython.Py_ssize_t
    _key_bytes: cython.longlong
    _value_bytes: cython.longlong
    _headers: cython.longlong
    _header_key_bytes: cython.longlong
    _header_value_bytes: cython.longlong

    def __init__(self, offsets: memoryview, timestamps: memoryview, places: memoryview) -> None:
        capacity = len(offsets)
        if len(timestamps) != capacity or len(places) != PLACE_COLUMNS * capacity:
            raise BufferError("every column must have room for the same number of rows")
        self._offsets = offsets
        self._timestamps = timestamps
        self._key_at = places[:capacity]
        self._key_length = places[capacity : 2 * capacity]
        self._value_at = places[2 * capacity : 3 * capacity]
        self._value_length = places[3 * capacity : 4 * capacity]
        self._headers_at = places[4 * capacity : 5 * capacity]
        self._header_count = places[5 * capacity :]
        self._capacity = capacity
        self._rows = 0
        self._key_bytes = 0
        self._value_bytes = 0
        self._headers = 0
        self._header_key_bytes = 0
        self._header_value_bytes = 0

    def rows(self) -> int:
        return self._rows

    def totals(self) -> tuple[int, int]:
        """Bytes of all keys and of all values."""
        return self._key_bytes, self._value_bytes

    def header_totals(self) -> tuple[int, int, int]:
        """Headers in all records, and the bytes of their keys and of their values."""
        return self._headers, self._header_key_bytes, self._header_value_bytes

    def walk(
        self,
        section: cython.const[cython.uchar][::1],
        header: BatchHeader,
        start_offset: cython.longlong,
    ) -> int:
        """Add the records of one decompressed section from `start_offset` on; gives the number of rows added.

        Raises InvalidRecord, with no row added, when the records break their lengths, their batch's header or its
        offsets.
        """
        data: cython.pointer[cython.const[cython.uchar]]
        size: cython.Py_ssize_t = len(section)
        count: cython.longlong = header.record_count
        base_offset: cython.longlong = header.base_offset
        last_delta: cython.longlong = header.last_offset_delta
        first_delta: cython.longlong
        row: cython.Py_ssize_t = self._rows
        at: cython.Py_ssize_t = 0
        data = cython.address(section[0]) if cython.compiled else section
        if size > 0x7FFF_FFFF:
            raise InvalidRecord(f"a records section of {size} bytes exceeds 2 GiB")
        if base_offset < 0 or last_delta < 0 or base_offset > 0x7FFF_FFFF_FFFF_FFFF - last_delta:
            raise InvalidRecord(f"offsets {base_offset} + {last_delta} are out of range")
        if count < 0 or count > self._capacity - row:
            raise BufferError(f"{count} records, room for {self._capacity - row}")
        first_delta = start_offset - base_offset
        for _ in range(count):
            at = self._walk_record(data, at, size, row, last_delta)
            if self._offsets[row] >= first_delta:
                row += 1
        if at != size:
            raise InvalidRecord(f"{size - at} bytes are left after the last of {count} records")
        count = row - self._rows
        self._settle(row, header)
        return count

    @cython.cfunc
    def _walk_record(
        self,
        data: cython.pointer[cython.const[cython.uchar]],
        start: cython.Py_ssize_t,
        size: cython.Py_ssize_t,
        row: cython.Py_ssize_t,
        last_delta: cython.longlong,
    ) -> cython.Py_ssize_t:
        """The place behind the record at `start`, which fills `row`; offset and timestamp still as deltas."""
        at: cython.Py_ssize_t = start
        end: cython.Py_ssize_t
        length: cython.longlong
        delta: cython.longlong
        length, at = _varint(data, at, size)
        if length < 6 or length > size - at:
            raise InvalidRecord(f"the record at byte {start} does not fit: length {length}")
        end = at + length
        delta, at = _varint(data, at + 1, end)
        self._timestamps[row] = delta
        delta, at = _varint(data, at, end)
        self._offsets[row] = delta
        length, at = _varint(data, at, end)
        if length < -1 or length > end - at:
            raise InvalidRecord(f"the key of the record at byte {start} does not fit")
        self._key_at[row] = at
        self._key_length[row] = length
        if length > 0:
            at += length
        length, at = _varint(data, at, end)
        if length < -1 or length > end - at:
            raise InvalidRecord(f"the value of the record at byte {start} does not fit")
        self._value_at[row] = at
        self._value_length[row] = length
        if length > 0:
            at += length
        length, at = _varint(data, at, end)
        self._headers_at[row] = at
        if length != 0:
            at = self._walk_headers(data, at, end, length)
        self._header_count[row] = length
        if at != end:
            raise InvalidRecord(f"the parts of the record at byte {start} do not fill it")
        if delta < 0 or delta > last_delta:
            raise InvalidRecord(f"the offset of the record at byte {start} is not in its batch")
        return at

    @cython.cfunc
    def _walk_headers(
        self,
        data: cython.pointer[cython.const[cython.uchar]],
        at: cython.Py_ssize_t,
        end: cython.Py_ssize_t,
        count: cython.longlong,
    ) -> cython.Py_ssize_t:
        """The place behind `count` headers, whose sizes are added to the totals."""
        number: cython.longlong
        length: cython.longlong
        if count < 0 or count > end - at:
            raise InvalidRecord(f"{count} headers do not fit in {end - at} bytes")
        self._headers += count
        for number in range(count):
            length, at = _varint(data, at, end)
            if length < 0 or length > end - at:
                raise InvalidRecord(f"the key of header {number} does not fit")
            self._header_key_bytes += length
            at += length
            length, at = _varint(data, at, end)
            if length < -1 or length > end - at:
                raise InvalidRecord(f"the value of header {number} does not fit")
            if length > 0:
                self._header_value_bytes += length
                at += length
        return at

    @cython.cfunc
    def _settle(self, last: cython.Py_ssize_t, header: BatchHeader) -> cython.Py_ssize_t:
        """Take the rows up to `last` for good: deltas become offsets and timestamps. Gives `last`."""
        base_offset: cython.longlong = header.base_offset
        base: cython.longlong = header.base_timestamp
        max_timestamp: cython.longlong = header.max_timestamp
        append_time: cython.bint = header.is_log_append_time
        int64_max: cython.longlong = 0x7FFF_FFFF_FFFF_FFFF
        int64_min: cython.longlong = -int64_max - 1
        row: cython.Py_ssize_t
        delta: cython.longlong
        for row in range(self._rows, last):
            self._offsets[row] += base_offset
            delta = self._timestamps[row]
            if append_time:
                self._timestamps[row] = max_timestamp
            elif (delta > 0 and base > int64_max - delta) or (
                delta < 0 and base < int64_min - delta
            ):
                raise InvalidRecord(f"timestamp {base} + {delta} is out of range")
            else:
                self._timestamps[row] = base + delta
            if self._key_length[row] > 0:
                self._key_bytes += self._key_length[row]
            if self._value_length[row] > 0:
                self._value_bytes += self._value_length[row]
        self._rows = last
        return last

    def gather(
        self,
        section: cython.const[cython.uchar][::1],
        first: cython.Py_ssize_t,
        last: cython.Py_ssize_t,
        keys: BinaryColumn,
        values: BinaryColumn,
    ) -> None:
        """Move keys and values of the rows from `first` up to `last`, which a walk of the same `section` added."""
        data: cython.pointer[cython.const[cython.uchar]]
        end: cython.Py_ssize_t = len(section)
        row: cython.Py_ssize_t
        data = cython.address(section[0]) if cython.compiled else section
        last = min(last, self._rows)
        for row in range(first, last):
            keys.append(data, end, self._key_at[row], self._key_length[row])
            values.append(data, end, self._value_at[row], self._value_length[row])

    def gather_headers(
        self,
        section: cython.const[cython.uchar][::1],
        first: cython.Py_ssize_t,
        last: cython.Py_ssize_t,
        headers: HeadersColumn,
    ) -> None:
        """Move the headers of the rows, as `gather` does for keys and values."""
        row: cython.Py_ssize_t
        at: cython.Py_ssize_t
        length: cython.longlong
        data: cython.pointer[cython.const[cython.uchar]]
        end: cython.Py_ssize_t = len(section)
        data = cython.address(section[0]) if cython.compiled else section
        last = min(last, self._rows, len(headers._list_offsets) - 1)
        for row in range(first, last):
            at = self._headers_at[row]
            for _ in range(self._header_count[row]):
                length, at = _varint(data, at, end)
                headers._keys.append(data, end, at, length)
                at += length
                length, at = _varint(data, at, end)
                headers._values.append(data, end, at, length)
                if length > 0:
                    at += length
            headers._list_offsets[row + 1] = headers._keys._rows


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def _varint(
    data: cython.pointer[cython.const[cython.uchar]], at: cython.Py_ssize_t, end: cython.Py_ssize_t
) -> tuple[cython.longlong, cython.Py_ssize_t]:
    """A zigzag number and the place behind it.

    Where the number is cut short or does not fit in 64 bits: zero, and a place beyond `end`, from which every further
    number comes out the same. So a caller may read several and compare with what is left once.
    """
    value: cython.ulonglong
    part: cython.ulonglong
    shift: cython.int
    if at < end:  # one byte, two bytes: nearly all there are
        value = data[at]
        if value < 0x80:
            return (value >> 1) ^ -(value & 1), at + 1
        if at + 1 < end:
            part = data[at + 1]
            if part < 0x80:
                value = (value & 0x7F) | (part << 7)
                return (value >> 1) ^ -(value & 1), at + 2
    value = 0
    shift = 0
    while at < end and shift <= 63:
        part = data[at]
        at += 1
        value |= (part & 0x7F) << shift
        if part < 0x80:
            if shift == 63 and part > 1:
                break
            return (value >> 1) ^ -(value & 1), at
        shift += 7
    return 0, end + 1
