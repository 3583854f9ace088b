"""Draws tables on a terminal again and again in the same place, and gives the terminal back as it was."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import click

from millstream.cli.rows import Row, table
from millstream.cli.terminal import bold

_OTHER_SCREEN: Final = "\x1b[?1049h\x1b[?25l"
"""xterm's second screen, without a cursor: what was on the first is there again at the end."""
_FIRST_SCREEN: Final = "\x1b[?25h\x1b[?1049l"
_HOME: Final = "\x1b[H"
_TO_END_OF_LINE: Final = "\x1b[K"
_TO_END_OF_SCREEN: Final = "\x1b[J"
_ENDING: Final = frozenset(b"qQ")
_KEYS_MAX: Final = 1_024
"""A key may be several bytes, and keys may have come together: all are taken, and none is left for the next wait."""


class Section(NamedTuple):
    """A table below a title."""

    title: str
    rows: Sequence[Row]
    columns: Sequence[str]


def screen_lines(head: str, sections: Sequence[Section], columns: int, lines: int) -> list[str]:
    """Returns what fits on a screen: of each section its share of the lines, and what others leave of theirs."""
    room = lines - 1 - 3 * len(sections)  # a blank line, a title and a head each
    told = [head[:columns]]
    for number, section in enumerate(sections):
        share = max(1, room // (len(sections) - number))
        shown = section.rows[:share]
        room -= len(shown)
        more = len(section.rows) - len(shown)
        title = f"{section.title} ({len(section.rows)})" + (f", {more} not shown" if more else "")
        told += ["", title[:columns]]
        for at, line in enumerate(_table(shown, section.columns) or ["none"]):
            told.append(bold(line[:columns]) if at == 0 and shown else line[:columns])
    return told[:lines]


def _table(rows: Sequence[Row], columns: Sequence[str]) -> list[str]:
    return table([{name: row[name] for name in columns} for row in rows], columns)


def draw(lines: Sequence[str]) -> None:
    """Draws over what is there, line by line: a screen that is cleared first flickers."""
    text = "\n".join(f"{line}{_TO_END_OF_LINE}" for line in lines)
    click.echo(f"{_HOME}{text}{_TO_END_OF_SCREEN}", nl=False)
    sys.stdout.flush()


@contextlib.contextmanager
def other_screen() -> Iterator[None]:
    """Within it the terminal shows its second screen, and gives keys as they are pressed."""
    import termios
    import tty

    click.echo(_OTHER_SCREEN, nl=False)
    before = termios.tcgetattr(sys.stdin) if sys.stdin.isatty() else None
    try:
        if before is not None:
            tty.setcbreak(sys.stdin)
        yield
    finally:
        if before is not None:
            termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)
        click.echo(_FIRST_SCREEN, nl=False)
        sys.stdout.flush()


def is_ended_by_key(seconds: float) -> bool:
    """Waits so long, or until a key ends it, or the terminal is gone. Any other key ends the wait alone."""
    import select

    keys = [sys.stdin.fileno()] if sys.stdin.isatty() else []
    if not select.select(keys, [], [], seconds)[0]:
        return False
    try:
        pressed = os.read(
            keys[0], _KEYS_MAX
        )  # sys.stdin would hold back what select() then does not see
    except OSError:
        return True
    return not pressed or not _ENDING.isdisjoint(pressed)
