"""Checks the arguments of the admin client's calls against their annotations, before anything is asked.

A text is a sequence of its letters: without a check `delete_topics("ab")` would delete the topics `a` and `b`.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Coroutine, Iterable, Mapping
from numbers import Real
from types import FunctionType, UnionType
from typing import (
    Any,
    Final,
    NamedTuple,
    TypeAlias,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from millstream.model import Uuid

AnyCall: TypeAlias = Callable[..., Coroutine[Any, Any, Any]]  # Any: whichever call of the client

_TEXTS: Final = (str, bytes, bytearray)
_AS_GOOD: Final[Mapping[type, tuple[type, ...]]] = {int: (Real,), float: (Real,), Uuid: (bytes,)}
"""Other classes whose values do as well: NumPy's numbers are no int, times may be fractions of a millisecond, and an
id that was decoded is plain bytes. The encoder refuses a fraction where a field has none.
"""


class Kinds(NamedTuple):
    """The kinds of values that a parameter takes; no classes: any value."""

    classes: tuple[type, ...] = ()
    items: tuple[type, ...] | None = None
    """Of a parameter that takes several."""
    keys: tuple[type, ...] | None = None
    """Of one that takes a mapping."""
    values: tuple[type, ...] = ()
    takes_none: bool = False


def check_arguments(kind: type) -> None:
    """Has the public coroutine methods of a class raise TypeError that says what to pass."""
    for name, method in list(vars(kind).items()):
        is_call = isinstance(method, FunctionType) and inspect.iscoroutinefunction(method)
        if is_call and not name.startswith("_"):
            type.__setattr__(kind, name, _checked(name, method))


def _checked(name: str, method: FunctionType) -> AnyCall:
    @functools.wraps(method)
    async def checked(*args: object, **arguments: object) -> object:
        kinds = kinds_of(method)
        by_position = list(kinds)[: len(args)]
        values = [
            _value(name, each, kinds[each], value)
            for each, value in zip(by_position, args, strict=False)
        ]
        named = {
            each: _value(name, each, kinds[each], value) if each in kinds else value
            for each, value in arguments.items()
        }
        return await method(*values, *args[len(values) :], **named)

    return checked


@functools.cache
def kinds_of(method: FunctionType) -> dict[str, Kinds]:
    """Returns the kinds of all parameters, in their order."""
    hints = get_type_hints(method)
    return {each: _read(hints.get(each, object)) for each in inspect.signature(method).parameters}


def _read(hint: object) -> Kinds:
    kinds = Kinds()
    for each in get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,):
        origin, inner = get_origin(each), get_args(each)
        if each is type(None):
            kinds = kinds._replace(takes_none=True)
        elif isinstance(origin, type) and issubclass(origin, Mapping):
            kinds = kinds._replace(keys=_classes(inner[0]), values=_classes(inner[1]))
        elif isinstance(origin, type) and issubclass(origin, Iterable):
            kinds = kinds._replace(items=_classes(inner[0]))
        else:
            kinds = kinds._replace(classes=kinds.classes + _classes(each))
    return kinds


def _classes(hint: object) -> tuple[type, ...]:
    """Returns the classes that a value may be of; none where all would do, or that is not for us to say."""
    if isinstance(hint, TypeVar):
        return _classes(hint.__bound__)
    if get_origin(hint) in (Union, UnionType):
        several = [_classes(each) for each in get_args(hint)]
        return sum(several, ()) if all(several) else ()
    origin = get_origin(hint) or getattr(hint, "__supertype__", hint)
    if (
        origin in (Any, object)  # Any: what is annotated so
        or not isinstance(origin, type)
        or getattr(origin, "_is_protocol", False)
    ):
        return ()
    return (origin,)


def _value(call: str, name: str, kinds: Kinds, value: Any) -> object:  # Any: whatever was passed
    if value is None and kinds.takes_none:
        return value
    if kinds.keys is not None and isinstance(value, Mapping):
        for key, held in value.items():
            _require(call, f"a key of {name}", kinds.keys, key)
            _require(call, f"a value of {name}", kinds.values, held)
        return value
    if kinds.items is not None:
        if isinstance(value, (*_TEXTS, *kinds.items)) or not isinstance(value, Iterable):
            raise TypeError(f"{call}: {name} takes several, in a list: {name}=[{value!r}]")
        items = list(value)
        for item in items:
            _require(call, f"each of {name}", kinds.items, item)
        return items
    if kinds.keys is not None:
        raise TypeError(f"{call}: {name} takes a mapping, got {value!r}")
    _require(call, name, kinds.classes, value)
    return value


def _require(call: str, what: str, classes: tuple[type, ...], value: object) -> None:
    as_good = (other for each in classes for other in _AS_GOOD.get(each, ()))
    is_flag = isinstance(value, bool) and bool not in classes  # which Python takes for a number
    if not classes or (isinstance(value, (*classes, *as_good)) and not is_flag):
        return
    names = " or ".join(dict.fromkeys(each.__name__ for each in classes if each is not type(None)))
    raise TypeError(f"{call}: {what} is {names}, got {value!r}")
