"""Equality and `repr` of generated messages, by all their fields. Written once for all classes."""

from __future__ import annotations

from typing import Any, Final

UNSET: Final[Any] = object()  # Any: stands in for a value of any type
"""The default of parameters whose real default is made anew for each message."""


def equal_messages(one: object, other: object) -> bool:
    if one.__class__ is not other.__class__:
        return False
    return all(getattr(one, name) == getattr(other, name) for name in _fields(one))


def show_message(message: object) -> str:
    fields = (f"{name}={getattr(message, name)!r}" for name in _fields(message))
    return f"{message.__class__.__qualname__}({', '.join(fields)})"


def _fields(message: object) -> tuple[str, ...]:
    fields: tuple[str, ...] = message.__class__.__slots__  # type: ignore[attr-defined]  # every generated class has slots
    return fields
