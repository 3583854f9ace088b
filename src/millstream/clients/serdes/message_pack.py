"""MessagePack (extra `msgpack`): JSON's types and bytes, in fewer bytes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeVar, overload

from millstream.clients.serdes.json_text import Default, Document, made_with
from millstream.clients.serdes.serde import Serde
from millstream.runtime.extras import library

T = TypeVar("T")


@overload
def msgpack(*, default: Default | None = None) -> Serde[Document]: ...
@overload
def msgpack(*, into: Callable[..., T], default: Default | None = None) -> Serde[T]: ...
def msgpack(
    *, into: Callable[..., T] | None = None, default: Default | None = None
) -> Serde[Document] | Serde[T]:
    """Dicts, lists, text, bytes, numbers, booleans; times as datetimes with a zone.

    `into` makes the value from what was read, as for `json`. `default` gets what cannot be written.
    """
    packer = library("msgpack", "msgpack")
    encode = partial(packer.packb, default=default, datetime=True)
    read = partial(packer.unpackb, timestamp=3, strict_map_key=False)
    return Serde("msgpack", encode, read if into is None else partial(_made, made_with(into), read))


def _made(make: Callable[[Document], T], read: Callable[[bytes], Document], data: bytes) -> T:
    return make(read(data))
