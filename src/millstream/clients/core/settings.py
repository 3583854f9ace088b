"""How a client's settings are declared, checked and explained.

A config is a frozen dataclass whose fields are made with `setting()`: default, check and sentence stand in one place.
`parse_settings` turns keyword arguments into the dataclass and raises ConfigError before anything is connected.
"""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from millstream.errors import ConfigError

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    Config = TypeVar("Config", bound=DataclassInstance)

Check = Callable[[str, object], object]
"""Takes the key and the value given, returns the value to use, raises ConfigError."""


def setting(default: object, check: Check, doc: str) -> Any:  # Any: dataclasses.field is typed so
    """A field of a config dataclass: default value, check, and one sentence of documentation."""
    return dataclasses.field(default=default, metadata={"check": check, "doc": doc})


def parse_settings(config: type[Config], given: Mapping[str, object]) -> Config:
    """Raises ConfigError for an unknown key or a value that cannot be used, naming the key and what to write."""
    fields = {field.name: field for field in dataclasses.fields(config)}
    for key in given:
        if key not in fields:
            near = difflib.get_close_matches(key, fields, n=1)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise ConfigError(f"{config.__name__} has no setting {key}{hint}")
    return config(
        **{key: fields[key].metadata["check"](key, value) for key, value in given.items()}
    )


def documentation(config: type[DataclassInstance]) -> list[tuple[str, object, str]]:
    """(key, default, sentence) of every setting, for the reference page."""
    return [
        (field.name, field.default, field.metadata["doc"]) for field in dataclasses.fields(config)
    ]


def integer(at_least: int = 0, at_most: int = 2**31 - 1) -> Check:
    def check(key: str, value: object) -> int:
        if isinstance(value, bool) or not isinstance(value, int):
            raise ConfigError(f"{key} must be an integer, got {value!r}")
        if not at_least <= value <= at_most:
            raise ConfigError(f"{key} must be between {at_least} and {at_most}, got {value}")
        return value

    return check


def boolean(key: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise ConfigError(f"{key} must be True or False, got {value!r}")
    return value


def text(key: str, value: object) -> str:
    if not isinstance(value, str) or not value:
        raise ConfigError(f"{key} must be a non-empty string, got {value!r}")
    return value


def optional_text(key: str, value: object) -> str | None:
    return None if value is None else text(key, value)


def one_of(*choices: str) -> Check:
    def check(key: str, value: object) -> str:
        if not isinstance(value, str) or value not in choices:
            raise ConfigError(f"{key} must be one of {', '.join(choices)}; got {value!r}")
        return value

    return check


def names(*known: str) -> Check:
    """A non-empty list of names out of `known`; a single name may stand without a list."""

    def check(key: str, value: object) -> tuple[str, ...]:
        items = (value,) if isinstance(value, str) else value
        if not isinstance(items, (list, tuple)) or not items:
            raise ConfigError(f"{key} must be a list of names, got {value!r}")
        for item in items:
            if item not in known:
                raise ConfigError(f"{key} knows {', '.join(known)}; got {item!r}")
        return tuple(items)

    return check
