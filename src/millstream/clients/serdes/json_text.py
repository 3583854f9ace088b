"""JSON by orjson: dicts, lists, text, numbers, booleans; dataclasses, dates, UUIDs and decimals are written too. And
MessagePack (extra `msgpack`): JSON's types and bytes, in fewer bytes.

Whole numbers are exact at any size. orjson makes a float of one beyond 64 bits, so text that may have one is read by
Python's own parser.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from decimal import Decimal
from functools import partial
from json import JSONDecoder
from typing import Any, Final, NoReturn, TypeAlias, TypeVar, overload

import orjson

from millstream.clients.serdes.serde import Serde
from millstream.runtime.extras import library
from millstream.runtime.native import load_leaf

T = TypeVar("T")


Document: TypeAlias = Any  # Any: JSON has no one type; annotate at the place of use
Default: TypeAlias = Callable[[Document], object]
"""Takes what a format cannot write and gives what it can."""


@overload
def json(
    *, default: Default | None = None, immutable: bool = False, decimals: bool = False
) -> Serde[Document]: ...
@overload
def json(
    *,
    into: Callable[..., T],
    default: Default | None = None,
    immutable: bool = False,
    decimals: bool = False,
) -> Serde[T]: ...
def json(
    *,
    into: Callable[..., T] | None = None,
    default: Default | None = None,
    immutable: bool = False,
    decimals: bool = False,
) -> Serde[Document] | Serde[T]:
    """Returns a serde of JSON text.

    `into` makes the value from what was read: a dataclass gets an object's members as keywords, anything else is called
    with the value. `default` gets what orjson cannot write and gives what it can, or raises TypeError; without one,
    decimals are written as numbers. `immutable` promises that no function changes a value that it is given, as one does
    that makes a new dict: stores then keep values as they are between records, which would each time be read from their
    text and written to it again. `decimals` reads numbers with a fraction or an exponent as `decimal.Decimal`, digit
    for digit; else they are floats.
    """
    if default is None:
        default = plain_decimal
    elif decimals:
        default = partial(_decimal_or, default)
    encode = partial(_write, default)
    read = read_exact_json if decimals else read_json
    if into is None:
        return Serde("json", encode, read, immutable)
    return Serde("json", encode, partial(_read_into, made_with(into), read), immutable)


def made_with(into: Callable[..., T]) -> Callable[[Document], T]:
    """Returns a function of one value: a dataclass takes a mapping's members as keywords."""
    return partial(_from_members, into) if _is_dataclass(into) else into


def _is_dataclass(into: object) -> bool:
    """Without telling mypy, which would take `into` for a class of any kind."""
    return dataclasses.is_dataclass(into)


def _from_members(into: Callable[..., T], members: dict[str, Document]) -> T:
    return into(**members)


def _read_into(make: Callable[[Document], T], read: Callable[[bytes], Document], data: bytes) -> T:
    return make(read(data))


# Reading.


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON")


_EXACT: Final = JSONDecoder(parse_float=Decimal, parse_constant=_no_constant)
_WHOLE: Final = JSONDecoder(parse_constant=_no_constant)

_has_long_number: Final[Callable[[bytes], bool]] = load_leaf(
    "millstream.clients.serdes.long_numbers"
).has_long_number


def read_json(data: bytes) -> Document:
    """Returns a document; numbers with a fraction or an exponent are floats.

    Raises ValueError for text that is no JSON.
    """
    if _has_long_number(data):
        return _WHOLE.decode(str(data, "utf-8"))
    return orjson.loads(data)


def read_exact_json(data: bytes) -> Document:
    """Returns a document; numbers with a fraction or an exponent are decimals.

    Raises ValueError for text that is no JSON.
    """
    return _EXACT.decode(str(data, "utf-8"))


# Writing.


def write_json(value: Document, default: Default, option: int = 0) -> bytes:
    """Raises TypeError for what neither orjson nor `default` writes."""
    return _write(default, value, option)


def _write(default: Default, value: Document, option: int = 0) -> bytes:
    try:
        return orjson.dumps(value, default, option)
    except TypeError:  # among them whole numbers beyond 64 bits, which are not offered to `default`
        return orjson.dumps(_with_long_integers(value), default, option)


def plain_decimal(value: object) -> object:
    """Returns a decimal as a number of JSON, digit for digit. Raises TypeError for anything else."""
    if not isinstance(value, Decimal):
        raise TypeError(f"{type(value).__name__} is not written as JSON")
    if not value.is_finite():
        raise TypeError(f"{value} is no number of JSON")
    return orjson.Fragment(str(value))


def _decimal_or(default: Default, value: object) -> object:
    return plain_decimal(value) if isinstance(value, Decimal) else default(value)


def _with_long_integers(value: Document) -> Document:
    if type(value) is int:
        return value if -(2**63) <= value < 2**64 else orjson.Fragment(str(value))
    if isinstance(value, dict):
        return {name: _with_long_integers(member) for name, member in value.items()}
    if isinstance(value, (list, tuple)):
        return [_with_long_integers(each) for each in value]
    if _is_dataclass(value) and not isinstance(value, type):
        names = (field.name for field in dataclasses.fields(value))
        return {
            name: _with_long_integers(getattr(value, name))
            for name in names
            if not name.startswith("_")  # as orjson
        }
    return value


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
