"""Reads and writes Java properties text, the format of `server.properties` and `client.properties`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Final

from millstream.errors import ConfigError

_ESCAPES: Final = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_ESCAPED: Final = str.maketrans(
    {"\\": "\\\\"} | {char: f"\\{name}" for name, char in _ESCAPES.items()}
)
_LINE_END: Final = re.compile(r"\r\n|\r|\n")
"""Those of Java: `str.splitlines` knows more of them, which may stand in a password."""
_NOT_ASCII: Final = re.compile(r"[^ -~]")
_OF_SYNTAX: Final = re.compile(r"[=: #!]")


def parse_properties(text: str) -> dict[str, str]:
    """Keys and values in order; a key that stands twice keeps its last value, as in Java."""
    settings: dict[str, str] = {}
    for line in _logical_lines(text):
        key, value = _split(line)
        settings[_unescaped(key)] = _unescaped(value)
    return settings


def properties_text(settings: Mapping[str, str], heading: str) -> str:
    """Returns settings as text that `parse_properties` reads, and Java's `Properties.load`, below a comment."""
    lines = (f"{_escaped_key(key)}={_escaped_value(value)}" for key, value in settings.items())
    return "\n".join(chain((f"# {heading}",), lines, ("",)))


def _escaped_key(text: str) -> str:
    return _OF_SYNTAX.sub(r"\\\g<0>", _escaped(text))


def _escaped_value(text: str) -> str:
    escaped = _escaped(text)
    return f"\\{escaped}" if escaped.startswith(" ") else escaped


def _escaped(text: str) -> str:
    """In ASCII: Java takes a file of properties for Latin-1."""
    return _NOT_ASCII.sub(_utf_16, text.translate(_ESCAPED))


def _utf_16(char: re.Match[str]) -> str:
    units = char[0].encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))


def _logical_lines(text: str) -> Iterator[str]:
    """Lines without comments and blank ones; a trailing odd backslash joins a line with the next."""
    joined = ""
    for raw in _LINE_END.split(text):
        line = raw.lstrip(" \t\f")
        if not joined and (not line or line[0] in "#!"):
            continue
        joined += line
        backslashes = len(joined) - len(joined.rstrip("\\"))
        if backslashes % 2:
            joined = joined[:-1]
            continue
        yield joined
        joined = ""
    if joined:
        yield joined


def _split(line: str) -> tuple[str, str]:
    """At the first unescaped `=`, `:` or blank."""
    at = 0
    while at < len(line) and line[at] not in "=: \t\f":
        at += 2 if line[at] == "\\" else 1
    key, rest = line[:at], line[at:].lstrip(" \t\f")
    if rest[:1] in {"=", ":"}:
        rest = rest[1:].lstrip(" \t\f")
    return key, rest


def _unescaped(text: str) -> str:
    if "\\" not in text:
        return text
    out: list[str] = []
    at = 0
    while at < len(text):
        char = text[at]
        at += 1
        if char != "\\" or at == len(text):
            out.append(char)
            continue
        code = text[at]
        at += 1
        if code == "u":
            out.append(_unicode(text[at : at + 4]))
            at += 4
        else:
            out.append(_ESCAPES.get(code, code))
    units = "".join(out).encode("utf-16-be", "surrogatepass")
    return units.decode("utf-16-be", "surrogatepass")  # what Java writes as two \\u is one here


def _unicode(digits: str) -> str:
    try:
        return chr(int(digits.rjust(4, "x"), 16))
    except ValueError:
        raise ConfigError(f"\\u{digits} is not four hexadecimal digits") from None
