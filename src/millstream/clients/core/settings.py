"""How a client's settings are declared, checked and explained.

A config is a frozen dataclass whose fields are made with `setting()`: default, check and sentence stand in one place.
`parse_settings` turns keyword arguments into the dataclass and raises ConfigError before anything is connected. Keys may
be written with Kafka's dots, and values as property files give them: as text.
"""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from millstream.clients.core.java_keys import java_only
from millstream.errors import ConfigError

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    Config = TypeVar("Config", bound=DataclassInstance)

Check = Callable[[str, object], object]
"""Takes the key and the value given, returns the value to use, raises ConfigError."""


def setting(
    default: object,
    check: Check,
    doc: str,
    *,
    aliases: tuple[str, ...] = (),
    secret: bool = False,
) -> Any:  # Any: dataclasses.field is typed so
    """A field of a config dataclass: default value, check, and one sentence of documentation.

    `aliases` are other names that users know it by. A secret is shown by no repr.
    """
    return dataclasses.field(
        default=default,
        repr=not secret,
        metadata={"check": check, "doc": doc, "aliases": aliases},
    )


def parse_settings(config: type[Config], given: Mapping[str, object]) -> Config:
    """Raises ConfigError for an unknown key or a value that cannot be used, naming the key and what to write."""
    fields = setting_names(config)
    checked: dict[str, object] = {}
    written_as: dict[str, str] = {}
    for key, value in given.items():
        field = fields.get(key.replace(".", "_"))
        if field is None:
            raise ConfigError(_unknown(config, key, fields))
        other = written_as.setdefault(field.name, key)
        if other != key:
            raise ConfigError(f"{other} and {key} are the same setting; give one of them")
        checked[field.name] = field.metadata["check"](key, value)
    return config(**checked)


def setting_names(config: type[DataclassInstance]) -> dict[str, dataclasses.Field[object]]:
    """Every name that a setting goes by, aliases included."""
    return {
        name: field
        for field in dataclasses.fields(config)
        for name in (field.name, *field.metadata["aliases"])
    }


def documentation(config: type[DataclassInstance]) -> list[tuple[str, object, str]]:
    """(key, default, sentence) of every setting, for the reference page."""
    return [
        (field.name, field.default, field.metadata["doc"]) for field in dataclasses.fields(config)
    ]


def integer(at_least: int = 0, at_most: int = 2**31 - 1) -> Check:
    def check(key: str, value: object) -> int:
        if isinstance(value, str) and value.strip().removeprefix("-").isdecimal():
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int):
            raise ConfigError(f"{key} must be an integer, got {value!r}")
        if not at_least <= value <= at_most:
            raise ConfigError(f"{key} must be between {at_least} and {at_most}, got {value}")
        return value

    return check


def boolean(key: str, value: object) -> bool:
    if isinstance(value, str) and value.strip().lower() in {"true", "false"}:
        return value.strip().lower() == "true"
    if not isinstance(value, bool):
        raise ConfigError(f"{key} must be True or False, got {value!r}")
    return value


def text(key: str, value: object) -> str:
    if not isinstance(value, str) or not value:
        raise ConfigError(f"{key} must be a non-empty string, got {value!r}")
    return value


def optional_text(key: str, value: object) -> str | None:
    return None if value is None else text(key, value)


def text_or_empty(key: str, value: object) -> str:
    return "" if value is None or value == "" else text(key, value)


def optional_secret(key: str, value: object) -> str | None:
    """As `optional_text`, and never quotes what was given."""
    if value is not None and (not isinstance(value, str) or not value):
        raise ConfigError(f"{key} must be a non-empty string, got a {type(value).__name__}")
    return value


def optional_function(key: str, value: object) -> object:
    if value is not None and not callable(value):
        raise ConfigError(f"{key} must be a function, got {value!r}")
    return value


def one_of(*choices: str) -> Check:
    """In any case of letters; the spelling of `choices` counts."""

    def check(key: str, value: object) -> str:
        if isinstance(value, str):
            for choice in choices:
                if choice.lower() == value.strip().lower():
                    return choice
        raise ConfigError(f"{key} must be one of {', '.join(choices)}; got {value!r}")

    return check


def names(*known: str) -> Check:
    """A non-empty list of names out of `known`; one text may hold several with commas between them."""

    def check(key: str, value: object) -> tuple[str, ...]:
        items = text_list(key, value)
        if not items:
            raise ConfigError(f"{key} must be a list of names, got {value!r}")
        for item in items:
            if item not in known:
                raise ConfigError(f"{key} must be one of {', '.join(known)}; got {item!r}")
        return items

    return check


def text_list(key: str, value: object) -> tuple[str, ...]:
    """A list of texts, or one text with commas between them."""
    items = value.split(",") if isinstance(value, str) else value
    if not isinstance(items, (list, tuple)) or not all(isinstance(item, str) for item in items):
        raise ConfigError(f"{key} must be a list of names, got {value!r}")
    return tuple(item.strip() for item in items if item.strip())


def _unknown(config: type[DataclassInstance], key: str, known: Mapping[str, object]) -> str:
    instead = java_only(key.replace("_", "."))
    if instead is not None:
        return f"{config.__name__} has no setting {key}: {instead}"
    near = difflib.get_close_matches(key.replace(".", "_"), known, n=1)
    hint = f"; did you mean {near[0]}?" if near else ""
    return f"{config.__name__} has no setting {key}{hint}"
