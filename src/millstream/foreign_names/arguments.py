"""Explains arguments that a class or a method of a user's object does not take: what they are called here.

Owns the sentences about arguments, and the calls around methods that say them. Nothing here is in the way of what is
called for each record: around `send` such a call would cost a fifth of it.
"""

from __future__ import annotations

import difflib
import functools
import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from types import FunctionType
from typing import Final

from millstream.foreign_names import python_clients, python_streams, streams_settings

_OF_CLASSES: Final = {
    "StreamsConfig": streams_settings.SETTINGS,
    "NewTopic": python_clients.OF_NEW_TOPIC,
    "RunnerOptions": streams_settings.OF_RUNNER,
    "KafkaStreams": python_streams.OF_APPLICATION,
}
"""By class, then by keyword argument: what it is here."""
_OF_METHODS: Final = {
    **python_clients.ARGUMENTS,
    "KafkaStreams": python_streams.ARGUMENTS_OF_APPLICATION,
}
"""By class, then by method and by keyword argument."""
_UNITS: Final = {"_ms": "in milliseconds", "_s": "in seconds"}


def in_snake_case(name: str) -> str:
    """Returns `mapValues` and `as_` as `map_values` and `as`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower().strip("_")


def spelled_like(name: str, ours: Iterable[str]) -> str:
    near = difflib.get_close_matches(name, list(ours), n=1)
    return f"; did you mean {near[0]}?" if near else ""


def explain_methods(kind: type, names: Iterable[str] | None = None) -> None:
    """Has public methods of a class, all that are its own or those of its table, explain
    arguments that they do not take.

    A third of a microsecond for each call that is right.
    """
    if names is None:
        names = _OF_METHODS.get(kind.__name__, ())
    for name in names:
        method = vars(kind).get(name)
        if inspect.isfunction(method) and not hasattr(method, "_explains"):
            explained = _explained(kind, method)
            explained.__dict__["_explains"] = True
            type.__setattr__(kind, name, explained)


def of_construction(
    kind: type, args: tuple[object, ...], arguments: Mapping[str, object]
) -> str | None:
    """Explains arguments that a class cannot take; None where they fit, and something else was wrong."""
    signature = inspect.signature(kind)
    if args and isinstance(args[0], Mapping):
        return f"{kind.__name__} takes no mapping; its settings are keyword arguments: {kind.__name__}(**settings){_with_underscores(kind)}"
    name = _unknown(signature, arguments)
    if name is not None:
        known = _OF_CLASSES.get(kind.__name__, {})
        ours = list(signature.parameters)
        instead = (
            _of_one_client(kind, name)
            or _instead(name, ours, known)
            or spelled_like(_snake(name), ours)
        )
        return f"{kind.__name__} takes no {name}{instead}"
    positional = python_clients.POSITIONAL.get(kind.__name__)
    if args and not _by_position(signature) and positional is not None:
        return f"{kind.__name__} takes keyword arguments only: {positional}"
    return None


def _explained(kind: type, method: FunctionType) -> Callable[..., object]:
    """Both kinds of methods stay what they are: frameworks ask whether one is a coroutine function."""
    if inspect.iscoroutinefunction(method):

        @functools.wraps(method)
        async def awaited(*args: object, **arguments: object) -> object:
            try:
                begun = method(*args, **arguments)
            except TypeError as error:
                raise _told(kind, method, args, arguments, error) from None
            return await begun

        return awaited

    @functools.wraps(method)
    def called(*args: object, **arguments: object) -> object:
        try:
            return method(*args, **arguments)
        except TypeError as error:
            told = _told(kind, method, args, arguments, error)
            if told is error:
                raise
            raise told from None

    return called


def _told(
    kind: type,
    method: FunctionType,
    args: tuple[object, ...],
    arguments: Mapping[str, object],
    error: TypeError,
) -> TypeError:
    """Returns the error with our sentence, or the one that was raised where the arguments fit."""
    signature = inspect.signature(method)
    called = f"{kind.__name__}.{method.__name__}"
    ours = list(signature.parameters)[1:]
    name = _unknown(signature, arguments)
    if name is not None:
        of_method = _OF_METHODS.get(kind.__name__, {}).get(method.__name__)
        known = _of_operator(ours) if of_method is None else of_method
        instead = _instead(name, ours, known) or spelled_like(_snake(name), ours) or _it_takes(ours)
        return TypeError(f"{called} takes no {name}{instead}")
    positions = _by_position(signature)
    takes_more = any(each.kind is each.VAR_POSITIONAL for each in signature.parameters.values())
    if len(args) > len(positions) and not takes_more:
        by_name = [each for each in ours if each not in positions]
        if by_name:
            named = ", ".join(f"{each}=" for each in by_name)
            return TypeError(f"{called} takes {named} by name")
    return error


def _of_operator(ours: list[str]) -> Mapping[str, str]:
    """Returns what arguments of Java's operators are here, as far as this one has them."""
    return {
        theirs: instead
        for theirs, instead in python_streams.OF_OPERATORS.items()
        if all(each in ours for each in re.findall(r"(\w+)=", instead))
    }


def _unknown(signature: inspect.Signature, arguments: Iterable[str]) -> str | None:
    """Returns the first name that no parameter has."""
    if any(each.kind is each.VAR_KEYWORD for each in signature.parameters.values()):
        return None
    return next((name for name in arguments if name not in signature.parameters), None)


def _by_position(signature: inspect.Signature) -> list[str]:
    return [
        name
        for name, each in signature.parameters.items()
        if each.kind in {each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD}
    ]


def _instead(name: str, ours: list[str], known: Mapping[str, str]) -> str | None:
    """Returns what a name of elsewhere is here: spelled as here, in a table, or with its unit behind it."""
    snake = _snake(name)
    if snake in ours:
        return f": write {snake}="
    for theirs, instead in known.items():
        if theirs.replace(".", "_") == snake:
            return f": {instead}"
    for unit, told in _UNITS.items():
        if f"{snake}{unit}" in ours:
            return f": write {snake}{unit}=, {told}"
    return None


def _of_one_client(kind: type, name: str) -> str | None:
    """Returns where a setting with a prefix of Kafka Streams goes, for the classes that it is given to by mistake."""
    place = streams_settings.PLACES_OF_CLIENTS.get(kind.__name__)
    dotted = name.replace("_", ".")
    if place is None or not dotted.startswith(streams_settings.PREFIXES_OF_CLIENTS):
        return None
    return f": {place.format(key=dotted)}"


def _snake(name: str) -> str:
    return in_snake_case(name.replace(".", "_"))


def _it_takes(ours: list[str]) -> str:
    return f"; it takes {', '.join(ours)}" if ours else "; it takes no arguments"


def _with_underscores(kind: type) -> str:
    return (
        ", with underscores: application.id is application_id"
        if kind.__name__ == "StreamsConfig"
        else ", with dots or underscores"
    )
