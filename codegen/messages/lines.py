"""Collects generated lines at the current indentation, and wraps the long ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

WIDTH: Final = 100

Arm = tuple[str, Callable[[], None]]
"""A condition, empty for always, and what emits the lines it guards."""


class Lines:
    def __init__(self) -> None:
        self._lines: list[str] = []
        self._depth = 0

    def add(self, *lines: str) -> None:
        for line in lines:
            self._lines.append("    " * self._depth + line if line else "")

    def add_list(
        self, opening: str, items: Sequence[str], closing: str, *, comma: bool = True
    ) -> None:
        """`opening items closing` on one line, or the items on lines of their own between the brackets."""
        line = f"{opening}{', '.join(items)}{closing}"
        if 4 * self._depth + len(line) <= WIDTH:
            self.add(line)
            return
        self.add(opening)
        self._depth += 1
        one_row = ", ".join(items)
        if 4 * self._depth + len(one_row) <= WIDTH or not comma:
            self.add(one_row)
        else:
            self.add(*(f"{item}," for item in items))
        self._depth -= 1
        self.add(closing)

    def add_import(self, module: str, names: Sequence[str]) -> None:
        line = f"from {module} import {', '.join(names)}"
        if len(line) <= WIDTH:
            self.add(line)
        else:
            self.add(f"from {module} import (", *(f"    {name}," for name in names), ")")

    def add_unpack(self, targets: Sequence[str], value: str) -> None:
        """`a, b = value`, with the targets bracketed where the line is too long."""
        left = f"({targets[0]},)" if len(targets) == 1 else ", ".join(targets)
        if 4 * self._depth + len(f"{left} = {value}") <= WIDTH:
            self.add(f"{left} = {value}")
        else:
            self.add("(", *(f"    {target}," for target in targets), f") = {value}")

    @contextmanager
    def block(self, opening: str) -> Iterator[None]:
        """`opening` ends in a colon; what is added inside is indented. Without one, the lines above opened it."""
        if opening:
            self.add(opening)
        self._depth += 1
        before = len(self._lines)
        yield
        assert len(self._lines) > before, f"nothing stands below {opening!r}"
        self._depth -= 1

    def choose(self, arms: Sequence[Arm]) -> None:
        """An if / elif / else chain. Arms that emit nothing at the end are left out; no test, no indentation."""
        if len(arms) == 1 and not arms[0][0]:
            arms[0][1]()
            return
        rendered = [(test, self._indented(emit)) for test, emit in arms]
        while rendered and not rendered[-1][1]:
            rendered.pop()
        if rendered and not rendered[-1][0]:
            rendered[-1] = self._as_elif(rendered[-1][1])
        for index, (test, lines) in enumerate(rendered):
            keyword = ("elif" if index else "if") + f" {test}" if test else "else"
            self.add(f"{keyword}:")
            self._lines += lines or ["    " * (self._depth + 1) + "pass"]

    def _as_elif(self, lines: list[str]) -> tuple[str, list[str]]:
        """The last arm: an `if` that stands alone below `else` becomes an `elif`."""
        inside = "    " * (self._depth + 1)
        alone = all(line.startswith(inside + "    ") for line in lines[1:])
        if alone and lines[0].startswith(f"{inside}if ") and lines[0].endswith(":"):
            test = lines[0].strip().removeprefix("if ").removesuffix(":")
            return test, [line.removeprefix("    ") for line in lines[1:]]
        return "", lines

    def _indented(self, emit: Callable[[], None]) -> list[str]:
        start = len(self._lines)
        self._depth += 1
        emit()
        self._depth -= 1
        lines = self._lines[start:]
        del self._lines[start:]
        return lines

    def text(self) -> str:
        return "\n".join(self._lines)
