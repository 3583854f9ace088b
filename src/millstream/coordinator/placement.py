"""Finds the partition of a coordinator's topic to which a key belongs.

Must agree with every other broker and Kafka release for ever.
"""

from __future__ import annotations


def java_string_hash(text: str) -> int:
    """Returns Java's `String.hashCode`: over UTF-16 code units, as a signed 32-bit number."""
    units = text.encode("utf-16-be", "surrogatepass")
    value = 0
    for at in range(0, len(units), 2):
        value = (31 * value + (units[at] << 8 | units[at + 1])) & 0xFFFFFFFF
    return value - (1 << 32) if value & 0x80000000 else value


def partition_for(key: str, partitions: int) -> int:
    """Returns the partition that coordinates `key`: a group id, a transactional id, or `group:topicId:partition`."""
    hashed = java_string_hash(key)
    magnitude = 0 if hashed == -(1 << 31) else abs(hashed)  # Kafka's Utils.abs
    return magnitude % partitions
