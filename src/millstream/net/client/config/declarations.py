"""The declaration of a setting: its default, the check of what users give, one sentence;
and the checks that many share.

A config is a frozen dataclass whose fields are made with `setting()`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from millstream.errors import ConfigError
from millstream.protocol.writing import refusal_of_text

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
    """Returns a field of a config dataclass: default value, check, and one sentence of documentation.

    `aliases` are other names that users know it by. A secret is shown by no repr.
    """
    return dataclasses.field(
        default=default,
        repr=not secret,
        metadata={"check": check, "doc": doc, "aliases": aliases},
    )


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
    refusal = refusal_of_text(
        value
    )  # in the requests of a background task it would be the end of the client
    if refusal is not None:
        raise ConfigError(f"{key} cannot be sent: {refusal}")
    return value


def optional_text(key: str, value: object) -> str | None:
    return None if value is None else text(key, value)


def text_or_empty(key: str, value: object) -> str:
    return "" if value is None or value == "" else text(key, value)


def optional_secret(key: str, value: object) -> str | None:
    """Reads a text as `optional_text` does, and never quotes what was given."""
    if value is not None and (not isinstance(value, str) or not value):
        raise ConfigError(f"{key} must be a non-empty string, got a {type(value).__name__}")
    refusal = None if value is None else refusal_of_text(value)
    if refusal is not None:
        raise ConfigError(f"{key} cannot be sent: {refusal}")
    return value


def optional_function(key: str, value: object) -> object:
    if value is not None and not callable(value):
        raise ConfigError(f"{key} must be a function, got {value!r}")
    return value


def one_of(*choices: str) -> Check:
    """Reads one of `choices` in any case of letters; the spelling of `choices` counts."""

    def check(key: str, value: object) -> str:
        if isinstance(value, str):
            for choice in choices:
                if choice.lower() == value.strip().lower():
                    return choice
        raise ConfigError(f"{key} must be one of {', '.join(choices)}; got {value!r}")

    return check


def names(*known: str) -> Check:
    """Returns a non-empty list of names out of `known`; one text may hold several with commas between them."""

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
    """Returns a list of texts, or one text with commas between them."""
    items = value.split(",") if isinstance(value, str) else value
    if not isinstance(items, (list, tuple)) or not all(isinstance(item, str) for item in items):
        raise ConfigError(f"{key} must be a list of names, got {value!r}")
    return tuple(item.strip() for item in items if item.strip())
