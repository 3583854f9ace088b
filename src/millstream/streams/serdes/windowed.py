"""Windowed keys: a key together with the window it was aggregated in, and Kafka's bytes for them.

Time windows: key ++ start (8 bytes); the size is known to the reader. Session windows: key ++ end ++ start.
"""

from __future__ import annotations

from dataclasses import dataclass
from struct import Struct
from typing import Any, Generic, TypeVar

from millstream.foreign_names.explanation import explain_missing
from millstream.streams.serdes.serde import Serde

K = TypeVar("K")

_TIME = Struct(">q")
_SESSION = Struct(">qq")
pack_session = _SESSION.pack
"""(end, start) → what stands behind the key of a session."""
_SEQUENCE_BYTES = 4
MAX_TIMESTAMP = 2**63 - 1


@explain_missing
@dataclass(frozen=True, slots=True)
class Windowed(Generic[K]):
    """A key in a window.

    `start_ms` is inclusive; `end_ms` is exclusive for time windows, inclusive for session windows.
    """

    key: K
    start_ms: int
    end_ms: int


def window_bytes(serde: Serde[Any]) -> int:  # Any: windowed keys of any type
    """Returns the number of bytes of a windowed key that are the window; they stand behind the key."""
    return _SESSION.size if serde.window_size_ms is None else _TIME.size


def time_windowed(inner: Serde[K], size_ms: int, *, changelog: bool = False) -> Serde[Windowed[K]]:
    """Returns Kafka's TimeWindowedSerde: only the start is written, the size completes it when read.

    `changelog` reads the keys of a window store's changelog topic, which end in a sequence number (forChangelog).
    """
    encode_key, decode_key, pack = inner.encode, inner.decode, _TIME.pack
    tail = _TIME.size + (_SEQUENCE_BYTES if changelog else 0)

    def encode(windowed: Windowed[K]) -> bytes:
        return encode_key(windowed.key) + pack(windowed.start_ms)

    def decode(data: bytes) -> Windowed[K]:
        at = len(data) - tail
        if at < 0:
            raise _too_short("time", tail, data)
        (start,) = _TIME.unpack_from(data, at)
        return Windowed(decode_key(data[:at]), start, min(start + size_ms, MAX_TIMESTAMP))

    layout = None if inner.layout is None or changelog else f"{inner.layout}, start"
    name = f"time_windowed({inner.name})"
    return Serde(name, encode, decode, inner.immutable, inner, size_ms, layout)


def session_windowed(inner: Serde[K]) -> Serde[Windowed[K]]:
    """Returns Kafka's SessionWindowedSerde."""
    encode_key, decode_key = inner.encode, inner.decode

    def encode(windowed: Windowed[K]) -> bytes:
        return encode_key(windowed.key) + pack_session(windowed.end_ms, windowed.start_ms)

    def decode(data: bytes) -> Windowed[K]:
        at = len(data) - _SESSION.size
        if at < 0:
            raise _too_short("session", _SESSION.size, data)
        end, start = _SESSION.unpack_from(data, at)
        return Windowed(decode_key(data[:at]), start, end)

    layout = None if inner.layout is None else f"{inner.layout}, end, start"
    name = f"session_windowed({inner.name})"
    return Serde(name, encode, decode, inner.immutable, inner, layout=layout)


def _too_short(kind: str, least: int, data: bytes) -> ValueError:
    return ValueError(
        f"a key with its {kind} window has at least {least} bytes, this one has {len(data)}"
    )
