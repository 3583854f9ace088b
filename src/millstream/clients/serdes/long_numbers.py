# cython: language_level=3, boundscheck=False, wraparound=False
# mypy: disable-error-code="valid-type"
"""Looks for numbers in text that may be beyond 64 bits.

A leaf: this file runs interpreted as `long_numbers` and compiled as `long_numbers_compiled` (docs/adr/0005), and is
called for each record of a stream. What Cython calls types is none to mypy.
"""

from __future__ import annotations

try:
    import cython
except ModuleNotFoundError:  # only a build needs Cython
    from millstream.records import uncompiled as cython


def has_long_number(data: bytes) -> bool:
    """Whether 19 digits follow one another: so many has -9223372036854775809, the first whole number beyond 64 bits."""
    wanted: cython.Py_ssize_t = 19
    size: cython.Py_ssize_t = len(data)
    place: cython.Py_ssize_t = wanted - 1
    while place < size:  # such a row of digits covers one of these places, 19 apart
        if 48 <= data[place] <= 57:
            first: cython.Py_ssize_t = place
            while first > 0 and 48 <= data[first - 1] <= 57:
                first -= 1
            end: cython.Py_ssize_t = place + 1
            while end < size and 48 <= data[end] <= 57:
                end += 1
            if end - first >= wanted:
                return True
        place += wanted
    return False
