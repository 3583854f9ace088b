"""MurmurHash3, x64, 128 bits, seed 104729, as Kafka Streams hashes the left rows of foreign-key
joins (Austin Appleby, public domain).

Kafka Streams gives the two halves as signed longs; here they are 16 bytes, big endian, which is how they travel.
"""

from __future__ import annotations

from struct import Struct
from typing import Final

_SEED: Final = 104729
_MASK: Final = 0xFFFFFFFFFFFFFFFF
_C1: Final = 0x87C37B91114253D5
_C2: Final = 0x4CF5AD432745937F
_BLOCKS: Final = Struct("<QQ")
_HALVES: Final = Struct(">QQ")


def hash128(data: bytes) -> bytes:
    """16 bytes."""
    length = len(data)
    first = second = _SEED
    whole = length - length % 16
    for at in range(0, whole, 16):
        low, high = _BLOCKS.unpack_from(data, at)
        first ^= _mixed_low(low)
        first = ((_rotated(first, 27) + second) * 5 + 0x52DCE729) & _MASK
        second ^= _mixed_high(high)
        second = ((_rotated(second, 31) + first) * 5 + 0x38495AB5) & _MASK
    if whole < length:
        low, high = _BLOCKS.unpack(data[whole:].ljust(16, b"\0"))
        first ^= _mixed_low(low)
        second ^= _mixed_high(high)
    first ^= length
    second ^= length
    first = (first + second) & _MASK
    second = (second + first) & _MASK
    first, second = _finished(first), _finished(second)
    first = (first + second) & _MASK
    return _HALVES.pack(first, (second + first) & _MASK)


def _mixed_low(block: int) -> int:
    return _rotated(block * _C1 & _MASK, 31) * _C2 & _MASK


def _mixed_high(block: int) -> int:
    return _rotated(block * _C2 & _MASK, 33) * _C1 & _MASK


def _rotated(value: int, bits: int) -> int:
    return (value << bits | value >> (64 - bits)) & _MASK


def _finished(value: int) -> int:
    value ^= value >> 33
    value = value * 0xFF51AFD7ED558CCD & _MASK
    value ^= value >> 33
    value = value * 0xC4CEB9FE1A85EC53 & _MASK
    return value ^ value >> 33
