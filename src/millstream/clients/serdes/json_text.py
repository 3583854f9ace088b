"""JSON by orjson: dicts, lists, text, numbers, booleans; dataclasses, dates and UUIDs are written too."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias, TypeVar, overload

from millstream.clients.serdes.serde import Serde

T = TypeVar("T")


Document: TypeAlias = Any  # Any: JSON has no one type; annotate at the place of use
Default: TypeAlias = Callable[[Document], object]
"""Takes what a format cannot write and gives what it can."""


@overload
def json(*, default: Default | None = None, immutable: bool = False) -> Serde[Document]: ...
@overload
def json(
    *, into: Callable[..., T], default: Default | None = None, immutable: bool = False
) -> Serde[T]: ...
def json(
    *,
    into: Callable[..., T] | None = None,
    default: Default | None = None,
    immutable: bool = False,
) -> Serde[Document] | Serde[T]:
    """Returns a serde of JSON text.

    `into` makes the value from what was read: a dataclass gets an object's members as keywords, anything else is
    called with the value. `default` gets what orjson cannot write and gives what it can, or raises TypeError.
    `immutable` promises that no function changes a value that it is given, as one does that makes a new dict: stores then keep
    values as they are between records, which would each time be read from their text and written to it again.
    """
    import orjson

    encode = orjson.dumps if default is None else partial(orjson.dumps, default=default)
    if into is None:
        return Serde("json", encode, orjson.loads, immutable)
    return Serde("json", encode, partial(_read_into, made_with(into)), immutable)


def made_with(into: Callable[..., T]) -> Callable[[Document], T]:
    """Returns a function of one value: a dataclass takes a mapping's members as keywords."""
    return partial(_from_members, into) if _is_dataclass(into) else into


def _is_dataclass(into: object) -> bool:
    """Without telling mypy, which would take `into` for a class of any kind."""
    return dataclasses.is_dataclass(into)


def _from_members(into: Callable[..., T], members: dict[str, Document]) -> T:
    return into(**members)


def _read_into(make: Callable[[Document], T], data: bytes) -> T:
    import orjson

    return make(orjson.loads(data))
