r"""Text that others wrote (records, names, messages of a broker), made safe to print to a person's terminal.

A terminal obeys what it is sent: an escape sequence in a record could move the cursor, change the window's title or
hide a row, a newline could forge one, and a bidirectional override could turn a name around. So what is printed for
people shows such characters as escapes, as in `\x1b`. What is written for programs (raw values, JSON) is not changed.

Colours are for a person's terminal alone, and not where NO_COLOR is set (no-color.org) or the terminal has none.
"""

from __future__ import annotations

import os
import sys
from typing import TextIO

import click


def printable(text: str) -> str:
    r"""Returns `text` with every character that cannot be seen written as an escape: `\n`, `\x9b`, `\u202e`."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else _escaped(each) for each in text)


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")


def has_colours(stream: TextIO) -> bool:
    """Tells whether what is written there may be coloured."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def bold(text: str) -> str:
    """Returns text for standard output, in bold where that is a terminal with colours."""
    return click.style(text, bold=True) if has_colours(sys.stdout) else text


def coloured_word(word: str, colour: str) -> str:
    """Returns text for standard error, in a colour where that is a terminal that has them."""
    return click.style(word, fg=colour) if has_colours(sys.stderr) else word
