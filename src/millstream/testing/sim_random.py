"""Chance that repeats itself: the same seed, the same numbers."""

from __future__ import annotations

import random  # noqa: TID251  (a seeded stand-in for runtime.Random is what this module is for)


class SimRandom:
    """Satisfies `runtime.Random`."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)  # noqa: S311  (not for secrets: for tests that repeat)

    def random(self) -> float:
        return self._random.random()

    def randrange(self, stop: int) -> int:
        return self._random.randrange(stop)

    def randbytes(self, count: int) -> bytes:
        return self._random.randbytes(count)
