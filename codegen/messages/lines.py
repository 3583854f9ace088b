"""Collects generated lines at the current indentation."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class Lines:
    def __init__(self) -> None:
        self._lines: list[str] = []
        self._depth = 0

    def add(self, *lines: str) -> None:
        for line in lines:
            self._lines.append("    " * self._depth + line if line else "")

    @contextmanager
    def block(self, opening: str) -> Iterator[None]:
        """`opening` ends in a colon; what is added inside is indented. An empty block becomes `pass`."""
        self.add(opening)
        self._depth += 1
        before = len(self._lines)
        yield
        if len(self._lines) == before:
            self.add("pass")
        self._depth -= 1

    def text(self) -> str:
        return "\n".join(self._lines)
