"""The origin of a buffered record, and its values, in the bytes of Kafka Streams'
ProcessorRecordContext and BufferValue.
"""

from __future__ import annotations

from struct import Struct
from typing import Final

from millstream.streams.options import RecordContext

_INT: Final = Struct(">i")
_TIMES: Final = Struct(">qq")
_NULL: Final = -1
"""The length of a null, as Kafka Streams writes it."""


def written_value(data: bytes | None) -> bytes:
    """Returns the bytes behind their length; None has the length -1."""
    return _INT.pack(_NULL) if data is None else _INT.pack(len(data)) + data


def read_value(data: bytes, at: int) -> tuple[bytes | None, int]:
    """Reads what `written_value` wrote; returns it, and where it ends."""
    (length,) = _INT.unpack_from(data, at)
    at += 4
    return (None, at) if length == _NULL else (data[at : at + length], at + length)


def written_context(context: RecordContext) -> bytes:
    """Returns timestamp, offset, topic, partition and headers of a record."""
    topic = (context.topic or "").encode()
    parts = [_TIMES.pack(context.timestamp, context.offset), written_value(topic)]
    parts += [_INT.pack(context.partition), _INT.pack(len(context.headers))]
    for name, value in context.headers:
        parts += [written_value(name.encode()), written_value(value)]
    return b"".join(parts)


def read_context(data: bytes) -> tuple[RecordContext, int]:
    """Reads what stands first in the bytes; returns it, and where it ends."""
    timestamp, offset = _TIMES.unpack_from(data, 0)
    topic, at = read_value(data, 16)
    partition, count = _INT.unpack_from(data, at)[0], _INT.unpack_from(data, at + 4)[0]
    at += 8
    headers: list[tuple[str, bytes | None]] = []
    for _ in range(count):
        name, at = read_value(data, at)
        value, at = read_value(data, at)
        headers.append(((name or b"").decode(), value))
    context = RecordContext((topic or b"").decode(), partition, offset, timestamp, tuple(headers))
    return context, at
