"""Signed integers of variable length, zigzag as in Kafka's record format.

Non-negative numbers and -1 are all that is needed.
"""

from __future__ import annotations


def write_varint(number: int) -> bytes:
    """Returns the bytes of a number; seven bits a byte, the lowest first."""
    rest = (number << 1) ^ (number >> 63)
    if rest < 0x80:
        return bytes((rest,))
    out = bytearray()
    while rest > 0x7F:
        out.append(rest & 0x7F | 0x80)
        rest >>= 7
    out.append(rest)
    return bytes(out)


def read_varint(data: bytes, at: int = 0) -> tuple[int, int]:
    """Returns the number that begins at this position, and the position after it.

    Raises IndexError where the bytes end.
    """
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (value >> 1) ^ -(value & 1), at
        shift += 7
