"""Changes of table rows on their way through a repartition topic, in Kafka Streams' bytes (KIP-904).

The last byte says what is there: 1 a new value, 0 an old one, 2 both: varint length of the new value ++ new
value ++ old value.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from millstream.streams.serdes.serde import Serde
from millstream.streams.serdes.varint import read_varint, write_varint

_OLD, _NEW, _BOTH = 0, 1, 2


class Change(NamedTuple):
    """The new and the old value of a row; None where there is none."""

    new: object
    old: object


def changes(inner: Serde[Any]) -> Serde[Change]:  # Any: rows of any type
    """Returns the serde of changes of rows that `inner` writes."""
    encode_value, decode_value = inner.encode, inner.decode

    def encode(change: Change) -> bytes:
        if change.old is None:
            return encode_value(change.new) + bytes((_NEW,))
        old = encode_value(change.old)
        if change.new is None:
            return old + bytes((_OLD,))
        new = encode_value(change.new)
        return write_varint(len(new)) + new + old + bytes((_BOTH,))

    def decode(data: bytes) -> Change:
        kind = data[-1]
        if kind == _NEW:
            return Change(decode_value(data[:-1]), None)
        if kind == _OLD:
            return Change(None, decode_value(data[:-1]))
        if kind != _BOTH:
            raise ValueError(f"a change ends in 0, 1 or 2, not in {kind}")
        length, at = read_varint(data)
        return Change(decode_value(data[at : at + length]), decode_value(data[at + length : -1]))

    return Serde(f"change({inner.name})", encode, decode, inner.immutable)
