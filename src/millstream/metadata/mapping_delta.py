"""A mapping under change: what is put and removed lies over a base, which stays as it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Generic, TypeVar

from millstream.metadata.image import frozen_mapping

KeyT = TypeVar("KeyT")
ValueT = TypeVar("ValueT")


class MappingDelta(Generic[KeyT, ValueT]):
    def __init__(self, base: Mapping[KeyT, ValueT]) -> None:
        self._base = base
        self.changed: dict[KeyT, ValueT | None] = {}
        """What was touched, as it is now; None for what is gone."""

    def get(self, key: KeyT) -> ValueT | None:
        return self.changed[key] if key in self.changed else self._base.get(key)

    def put(self, key: KeyT, value: ValueT) -> None:
        self.changed[key] = value

    def remove(self, key: KeyT) -> None:
        """Removes a key; a key that is not there changes nothing."""
        self.changed[key] = None

    def replaced(self) -> list[ValueT]:
        """Returns the values of the base that are gone, or have others in their place."""
        return [self._base[key] for key in self.changed if key in self._base]

    def put_values(self) -> list[ValueT]:
        """Returns the values that the base does not have at their keys."""
        return [value for value in self.changed.values() if value is not None]

    def result(self) -> Mapping[KeyT, ValueT]:
        """Returns the changed mapping; the base itself when nothing was touched."""
        if not self.changed:
            return self._base
        merged = dict(self._base)
        for key, value in self.changed.items():
            if value is None:
                merged.pop(key, None)
            else:
                merged[key] = value
        return frozen_mapping(merged)
