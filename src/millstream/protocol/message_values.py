"""The base of generated classes: equality, `repr` and copies by all their fields."""

from __future__ import annotations

from typing import Any, Final, Self

UNSET: Final[Any] = object()  # Any: stands in for a value of any type
"""The default of parameters whose real default is made anew for each message."""

_SECRETS: Final = frozenset({"auth_bytes", "hmac", "salted_password", "server_key", "stored_key"})
"""Fields that whoever reads them could log in with (CVE-2026-33558: they stood in Kafka's log). They are not
in the text of a message."""
_SETTINGS: Final = frozenset({"AlterableConfig", "ConfigRecord"})
"""Structs with the `value` of a setting, which may be a key, a password or a JAAS text: which settings are
secret is not known here."""


class MessageValue:
    """A message, or a struct in one. Its slots are its fields, in the order in which `__init__` takes them."""

    __slots__: tuple[str, ...] = ()

    def __eq__(self, other: object) -> bool:
        if self.__class__ is not other.__class__:
            return False
        return all(getattr(self, name) == getattr(other, name) for name in self.__slots__)

    __hash__ = None  # type: ignore[assignment]  # equal by what may change

    def __repr__(self) -> str:
        fields = (f"{name}={self._shown(name)}" for name in self.__slots__)
        return f"{self.__class__.__qualname__}({', '.join(fields)})"

    def _shown(self, name: str) -> str:
        is_hidden = name in _SECRETS or (
            name == "value" and self.__class__.__qualname__ in _SETTINGS
        )
        return "[hidden]" if is_hidden else repr(getattr(self, name))

    @classmethod
    def field_names(cls) -> tuple[str, ...]:
        return cls.__slots__

    def replaced(self, **changes: object) -> Self:
        """A copy with other values in some fields."""
        return self.__class__(**{name: getattr(self, name) for name in self.__slots__} | changes)


def error_codes(value: Any) -> list[int]:  # Any: a message, or what a field of one holds
    """Returns all error codes of a message, those of its topics and partitions too; 0 is none."""
    if isinstance(value, list):
        return [code for each in value for code in error_codes(each)]
    if not isinstance(value, MessageValue):
        return []
    fields = {name: getattr(value, name) for name in value.field_names()}
    own = [fields["error_code"]] if "error_code" in fields else []
    return own + [code for content in fields.values() for code in error_codes(content)]
