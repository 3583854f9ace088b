"""Parses lines, or JSON envelopes, into records for `produce`. Knows no files and no cluster."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import IO, Any, Final, NamedTuple, TypeAlias

import click

from millstream.cli.arguments import typed_bytes
from millstream.cli.suggestions import or_near
from millstream.clients.core.serialization import SerializationError


def require_known(given: Collection[str], known: Collection[str]) -> None:
    """Raises BadParameter for a name that is not among the `known` ones, with the nearest of these."""
    for name in given:
        if name not in known:
            raise click.BadParameter(
                f"there is no property {name}{or_near(name, known)}", param_hint="--property"
            )


def flag(given: Mapping[str, str], name: str, *, default: bool = False) -> bool:
    """Returns whether a property is true. Raises BadParameter where it is neither true nor false."""
    text = given.get(name, str(default)).strip().lower()
    if text not in {"true", "false"}:
        raise click.BadParameter(
            f"{name} must be true or false, not {given[name]!r}", param_hint="--property"
        )
    return text == "true"


Member: TypeAlias = Any  # Any: JSON of any type
Headers = list[tuple[str, bytes | None]]

_CHUNK_BYTES = 65_536
"""What a pipe of Linux holds."""
_READER_PROPERTIES: Final = (
    "parse.key", "key.separator", "parse.headers", "headers.delimiter", "headers.separator", "headers.key.separator",
    "null.marker", "ignore.error",
)  # fmt: skip
_MEMBERS: Final = ("topic", "partition", "offset", "timestamp", "key", "value", "headers")
"""Of an envelope; where a record came from says nothing of where it goes."""


class Line(NamedTuple):
    """A record to be. Key and value are as they were typed."""

    value: bytes | None
    key: bytes | None = None
    headers: Headers | None = None
    timestamp_ms: int | None = None
    partition: int | None = None


Parse = Callable[[bytes], Line]


def split(stream: IO[bytes], delimiter: bytes) -> Iterator[bytes]:
    """Yields the pieces between delimiters; a last piece without one counts, if it is not empty."""
    if delimiter == b"\n":
        for line in stream:
            yield line.removesuffix(b"\n").removesuffix(b"\r")
        return
    rest = b""
    while chunk := stream.read(_CHUNK_BYTES):
        *whole, rest = (rest + chunk).split(delimiter)
        yield from whole
    if rest:
        yield rest


@dataclass(frozen=True, slots=True)
class LineFormat:
    """Kafka's line: headers, then key, then value, those that are asked for. `null` is how a null is typed."""

    key_separator: bytes | None = None
    forgives: bool = False
    """A line that lacks a separator has no key or no headers, and is no error (Kafka's ignore.error)."""
    header_delimiter: bytes | None = None
    header_separator: bytes = b","
    header_key_separator: bytes = b":"
    null: bytes | None = None

    def parse(self, line: bytes) -> Line:
        headers = None
        if self.header_delimiter is not None:
            front, found, rest = line.partition(self.header_delimiter)
            if not found and not self.forgives:
                raise _without("headers' delimiter", front)
            if found:
                headers, line = self._headers(front), rest
        if self.key_separator is None:
            return Line(self._or_null(line), headers=headers)
        key, found, value = line.partition(self.key_separator)
        if not found:
            if not self.forgives:
                raise _without("key separator", line)
            return Line(self._or_null(line), headers=headers)
        return Line(self._or_null(value), self._or_null(key), headers)

    def _headers(self, text: bytes) -> Headers:
        if text == self.null or not text:
            return []
        headers: Headers = []
        for item in text.split(self.header_separator):
            name, found, value = item.partition(self.header_key_separator)
            if not found and not self.forgives:
                raise _without("header's separator", item)
            headers.append((_text(name), self._or_null(value)))
        return headers

    def _or_null(self, text: bytes) -> bytes | None:
        return None if text == self.null else text


def _text(name: bytes) -> str:
    try:
        return name.decode()
    except UnicodeDecodeError as error:
        raise SerializationError(f"a header's name must be UTF-8, not {name[:100]!r}") from error


def _without(what: str, line: bytes) -> SerializationError:
    return SerializationError(f"no {what} in {line[:100].decode('utf-8', 'replace')!r}")


def line_format(
    properties: Mapping[str, str], key_separator: bytes | None, null: str | None
) -> LineFormat:
    """Returns the format of our options and Kafka's reader properties, where these ask for more.

    Raises BadParameter for a property that the reader does not have, or a value that is neither true nor false.
    """
    require_known(properties, _READER_PROPERTIES)

    def separator(name: str, default: str) -> bytes:
        return typed_bytes(properties.get(name, default))

    if key_separator is None and flag(properties, "parse.key"):
        key_separator = separator("key.separator", "\t")
    marker = properties.get("null.marker", null)
    return LineFormat(
        key_separator,
        flag(properties, "ignore.error"),
        separator("headers.delimiter", "\t") if flag(properties, "parse.headers") else None,
        separator("headers.separator", ","),
        separator("headers.key.separator", ":"),
        None if marker is None else typed_bytes(marker),
    )


def parse_envelope(line: bytes, *, keeps_partition: bool) -> Line:
    """Returns a JSON object as `consume --output jsonl` writes it; `value` is enough.

    Objects and numbers become JSON text.
    """
    from json import JSONDecodeError

    from millstream.clients.serdes.json_text import read_exact_json

    try:
        members = read_exact_json(line)
    except JSONDecodeError as error:
        raise SerializationError(
            f"{line[:100]!r} is not JSON: {error.msg}, at column {error.colno}"
        ) from error
    except ValueError as error:
        raise SerializationError(f"{line[:100]!r} is not JSON: {error}") from error
    if not isinstance(members, dict) or "value" not in members:
        raise SerializationError(
            f'{line[:100]!r} is not a record; write {{"key": ..., "value": ..., "headers": [[name, value]]}}'
        )
    for name in members:
        if name not in _MEMBERS:
            raise SerializationError(
                f"{line[:100]!r} is not a record: it has no member {name!r}{or_near(name, _MEMBERS)}"
            )
    try:
        return Line(
            _content(members["value"]),
            _content(members.get("key")),
            _header_list(members.get("headers")) or None,
            _whole_number(members, "timestamp"),
            _whole_number(members, "partition") if keeps_partition else None,
        )
    except ValueError as error:
        raise SerializationError(f"{line[:100]!r} is not a record: {error}") from error


def _header_list(member: Member) -> Headers:
    """Of `[[name, value], ...]`, or of an object. Raises ValueError."""
    items = list(member.items()) if isinstance(member, dict) else member or []
    if not isinstance(items, list) or not all(
        isinstance(each, list | tuple) and len(each) == 2 for each in items
    ):
        raise ValueError("headers must be [[name, value], ...]")
    return [(str(name), _content(value)) for name, value in items]


def _whole_number(members: Mapping[str, Member], name: str) -> int | None:
    """From 0 on, as both fields count. Raises ValueError."""
    number = members.get(name)
    if isinstance(number, bool) or not isinstance(number, int | None):
        raise ValueError(f"{name} must be a whole number")  # noqa: TRY004 - its caller catches one kind of error
    if number is not None and not 0 <= number < 2**63:
        raise ValueError(f"{name} must be between 0 and 2**63 - 1")
    return number


def _base64(member: Member) -> bytes:
    """Raises ValueError."""
    if not isinstance(member, str):
        raise ValueError("base64 must be text")  # noqa: TRY004 - its caller catches one kind of error
    return b64decode(member, validate=True)


def _content(member: Member) -> bytes | None:
    from millstream.clients.serdes.json_text import plain_decimal, write_json

    if member is None:
        return None
    if isinstance(member, str):
        return member.encode()
    if isinstance(member, dict) and member.keys() == {"base64"}:
        return _base64(member["base64"])
    return write_json(member, plain_decimal)  # digit for digit as it was read
