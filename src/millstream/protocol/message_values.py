"""The base of generated classes: equality, `repr` and copies by all their fields."""

from __future__ import annotations

from typing import Any, Final, Self

UNSET: Final[Any] = object()  # Any: stands in for a value of any type
"""The default of parameters whose real default is made anew for each message."""


class MessageValue:
    """A message, or a struct in one. Its slots are its fields, in the order in which `__init__` takes them."""

    __slots__: tuple[str, ...] = ()

    def __eq__(self, other: object) -> bool:
        if self.__class__ is not other.__class__:
            return False
        return all(getattr(self, name) == getattr(other, name) for name in self.__slots__)

    __hash__ = None  # type: ignore[assignment]  # equal by what may change

    def __repr__(self) -> str:
        fields = (f"{name}={getattr(self, name)!r}" for name in self.__slots__)
        return f"{self.__class__.__qualname__}({', '.join(fields)})"

    @classmethod
    def field_names(cls) -> tuple[str, ...]:
        return cls.__slots__

    def replaced(self, **changes: object) -> Self:
        """A copy with other values in some fields."""
        return self.__class__(**{name: getattr(self, name) for name in self.__slots__} | changes)
