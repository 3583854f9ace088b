"""Counts the partitions in the frame of a Produce: most frames are long because of their records,
few because of partitions.

A long Produce is decoded in a thread and handled in parts like other long requests, but only where it names very many
partitions: elsewhere decoding costs nothing, as records are not looked at.
"""

from __future__ import annotations

from struct import Struct
from typing import Final

from millstream.protocol.reading import READ_FAILURES, read_uvarint

PARTITIONS_FEW: Final = 200
_FLEXIBLE_VERSION: Final = 9
_TOPIC_ID_VERSION: Final = 13
_ACKS_AND_TIMEOUT_BYTES: Final = 6
_TOPIC_ID_BYTES: Final = 16
_INT16: Final = Struct(">h")
_INT32: Final = Struct(">i")


def has_many_partitions(frame: memoryview, at: int, version: int) -> bool:
    """Whether the frame names many partitions; its body begins at `at`.

    A damaged frame counts as few: its decoder refuses it.
    """
    try:
        return _names_more(frame, at, version)
    except READ_FAILURES:
        return False


def _names_more(frame: memoryview, at: int, version: int) -> bool:
    is_flexible = version >= _FLEXIBLE_VERSION
    at = _past_string(frame, at, is_flexible) + _ACKS_AND_TIMEOUT_BYTES
    topics, at = _length(frame, at, is_flexible)
    total = topics
    for _ in range(min(topics, PARTITIONS_FEW)):
        if version >= _TOPIC_ID_VERSION:
            at += _TOPIC_ID_BYTES
        else:
            at = _past_string(frame, at, is_flexible)
        partitions, at = _length(frame, at, is_flexible)
        total += partitions - 1
        if total > PARTITIONS_FEW:
            break
        for _ in range(partitions):
            size, at = _length(frame, at + _INT32.size, is_flexible)
            at += max(0, size)
            if is_flexible and frame[at]:
                return True  # tagged fields: no client sends them, and a thread reads them as well
            at += is_flexible
        if is_flexible and frame[at]:
            return True
        at += is_flexible
    return total > PARTITIONS_FEW


def _length(frame: memoryview, at: int, is_flexible: bool) -> tuple[int, int]:
    """Of a list or of records; -1 is null."""
    if is_flexible:
        value, at = read_uvarint(frame, at)
        return value - 1, at
    (size,) = _INT32.unpack_from(frame, at)
    return int(size), at + _INT32.size


def _past_string(frame: memoryview, at: int, is_flexible: bool) -> int:
    if is_flexible:
        value, at = read_uvarint(frame, at)
        return at + max(0, value - 1)
    (size,) = _INT16.unpack_from(frame, at)
    return at + _INT16.size + int(max(0, size))
