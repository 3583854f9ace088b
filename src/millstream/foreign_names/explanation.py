"""Explains a name that a public class or package does not have: what it is called here.

`explain_missing` is for objects that users are given, `explain_construction` for classes that they call, with their keyword
arguments, and the metaclasses for names of a class itself, as alternative constructors are. Type checkers see none of it.
"""

from __future__ import annotations

import difflib
import functools
import inspect
import re
from collections.abc import Iterable, Mapping
from enum import EnumType
from typing import TYPE_CHECKING, Final, TypeVar

from millstream.foreign_names import python_clients, python_streams, streams_settings
from millstream.foreign_names.generated import kafka_streams

T = TypeVar("T")

_NAMES: Final = (python_clients.NAMES, python_streams.NAMES, kafka_streams.NAMES)
"""By class, then by name: what it is here."""
_ARGUMENTS: Final = {
    "StreamsConfig": streams_settings.SETTINGS,
    "NewTopic": python_clients.OF_NEW_TOPIC,
    "RunnerOptions": streams_settings.OF_RUNNER,
    "KafkaStreams": {
        "properties": "the second argument is a StreamsConfig, the third the settings of all clients"
    },
}
"""By class, then by keyword argument: what it is here."""


def in_snake_case(name: str) -> str:
    """Returns `mapValues` and `as_` as `map_values` and `as`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower().strip("_")


class ForeignNames(type):
    """The metaclass of a class whose alternative constructors have other names elsewhere.

    Not for classes that are made to be inherited from: it would be in the way of their metaclasses.
    """

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


def explain_missing(kind: type[T]) -> type[T]:
    """Has the objects of a class say what a name is here that they do not have."""

    def missing(self: object, name: str) -> object:
        if name.startswith("_") or hasattr(type(self), name):
            return object.__getattribute__(self, name)  # raises as it did before
        raise AttributeError(explanation(type(self), name), name=name, obj=self)

    type.__setattr__(kind, "__getattr__", missing)
    return kind


def explain_construction(kind: type[T]) -> type[T]:
    """Has a class that users call, and its objects, explain arguments and names that it does not have."""
    made = kind.__init__

    @functools.wraps(made)
    def initialize(self: T, *args: object, **arguments: object) -> None:
        try:
            made(self, *args, **arguments)
        except TypeError as error:
            sentence = _of_arguments(kind, args, arguments)
            if sentence is None:
                raise
            raise TypeError(sentence) from error

    type.__setattr__(kind, "__init__", initialize)
    return explain_missing(kind)


def explanation(kind: type, name: str) -> str:
    """Returns the sentence for a name that a class and its objects do not have."""
    ours = [each for each in dir(kind) if not each.startswith("_")]
    return f"{kind.__name__} has no {name}{_instead((each.__name__ for each in kind.__mro__), name, ours)}"


def explanation_of_package(package: str, name: str) -> str | None:
    """Returns the sentence for a name that a package does not have, None where nothing is known of it."""
    of = "streams" if package.startswith("millstream.streams") else "clients"
    packages = {"streams": python_streams.CLASSES, "clients": python_clients.CLASSES}
    instead = packages[of].get(name)
    if instead is None and of == "streams":
        instead = next(iter(kafka_streams.NAMES.get(name, {}).values()), None)
    return f"{package} has no {name}: here it is {instead}" if instead else None


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
    for prefix in ("get_", "with_", "is_"):  # of Java, where a property or an argument is meant
        if snake.removeprefix(prefix) in known:
            return f": here it is {snake.removeprefix(prefix)}"
    return _spelled_like(snake, known)


def _spelled_like(name: str, ours: Iterable[str]) -> str:
    near = difflib.get_close_matches(name, list(ours), n=1)
    return f"; did you mean {near[0]}?" if near else ""


def _of_arguments(
    kind: type, args: tuple[object, ...], arguments: Mapping[str, object]
) -> str | None:
    """Explains arguments that a call cannot take; None where they fit, and something else was wrong."""
    signature = inspect.signature(kind)
    parameters = signature.parameters.values()
    if args and isinstance(args[0], Mapping):
        return f"{kind.__name__} takes no mapping; its settings are keyword arguments: {kind.__name__}(**settings){_with_underscores(kind)}"
    takes_any = any(each.kind is each.VAR_KEYWORD for each in parameters)
    for name in arguments:
        if name not in signature.parameters and not takes_any:
            return f"{kind.__name__} takes no {name}{_instead_of_argument(kind, name, list(signature.parameters))}"
    takes_positions = any(
        each.kind in {each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD} for each in parameters
    )
    positional = python_clients.POSITIONAL.get(kind.__name__)
    if args and not takes_positions and positional is not None:
        return f"{kind.__name__} takes keyword arguments only: {positional}"
    return None


def _with_underscores(kind: type) -> str:
    return (
        ", with underscores: application.id is application_id"
        if kind.__name__ == "StreamsConfig"
        else ", with dots or underscores"
    )


def _instead_of_argument(kind: type, name: str, ours: list[str]) -> str:
    snake = in_snake_case(name.replace(".", "_"))
    if snake in ours:
        return f": write {snake}="
    for theirs, instead in _ARGUMENTS.get(kind.__name__, {}).items():
        if theirs.replace(".", "_") == snake:
            return f": {instead}"
    return _spelled_like(snake, ours)
