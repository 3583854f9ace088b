"""Explains a name that a public class or package does not have: what it is called here.

`explain_missing` is for objects that users are given, `explain_misspellings` for those that only describe or set
something up and run for no record, `explain_construction` for classes that they call, with their keyword arguments, and
the metaclasses for names of a class itself, as alternative constructors are. Type checkers see none of it.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from enum import EnumType
from typing import TYPE_CHECKING, Any, Final, TypeVar

from millstream.foreign_names import python_clients, python_streams
from millstream.foreign_names.arguments import (
    explain_methods,
    in_snake_case,
    of_construction,
    spelled_like,
)
from millstream.foreign_names.generated import kafka_streams

T = TypeVar("T")

_NAMES: Final = (python_clients.NAMES, python_streams.NAMES, kafka_streams.NAMES)
"""By class, then by name: what it is here."""
_PREFIXES: Final = ("get_", "with_", "is_")
"""Of Java, where a property or an argument is meant."""


class ForeignNames(type):
    """The metaclass of a class whose alternative constructors have other names elsewhere.

    Not for classes that are made to be inherited from: it would be in the way of their metaclasses.
    """

    def __dir__(cls) -> list[str]:
        return [each for each in type.__dir__(cls) if _is_there(cls, each)]

    if not TYPE_CHECKING:  # for type checkers every name would exist

        def __getattr__(cls, name: str) -> object:
            return _missing_of_class(cls, name)


class ForeignNamesOfMembers(EnumType):
    """The same for an enumeration."""

    if not TYPE_CHECKING:

        def __getattr__(cls, name: str) -> object:
            if name in cls.__members__:  # Python 3.11 looks for them so
                return cls[name]
            return _missing_of_class(cls, name)


class MissingName:
    """A foreign name on a class: reading it from the class or an object raises the AttributeError
    that says what it is here.

    A base behind the class that does have the name gives it: a class of the user's own may inherit from others, too.
    """

    __slots__ = ("_home", "_name")

    def __init__(self, home: type, name: str) -> None:
        self._home = home
        self._name = name

    def __repr__(self) -> str:
        return f"<{self._name} has another name here>"

    def __set_name__(self, owner: type, name: str) -> None:
        """A dataclass with slots is made a second time, of what was on the first."""
        self._home = owner

    def __get__(self, instance: object, owner: type) -> object:
        asked = owner if instance is None else instance
        try:
            return getattr(super(self._home, asked), self._name)
        except AttributeError:
            told = explanation(owner, self._name)
        raise AttributeError(told, name=self._name, obj=asked)


def explain_missing(kind: type[T]) -> type[T]:
    """Has a class, what inherits from it, and its objects say what foreign names are here.

    Those are the names of the tables, and the names of the class as Java spells them. Other names get Python's own
    error: a `__getattr__` would explain them too, but CPython 3.11 then reads every attribute, slot and method of the
    class, and of all that inherits it, two to five times as slowly.
    """
    if "__getattr__" in vars(kind):  # it explains every name already
        return kind

    def explain_inherited(cls: type, /, **arguments: object) -> None:
        behind: Any = super(kind, cls)  # Any: mypy sees no base in a type that it does not know
        behind.__init_subclass__(**arguments)
        _set_missing_names(cls)

    _set_missing_names(kind)
    type.__setattr__(kind, "__init_subclass__", classmethod(explain_inherited))
    type.__setattr__(kind, "__dir__", _names_of_object)
    return kind


def _set_missing_names(kind: type) -> None:
    for name in _foreign_names(kind):
        type.__setattr__(kind, name, MissingName(kind, name))


def explain_misspellings(kind: type[T]) -> type[T]:
    """Has the objects of a class explain any name that they do not have, and its methods any argument.

    Slows its attributes and calls: not for what runs for each record.
    """

    def missing(self: object, name: str) -> object:
        if name.startswith("_") or hasattr(type(self), name):
            return object.__getattribute__(self, name)  # raises as it did before
        raise AttributeError(explanation(type(self), name), name=name, obj=self)

    type.__setattr__(kind, "__getattr__", missing)
    explain_methods(kind, [each for each in vars(kind) if not each.startswith("_")])
    return kind


def explain_construction(kind: type[T]) -> type[T]:
    """Has a class that users call, its objects, and the methods that are in a table, explain arguments and
    names that it does not have.
    """
    made = kind.__init__

    @functools.wraps(made)
    def initialize(self: T, *args: object, **arguments: object) -> None:
        try:
            made(self, *args, **arguments)
        except TypeError as error:
            sentence = of_construction(kind, args, arguments)
            if sentence is None:
                raise
            raise TypeError(sentence) from error

    type.__setattr__(kind, "__init__", initialize)
    explain_methods(kind)
    return explain_missing(kind)


def explanation(kind: type, name: str) -> str:
    """Returns the sentence for a name that a class and its objects do not have."""
    ours = [each for each in dir(kind) if not each.startswith("_") and _is_there(kind, each)]
    return f"{kind.__name__} has no {name}{_instead((each.__name__ for each in kind.__mro__), name, ours)}"


def explanation_of_package(package: str, name: str) -> str | None:
    """Returns the sentence for a name that a package does not have, None where nothing is known of it."""
    of = "streams" if package.startswith("millstream.streams") else "clients"
    packages = {"streams": python_streams.CLASSES, "clients": python_clients.CLASSES}
    instead = packages[of].get(name)
    if instead is None and of == "streams":
        instead = next(iter(kafka_streams.NAMES.get(name, {}).values()), None)
    return f"{package} has no {name}: here it is {instead}" if instead else None


def _foreign_names(kind: type) -> set[str]:
    """Returns the names that `explanation` knows for a class, in every spelling: `add_errback`,
    `addErrback` and `add_errback_`.
    """
    ours = {each for each in dir(kind) if not each.startswith("_") and _is_there(kind, each)}
    ours |= getattr(kind, "__dataclass_fields__", {}).keys()
    snake = {
        in_snake_case(theirs)
        for each in kind.__mro__
        for names in _NAMES
        for theirs in names.get(each.__name__, ())
    }
    snake |= ours
    values = {each for each in ours if not callable(getattr(kind, each, None))}
    snake |= {f"{prefix}{each}" for prefix in _PREFIXES for each in values}
    spelled = snake | {_in_camel_case(each) for each in snake} | {f"{each}_" for each in snake}
    return {each for each in spelled - ours if _is_there(kind, each)}  # and no base says it


def _in_camel_case(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(each.capitalize() for each in others)


def _is_there(kind: type, name: str) -> bool:
    """Whether the name is one of the class, and not only of what is missing."""
    homes = (vars(each) for each in kind.__mro__)
    return not isinstance(next((home[name] for home in homes if name in home), None), MissingName)


def _names_of_object(self: object) -> list[str]:
    """The `__dir__` of an object: without what is missing, which nobody should be offered."""
    return [each for each in object.__dir__(self) if _is_there(type(self), each)]


def _missing_of_class(kind: type, name: str) -> object:
    if name.startswith("_"):
        raise AttributeError(f"type object {kind.__name__!r} has no attribute {name!r}")
    raise AttributeError(explanation(kind, name), name=name, obj=kind)


def _instead(kinds: Iterable[str], name: str, ours: Iterable[str]) -> str:
    """Says what a name is: the same in snake case, what a table says, or what is spelled like it."""
    snake = in_snake_case(name)
    known = set(ours)
    if snake in known and snake != name:
        return f": here it is {snake}"
    for kind in kinds:
        for names in _NAMES:
            for theirs, instead in names.get(kind, {}).items():
                if in_snake_case(theirs) == snake:
                    return f": here it is {instead}"
    for prefix in _PREFIXES:
        if snake.removeprefix(prefix) in known:
            return f": here it is {snake.removeprefix(prefix)}"
    return spelled_like(snake, known)
