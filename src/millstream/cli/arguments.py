"""Arguments of the command line as Python gives them: bytes of the command line that are no UTF-8 arrive as
lone surrogates (PEP 383).

A key, a value or a separator may be any bytes: its option has the type ANY_BYTES, and `typed_bytes` gives the
bytes back. Everything else is text: names of topics and groups, addresses, settings. `refuse_bytes` says so
before anything is asked.

And files and lists of broker ids as they are given to verbs: text in UTF-8, of a size that somebody may have written.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, BinaryIO, Final

import click

from millstream.errors import ConfigError

_BYTES_MAX: Final = 64 * 1024 * 1024
"""Of a file. A plan for all replicas of the largest clusters (200,000 partitions) is a third of it; a device has no
end.
"""

if TYPE_CHECKING:
    from pathlib import Path

    _TextType = click.ParamType[str]
else:
    _TextType = click.ParamType  # older releases of click have no generic type


class _AnyBytes(_TextType):
    """Text, or bytes that are not text."""

    name = "text"


ANY_BYTES: Final = _AnyBytes()


def checked_pattern(pattern: str) -> str:
    """Returns `pattern` itself. Raises BadParameter where it is no regular expression."""
    try:
        re.compile(pattern)
    except re.error as error:
        raise click.BadParameter(f"{pattern!r} is not a regular expression: {error}") from error
    return pattern


class _Pattern(_TextType):
    """A regular expression, checked before anything is asked."""

    name = "regex"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        del param, ctx
        return checked_pattern(value)


PATTERN: Final = _Pattern()


def typed_bytes(text: str) -> bytes:
    """Returns the bytes that were typed: `text` in UTF-8, and what is no UTF-8 as it came."""
    return text.encode("utf-8", "surrogateescape")


def whole_number(text: str) -> int:
    """Returns the number that `text` is, of nothing but a sign and digits, as Java reads one. Raises ValueError."""
    if not re.fullmatch(r"[+-]?[0-9]+", text):
        raise ValueError(f"{text!r} is not a whole number")
    return int(text)


def as_text(text: str, what: str) -> str:
    """Returns `text` itself. Raises UsageError where it is no UTF-8."""
    if not _is_text(text):
        raise click.UsageError(f"{what} must be text in UTF-8, not {typed_bytes(text)!r}")
    return text


def refuse_bytes(context: click.Context) -> None:
    """Refuses parameters that must be text and are not. Raises BadParameter."""
    for parameter in context.command.params:
        if parameter.type is ANY_BYTES or isinstance(parameter.type, click.Path):
            continue
        for text in _texts(context.params.get(parameter.name or "")):
            if not _is_text(text):
                raise click.BadParameter(
                    f"{typed_bytes(text)!r} is not text in UTF-8", context, parameter
                )


def _texts(given: object) -> Iterator[str]:
    if isinstance(given, str):
        yield given
    elif isinstance(given, Iterable):
        yield from (each for each in given if isinstance(each, str))


def _is_text(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def broker_ids(text: str, option: str) -> list[int]:
    """Returns the ids of a list like 1,2,3. Raises BadParameter."""
    parts = text.split(",")
    if not all(part.strip().isdecimal() for part in parts):
        raise click.BadParameter(f"{text!r} is not like 1,2,3", param_hint=option)
    ids = [int(part) for part in parts]
    if len(set(ids)) != len(ids):
        raise click.BadParameter(f"{text!r} names a broker more than once", param_hint=option)
    return ids


def file_text(file: str | Path) -> str:
    """Returns what is in a file. Raises ConfigError, OSError."""
    from pathlib import Path  # few verbs are given files, and the others need not load it

    with Path(file).open("rb") as opened:
        return _text_of(opened, file)


def given_text(file: str) -> str:
    """Returns what is in a file; in standard input for `-`. Raises ConfigError, OSError."""
    return _text_of(sys.stdin.buffer, file) if file == "-" else file_text(file)


def _text_of(opened: BinaryIO, file: str | Path) -> str:
    data = opened.read(_BYTES_MAX + 1)
    if len(data) > _BYTES_MAX:
        raise ConfigError(
            f"{file} is no file that somebody wrote: it has more than {_BYTES_MAX:,} bytes"
        )
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise ConfigError(f"{file} is not text in UTF-8: {error}") from error
