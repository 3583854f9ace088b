"""Reads and writes Java properties text, the format of `server.properties` and `client.properties`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain

from millstream.errors import ConfigError

_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


def parse_properties(text: str) -> dict[str, str]:
    """Keys and values in order; a key that stands twice keeps its last value, as in Java."""
    settings: dict[str, str] = {}
    for line in _logical_lines(text):
        key, value = _split(line)
        settings[_unescaped(key)] = _unescaped(value)
    return settings


def properties_text(settings: Mapping[str, str], heading: str) -> str:
    """Returns settings as text that `parse_properties` reads, below a comment."""
    lines = (f"{_escaped(key)}={_escaped(value)}" for key, value in settings.items())
    return "\n".join(chain((f"# {heading}",), lines, ("",)))


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r")


def _logical_lines(text: str) -> Iterator[str]:
    """Lines without comments and blank ones; a trailing odd backslash joins a line with the next."""
    joined = ""
    for raw in text.splitlines():
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
    return "".join(out)


def _unicode(digits: str) -> str:
    try:
        return chr(int(digits.rjust(4, "x"), 16))
    except ValueError:
        raise ConfigError(f"\\u{digits} is not four hexadecimal digits") from None
