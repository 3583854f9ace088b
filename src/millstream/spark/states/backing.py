"""The storage of states: many keys are read, or written, in one call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol


class Backing(Protocol):
    """Bytes by key. `multi_put` returns when all of it is safe.

    Where it fails half-way, any of the keys may be written.
    """

    def multi_get(self, keys: Sequence[str]) -> list[bytes | None]: ...
    def multi_put(self, values: Mapping[str, bytes]) -> None: ...


class MemoryBacking:
    """For tests, and for what may be lost with its process."""

    def __init__(self) -> None:
        self.values: dict[str, bytes] = {}

    def multi_get(self, keys: Sequence[str]) -> list[bytes | None]:
        return [self.values.get(key) for key in keys]

    def multi_put(self, values: Mapping[str, bytes]) -> None:
        self.values.update(values)
