r"""Text that others wrote (records, names, messages of a broker), made safe to print to a person's terminal.

A terminal obeys what it is sent: an escape sequence in a record could move the cursor, change the window's title or hide
a row, a newline could forge one, and a bidirectional override could turn a name around. So what is printed for people
shows such characters as escapes, as in `\x1b`. What is written for programs (raw values, JSON) is not changed.
"""

from __future__ import annotations


def printable(text: str) -> str:
    r"""Returns `text` with every character that cannot be seen written as an escape: `\n`, `\x9b`, `\u202e`."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else _escaped(each) for each in text)


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")
