"""Checks on what users give, made where it is given: a TypeError that names it there, not some other error far below.

Owns the words of these errors. What operators ask of functions is in topology/functions.py.
"""

from __future__ import annotations

from enum import StrEnum
from types import UnionType
from typing import TypeVar, get_args

from millstream.streams.serdes.serde import Serde

E = TypeVar("E", bound=StrEnum)


def check_kind(what: str, given: object, kind: type | UnionType) -> None:
    """Raise TypeError unless what was given is of this kind, or of one of several; `int | None` may be left out."""
    if isinstance(given, kind):
        return
    kinds = get_args(kind) if isinstance(kind, UnionType) else (kind,)
    names = [each.__name__ for each in kinds if each is not type(None)]
    article = "an" if names[0][0] in "aeioAEIO" else "a"
    found = f"the class {given.__name__}" if isinstance(given, type) else type(given).__name__
    raise TypeError(f"{what} must be {article} {' or '.join(names)}, not {found}")


def check_fields(options: object, **kinds: type | UnionType) -> None:
    """Raise TypeError, naming the class and the field, where a field of a dataclass is of another kind."""
    for field, kind in kinds.items():
        check_kind(f"{type(options).__name__}: {field}", getattr(options, field), kind)


def check_serdes(owner: str, **serdes: object) -> None:
    """Raise TypeError, naming owner and argument, unless these are serdes or left out."""
    for argument, given in serdes.items():
        if not isinstance(given, Serde | None):
            raise TypeError(
                f"{owner}: {argument} must be a Serde, not {given!r}: see millstream.streams.serdes"
            )


def check_headers(what: str, headers: object) -> None:
    """Raise TypeError unless these are headers: a tuple of pairs of a name and bytes or None."""
    if headers == () or (isinstance(headers, tuple) and all(map(_is_header, headers))):
        return
    raise TypeError(
        f"headers of {what} are a tuple of pairs of a name and bytes or None, "
        f'like (("name", b"value"),), not {headers!r}'
    )


def _is_header(given: object) -> bool:
    match given:
        case (str(), bytes() | None):
            return isinstance(given, tuple)
    return False


def member(what: str, given: str, kind: type[E]) -> E:
    """Returns the member of an enumeration that is meant; ValueError that lists all of them if it is none."""
    try:
        return kind(given)
    except ValueError:
        raise ValueError(f"{what} is one of {', '.join(kind)}, not {given!r}") from None
