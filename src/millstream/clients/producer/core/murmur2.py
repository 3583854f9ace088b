# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# mypy: disable-error-code="valid-type, untyped-decorator, no-any-return"
"""Kafka's key hash (murmur2, seed 0x9747b28c) and the partition it gives, for one key or a column of keys.

A leaf: this file runs interpreted as `murmur2` and compiled as `murmur2_compiled` (docs/adr/0005). Results are those of
Java's `Utils.murmur2` and `BuiltInPartitioner.partitionForKey`. What Cython calls types is none to mypy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from millstream.errors import InvalidRecord

try:
    import cython
except ModuleNotFoundError:  # only a build needs Cython
    from millstream.records import uncompiled as cython

if TYPE_CHECKING:
    from millstream.records.compression import BytesLike


def murmur2(data: BytesLike) -> int:
    """Unsigned 32-bit hash of `data`."""
    return _hash(data, 0, len(data))


def partition_for_key(key: BytesLike, partition_count: int) -> int:
    return (_hash(key, 0, len(key)) & 0x7FFFFFFF) % partition_count


def partitions_for_keys(
    offsets: cython.const[cython.int][::1],
    data: cython.const[cython.uchar][::1],
    partition_count: cython.uint,
    out: cython.int[::1],
) -> None:
    """The partition of each key of an Arrow binary column; `offsets` is int32, one more than `out` has places.

    Nulls read as empty keys: the caller replaces their partitions.
    """
    row: cython.Py_ssize_t
    for row in range(len(out)):
        start: cython.Py_ssize_t = offsets[row]
        end: cython.Py_ssize_t = offsets[row + 1]
        if start < 0 or end < start or end > len(data):
            raise InvalidRecord(f"row {row} is not within its Arrow column")
        value: cython.uint = _hash(data, start, end - start)
        out[row] = (value & 0x7FFFFFFF) % partition_count


@cython.cfunc
def _hash(
    data: cython.const[cython.uchar][::1], start: cython.Py_ssize_t, length: cython.Py_ssize_t
) -> cython.uint:
    # In variables of C: a constant of the module is an object of Python.
    multiplier: cython.uint = 0x5BD1E995
    mask: cython.uint = 0xFFFFFFFF
    seed: cython.uint = 0x9747B28C
    value: cython.uint = seed ^ length
    word: cython.uint
    at: cython.Py_ssize_t = start
    end: cython.Py_ssize_t = start + length
    while end - at >= 4:
        word = data[at] | data[at + 1] << 8 | data[at + 2] << 16 | data[at + 3] << 24
        word = word * multiplier & mask
        word ^= word >> 24
        value = value * multiplier & mask
        value ^= word * multiplier & mask
        at += 4
    if end > at:
        if end - at == 3:
            value ^= data[at + 2] << 16
        if end - at >= 2:
            value ^= data[at + 1] << 8
        value ^= data[at]
        value = value * multiplier & mask
    value ^= value >> 13
    value = value * multiplier & mask
    return value ^ value >> 15
