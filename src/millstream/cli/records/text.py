"""Records as bytes for standard output: values, kcat's format strings, Kafka's console format, JSON, a table."""

from __future__ import annotations

import re
from base64 import standard_b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from struct import pack
from typing import Any, Final, NamedTuple, TypeAlias

import click

from millstream.cli.arguments import typed_bytes
from millstream.cli.records.lines import flag, require_known
from millstream.cli.records.windowed_keys import WindowedKey, as_object, as_text
from millstream.cli.terminal import printable

Datum: TypeAlias = Any  # Any: what a deserializer made; bytes where there was none


class Shown(NamedTuple):
    """A record whose key and value are deserialized."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    key: Datum
    value: Datum
    headers: tuple[tuple[str, bytes | None], ...]


Write = Callable[[Shown], bytes]


def as_bytes(datum: Datum, null: bytes = b"") -> bytes:
    """Returns bytes and text as they are; anything else as JSON."""
    if isinstance(datum, bytes):
        return datum
    if datum is None:
        return null
    if isinstance(datum, str):
        return datum.encode("utf-8", "surrogateescape")
    if isinstance(datum, WindowedKey):
        return as_text(datum, as_bytes)
    return _json_text(datum)


def with_headers(write: Write) -> Write:
    """Writes headers as kcat's %h has them, and a tab, before what is written else."""
    return lambda record: _headers(record) + b"\t" + write(record)


def plain(key_separator: str | None, delimiter: str, null: str) -> Write:
    """Returns the value, behind its key if there is a separator."""
    end, null_bytes = unescaped(delimiter), typed_bytes(null)
    if key_separator is None:
        return lambda record: as_bytes(record.value, null_bytes) + end
    between = unescaped(key_separator)
    return lambda record: (
        as_bytes(record.key, null_bytes) + between + as_bytes(record.value, null_bytes) + end
    )


# ---- kcat's format strings

_TOKEN: Final = re.compile(r"%(.)|\\x([0-9a-fA-F]{2})|\\(.)|([^%\\]+)", re.DOTALL)
_ESCAPES: Final = {"n": b"\n", "r": b"\r", "t": b"\t", "0": b"\x00", "\\": b"\\"}


def _length(datum: Datum) -> bytes:
    return b"-1" if datum is None else str(len(as_bytes(datum))).encode()


def _headers(record: Shown) -> bytes:
    return b",".join(
        name.encode() + b"=" + (b"NULL" if value is None else value)
        for name, value in record.headers
    )


def _length_prefix(record: Shown) -> bytes:
    return pack(">i", -1 if record.value is None else len(as_bytes(record.value)))


def _fields(null: bytes) -> Mapping[str, Write]:
    return {
        "s": lambda record: as_bytes(record.value, null),
        "S": lambda record: _length(record.value),
        "R": _length_prefix,
        "k": lambda record: as_bytes(record.key, null),
        "K": lambda record: _length(record.key),
        "T": lambda record: str(record.timestamp_ms).encode(),
        "h": _headers,
        "t": lambda record: record.topic.encode(),
        "p": lambda record: str(record.partition).encode(),
        "o": lambda record: str(record.offset).encode(),
        "%": lambda _record: b"%",
    }


def formatted(template: str, null: str = "") -> Write:
    """Returns a writer for kcat's -f: %s value, %S its length, %R that as four bytes, %k %K key, %T time, %h
    headers, %t %p %o, escapes.
    """
    fields = _fields(typed_bytes(null))
    parts: list[bytes | Write] = []
    for field, code, escape, literal in _TOKEN.findall(template):
        if field:
            if field not in fields:
                raise click.BadParameter(
                    f"%{field} is not a field of a record; use %s %S %R %k %K %T %h %t %p %o %%",
                    param_hint="-f",
                )
            parts.append(fields[field])
        elif code:
            parts.append(bytes([int(code, 16)]))
        elif escape:
            parts.append(_ESCAPES.get(escape, b"\\" + typed_bytes(escape)))
        else:
            parts.append(typed_bytes(literal))
    return lambda record: b"".join(
        part if isinstance(part, bytes) else part(record) for part in parts
    )


def unescaped(text: str) -> bytes:
    """Text with escapes as the bytes they mean."""
    return formatted(text.replace("%", "%%"))(_NOTHING)


_NOTHING: Final = Shown("", 0, 0, 0, None, None, ())


# ---- Kafka's console format

_SEPARATORS: Final = ("key.separator", "line.separator", "headers.separator", "null.literal")
_PRINTED: Final = tuple(
    f"print.{part}" for part in ("timestamp", "partition", "offset", "headers", "key", "value")
)


@dataclass(frozen=True, slots=True)
class ConsoleFormat:
    """The parts of a record that `--property print.*=true` asks for, and the text between them."""

    parts: frozenset[str]
    key_separator: str = "\t"
    line_separator: str = "\n"
    headers_separator: str = ","
    null_literal: str = "null"

    def write(self, record: Shown) -> bytes:
        """Writes a record in the order of Kafka's DefaultMessageFormatter."""
        null = typed_bytes(self.null_literal)
        headers = typed_bytes(self.headers_separator).join(
            name.encode() + b":" + (null if value is None else value)
            for name, value in record.headers
        )
        found = {
            "timestamp": f"CreateTime:{record.timestamp_ms}".encode(),
            "partition": f"Partition:{record.partition}".encode(),
            "offset": f"Offset:{record.offset}".encode(),
            "headers": headers or b"NO_HEADERS",
            "key": as_bytes(record.key, null),
            "value": as_bytes(record.value, null),
        }
        shown = [content for name, content in found.items() if name in self.parts]
        return unescaped(self.key_separator).join(shown) + unescaped(self.line_separator)


def console_format(properties: Mapping[str, str]) -> ConsoleFormat:
    """Returns a writer for Kafka's formatter properties. The value is printed unless print.value=false.

    Raises BadParameter for a property that the formatter does not have, or a value that is neither true nor false.
    """
    require_known(properties, (*_SEPARATORS, *_PRINTED))
    separators = {
        name.replace(".", "_"): properties[name] for name in _SEPARATORS if name in properties
    }
    parts = frozenset(
        name.removeprefix("print.")
        for name in _PRINTED
        if flag(properties, name, default=name == "print.value")
    )
    return ConsoleFormat(parts, **separators)


# ---- JSON


def envelope(record: Shown) -> dict[str, Datum]:
    """Returns a record as a JSON object; `produce --input jsonl` takes it back.

    Bytes that are no UTF-8 become {"base64": ...}.
    """
    return {
        "topic": record.topic,
        "partition": record.partition,
        "offset": record.offset,
        "timestamp": record.timestamp_ms,
        "key": _json(record.key),
        "value": _json(record.value),
        "headers": [[name, _json(value)] for name, value in record.headers],
    }


def json_line(record: Shown) -> bytes:
    return _json_text(envelope(record)) + b"\n"


def _json_text(datum: Datum) -> bytes:
    import orjson

    from millstream.clients.serdes.json_text import write_json

    return write_json(datum, _readable, orjson.OPT_NON_STR_KEYS)


def _readable(datum: Datum) -> object:
    """Decimals digit for digit as numbers; what JSON has not as text."""
    from decimal import Decimal

    from millstream.clients.serdes.json_text import plain_decimal

    if isinstance(datum, Decimal) and datum.is_finite():
        return plain_decimal(datum)
    return str(datum)


def _json(datum: Datum) -> Datum:
    if isinstance(datum, WindowedKey):
        return as_object(datum, _json)
    if not isinstance(datum, bytes):
        return datum
    try:
        return datum.decode()
    except UnicodeDecodeError:
        return {"base64": standard_b64encode(datum).decode("ascii")}


# ---- a table, for people


@dataclass(frozen=True, slots=True)
class Table:
    """Rows as wide as they are; one record is one line. `topic_width` is 0 where there is one topic only."""

    topic_width: int = 0

    def head(self) -> bytes:
        topic = f"{'TOPIC':<{self.topic_width}}  " if self.topic_width else ""
        return f"{topic}PARTITION  OFFSET      TIME                      KEY              VALUE\n".encode()

    def row(self, record: Shown) -> bytes:
        topic = f"{printable(record.topic):<{self.topic_width}}  " if self.topic_width else ""
        key, value = _cell(record.key), _cell(record.value)
        time = _time(record.timestamp_ms)
        return f"{topic}{record.partition:<9}  {record.offset:<10}  {time:<24}  {key:<15}  {value}\n".encode()


def table(topics: Sequence[str], *, more_may_come: bool) -> Table:
    """Returns a table with a column for the topic, if there are several or `more_may_come`."""
    if len(topics) < 2 and not more_may_come:
        return Table()
    return Table(max(map(len, (*topics, "TOPIC"))))


def _cell(datum: Datum) -> str:
    return printable(as_bytes(datum, b"-").decode("utf-8", "replace"))


def _time(timestamp_ms: int) -> str:
    """ISO 8601 in UTC; the number itself where the calendar does not reach so far."""
    try:
        time = datetime.fromtimestamp(timestamp_ms / 1000, UTC)
    except (ValueError, OverflowError, OSError):
        return str(timestamp_ms)
    return time.isoformat(timespec="milliseconds").replace("+00:00", "Z")
