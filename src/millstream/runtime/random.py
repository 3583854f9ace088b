"""The interface to random numbers that cores use."""

from __future__ import annotations

from typing import Protocol


class Random(Protocol):
    def random(self) -> float:
        """Returns a float in [0, 1)."""
        ...

    def randrange(self, stop: int) -> int:
        """Returns an integer in [0, stop)."""
        ...

    def randbytes(self, count: int) -> bytes: ...
