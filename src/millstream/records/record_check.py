# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# mypy: disable-error-code="valid-type, untyped-decorator, no-any-return"
# Reason: Cython's C types and decorators mean nothing to mypy.
"""Checks that the records of a batch are what its header says, and finds the first one at or after a time.

Makes no object a record.

A leaf: this file runs interpreted as `record_check` and compiled as `record_check_compiled` (docs/adr/0005, 0009).
Every length is compared with what is left before it is used. Compiled, it can walk without the interpreter's lock, so
that a thread that walks ten million records makes no other request wait.

Stricter than `walker`, which reads what is in a log already: lengths and offsets of five bytes at most, offsets without
gaps, no null keys of headers. What passes here, every client can read.
"""

from __future__ import annotations

from millstream.errors import InvalidRecord

try:
    import cython
except ModuleNotFoundError:  # only a build needs Cython
    from millstream.records import uncompiled as cython

DONE = 0
NO_KEY = 1
BAD_TIMESTAMP = 2

_REASONS = {
    3: "its length does not fit",
    4: "a number in it does not end in time",
    5: "its offset is not the next one",
    6: "its key does not fit",
    7: "its value does not fit",
    8: "its headers do not fit",
    9: "the key of a header is null or does not fit",
    10: "the value of a header does not fit",
    11: "its parts do not fill it",
}


@cython.cclass
class RecordCheck:
    """Walks one decompressed section from fault to fault.

    `earliest` and `latest` bound timestamps (ms); -1, no timestamp, is always fine. Without `checks_times` they do not
    count, and neither do they where the topic gives its own time.
    """

    _section: cython.const[cython.uchar][::1]
    _count: cython.longlong
    _base_timestamp: cython.longlong
    _earliest: cython.longlong
    _latest: cython.longlong
    _checks_times: cython.bint
    _needs_keys: cython.bint
    _at: cython.Py_ssize_t
    _number: cython.longlong
    _timestamp: cython.longlong
    _overflowed: cython.bint
    _max_timestamp: cython.longlong

    def __init__(
        self,
        section: memoryview,
        record_count: cython.longlong,
        base_timestamp: cython.longlong,
        *,
        earliest: cython.longlong,
        latest: cython.longlong,
        checks_times: cython.bint,
        needs_keys: cython.bint,
    ) -> None:
        self._section = section
        self._count = record_count
        self._base_timestamp = base_timestamp
        self._earliest = earliest
        self._latest = latest
        self._checks_times = checks_times
        self._needs_keys = needs_keys
        self._at = 0
        self._number = 0
        self._timestamp = -1
        self._overflowed = False
        self._max_timestamp = -1

    def index(self) -> int:
        """The index of the record that the walk stopped behind, from 0."""
        return self._number - 1

    def timestamp(self) -> int | None:
        """The timestamp of that record; None when it does not fit in 64 bits."""
        return None if self._overflowed else self._timestamp

    def max_timestamp(self) -> int:
        """The largest of all records so far, and at least -1."""
        return self._max_timestamp

    def walk(self, *, unlocked: cython.bint = False) -> int:
        """On to the next fault of a single record: NO_KEY or BAD_TIMESTAMP; or to the end: DONE.

        `unlocked` lets other threads run meanwhile. Raises InvalidRecord when the section is not what the header says.
        """
        size: cython.Py_ssize_t = len(self._section)
        data: cython.pointer[cython.const[cython.uchar]]
        found: cython.int
        if size == 0:
            raise InvalidRecord(f"{self._count} records in no bytes")
        data = cython.address(self._section[0]) if cython.compiled else self._section
        if unlocked:
            with cython.nogil:
                found = self._walk(data, size)
        else:
            found = self._walk(data, size)
        if found > 2:  # BAD_TIMESTAMP
            raise InvalidRecord(
                f"record {self._number} of the batch is broken: {_REASONS[found]} (byte {self._at})"
            )
        if found == 0 and self._at != size:
            raise InvalidRecord(
                f"{size - self._at} bytes are left after the last of {self._count} records"
            )
        return found

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _walk(
        self, data: cython.pointer[cython.const[cython.uchar]], size: cython.Py_ssize_t
    ) -> cython.int:
        found: cython.int
        while self._number < self._count:
            found = self._walk_record(data, size)
            if found > 2:
                return found
            self._number += 1
            if found != 0:
                return found
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _walk_record(
        self, data: cython.pointer[cython.const[cython.uchar]], size: cython.Py_ssize_t
    ) -> cython.int:
        """0, a fault of this record, or what is broken. Moves behind the record unless it is broken."""
        at: cython.Py_ssize_t
        end: cython.Py_ssize_t
        length: cython.longlong
        delta: cython.longlong
        has_key: cython.bint
        length, at = _number(data, self._at, size, 28)
        if length < 6 or length > size - at:
            return 3
        end = at + length
        delta, at = _number(data, at + 1, end, 63)
        if at > end:
            return 4
        length, at = _number(data, at, end, 28)
        if at > end or length != self._number:
            return 5
        length, at = _number(data, at, end, 28)
        if length < -1 or length > end - at:
            return 6
        has_key = length >= 0
        if length > 0:
            at += length
        length, at = _number(data, at, end, 28)
        if length < -1 or length > end - at:
            return 7
        if length > 0:
            at += length
        length, at = _number(data, at, end, 28)
        if length < 0 or length > end - at:
            return 8
        while length > 0:
            length -= 1
            at = _behind_header(data, at, end)
            if at < 0:
                return -at
        if at != end:
            return 11
        self._at = end
        return self._judge(delta, has_key)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _judge(self, delta: cython.longlong, has_key: cython.bint) -> cython.int:
        """A whole record, as the topic's rules see it. A time beyond 64 bits is outside of all bounds."""
        base: cython.longlong = self._base_timestamp
        int64_max: cython.longlong = 0x7FFF_FFFF_FFFF_FFFF
        int64_min: cython.longlong = -int64_max - 1
        self._overflowed = (delta > 0 and base > int64_max - delta) or (
            delta < 0 and base < int64_min - delta
        )
        self._timestamp = 0 if self._overflowed else base + delta
        if self._needs_keys and not has_key:
            return 1
        if self._checks_times and (
            self._overflowed
            or (
                self._timestamp != -1
                and (self._timestamp < self._earliest or self._timestamp > self._latest)
            )
        ):
            return 2
        if not self._overflowed and self._timestamp > self._max_timestamp:
            self._max_timestamp = self._timestamp
        return 0


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _behind_header(
    data: cython.pointer[cython.const[cython.uchar]], at: cython.Py_ssize_t, end: cython.Py_ssize_t
) -> cython.Py_ssize_t:
    """The place behind the header at `at`, or less than 0: what is broken, as a negative number."""
    length: cython.longlong
    length, at = _number(data, at, end, 28)
    if length < 0 or length > end - at:
        return -9
    at += length
    length, at = _number(data, at, end, 28)
    if length < -1 or length > end - at:
        return -10
    if length > 0:
        at += length
    return at


def first_from(
    section: cython.const[cython.uchar][::1],
    record_count: cython.longlong,
    first_delta: cython.longlong,
    min_timestamp_delta: cython.longlong,
) -> tuple[int, int] | None:
    """Offset delta and timestamp delta of the first record that has at least these two; None when there is none.

    Lets other threads run meanwhile. Raises InvalidRecord for records that break their lengths.
    """
    size: cython.Py_ssize_t = len(section)
    data: cython.pointer[cython.const[cython.uchar]]
    offset_delta: cython.longlong = -1
    timestamp_delta: cython.longlong = 0
    at: cython.Py_ssize_t = 0
    left: cython.longlong = record_count
    if size == 0:
        return None
    data = cython.address(section[0]) if cython.compiled else section
    with cython.nogil:
        while left > 0 and at <= size:
            left -= 1
            at, offset_delta, timestamp_delta = _deltas(data, at, size)
            if offset_delta >= first_delta and timestamp_delta >= min_timestamp_delta:
                break
            offset_delta = -1
    if at > size:
        raise InvalidRecord(f"a record in front of byte {size} does not fit")
    return None if offset_delta < 0 else (offset_delta, timestamp_delta)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _deltas(
    data: cython.pointer[cython.const[cython.uchar]], at: cython.Py_ssize_t, size: cython.Py_ssize_t
) -> tuple[cython.Py_ssize_t, cython.longlong, cython.longlong]:
    """The place behind the record at `at`, its offset delta and timestamp delta; a place beyond
    `size` when it does not fit.
    """
    end: cython.Py_ssize_t
    length: cython.longlong
    offset_delta: cython.longlong
    timestamp_delta: cython.longlong
    length, at = _number(data, at, size, 63)
    if length < 3 or length > size - at:
        return size + 1, -1, 0
    end = at + length
    timestamp_delta, at = _number(data, at + 1, end, 63)
    offset_delta, at = _number(data, at, end, 63)
    if at > end:
        return size + 1, -1, 0
    return end, offset_delta, timestamp_delta


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _number(
    data: cython.pointer[cython.const[cython.uchar]],
    at: cython.Py_ssize_t,
    end: cython.Py_ssize_t,
    last_shift: cython.int,
) -> tuple[cython.longlong, cython.Py_ssize_t]:
    """A zigzag number and the place behind it.

    Its last possible byte stands at `last_shift`: 28 for 32 bits, 63 for 64.

    Where it is cut short or too long: zero, and a place beyond `end`, from which every further
    number comes out the same.
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
    while at < end and shift <= last_shift:
        part = data[at]
        at += 1
        value |= (part & 0x7F) << shift
        if part < 0x80:
            if shift == last_shift and part > (0x0F if last_shift == 28 else 1):
                break
            return (value >> 1) ^ -(value & 1), at
        shift += 7
    return 0, end + 1
