"""User data of members of the eager sticky assignor: the partitions they had, and since which generation.

topics [name, partitions [int32]], generation int32 (later versions)
"""

from __future__ import annotations

from struct import Struct, error
from typing import Final

from millstream.clients.group.assignors.assignment import LastAssignment
from millstream.model import TopicPartition

_INT32: Final = Struct(">i")
_INT16: Final = Struct(">h")


def encode_sticky_user_data(last: LastAssignment) -> bytes:
    topics: dict[str, list[int]] = {}
    for topic, partition in sorted(last.partitions):
        topics.setdefault(topic, []).append(partition)
    out = bytearray(_INT32.pack(len(topics)))
    for topic, partitions in topics.items():
        name = topic.encode()
        out += _INT16.pack(len(name)) + name
        out += Struct(f">i{len(partitions)}i").pack(len(partitions), *partitions)
    return bytes(out + _INT32.pack(last.generation_id))


def decode_sticky_user_data(data: bytes | None) -> LastAssignment:
    """Decodes user data. Bytes that are something else mean that the member had nothing, as in Java."""
    try:
        return _decode(data or b"")
    except (error, UnicodeDecodeError):
        return LastAssignment()


def _decode(data: bytes) -> LastAssignment:
    if not data:
        return LastAssignment()
    partitions: set[TopicPartition] = set()
    (topics,) = _INT32.unpack_from(data)
    at = _INT32.size
    for _ in range(topics):
        (size,) = _INT16.unpack_from(data, at)
        at += _INT16.size
        topic = data[at : at + size].decode()
        at += size
        (count,) = _INT32.unpack_from(data, at)
        at += _INT32.size
        if not 0 <= count <= (len(data) - at) // _INT32.size:
            return LastAssignment()
        indexes = Struct(f">{count}i").unpack_from(data, at)
        partitions.update(TopicPartition(topic, index) for index in indexes)
        at += count * _INT32.size
    generation_id = _INT32.unpack_from(data, at)[0] if len(data) - at >= _INT32.size else -1
    return LastAssignment(frozenset(partitions), generation_id)
