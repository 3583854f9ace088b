"""Keys from the text of an address, and rows as JSON. Pure."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, Final
from uuid import UUID

import orjson

from millstream.clients.serdes.json_text import plain_decimal, read_json, write_json
from millstream.streams.query_server.problems import BadRequest, UnreadableRow
from millstream.streams.serdes.serde import Serde
from millstream.streams.serdes.windowed import Windowed
from millstream.streams.state.read_only import VersionedRecord

_BOOLEANS: Final = {"true": True, "false": False}
_READERS: Final[Mapping[str, Callable[[str], object]]] = {
    "string": str,
    "bytes": lambda text: text.encode(),
    "short": int,
    "integer": int,
    "long": int,
    "float": float,
    "double": float,
    "uuid": UUID,
    "boolean": _BOOLEANS.__getitem__,
}


def key_of(text: str, serde: Serde[Any]) -> object:  # Any: keys of any type
    """Returns the key that a text of an address means to a serde; to one that is none of Kafka's primitives it is JSON.

    Raises BadRequest for a text that is no such key.
    """
    name = "string" if serde.name.startswith("string(") else serde.name
    read: Callable[[str], object] = _READERS.get(name, _json_key)
    try:
        return read(text)
    except (ValueError, KeyError) as error:
        kind = serde.name if name in _READERS else f"JSON, for serde {serde.name}"
        raise BadRequest(f"{text!r} is no key of this store: write it as {kind}") from error


def _json_key(text: str) -> object:
    return read_json(text.encode())


def number_of(text: str | None, name: str) -> int | None:
    """Returns a parameter that is a number. Raises BadRequest for another text."""
    if text is None:
        return None
    try:
        return int(text)
    except ValueError as error:
        raise BadRequest(f"{name} must be a whole number, not {text!r}") from error


def as_json(content: object) -> bytes:
    """Returns JSON: bytes are text where they are UTF-8, and else {"base64": …}.

    Raises UnreadableRow for what JSON cannot say.
    """
    options = orjson.OPT_NON_STR_KEYS | orjson.OPT_PASSTHROUGH_SUBCLASS
    try:
        return write_json(content, _plain, options)
    except TypeError as error:
        raise UnreadableRow(f"a row cannot be told as JSON: {error.__cause__ or error}") from error


def row_of(row: object) -> object:
    """Returns a row of a view as an object of JSON: (key, value), (start, value), (window, value), or a version."""
    match row:
        case VersionedRecord():
            return {"value": row.value, "timestamp": row.timestamp, "valid_to": row.valid_to}
        case (Windowed() as window, value):
            bounds = {"start_ms": window.start_ms, "end_ms": window.end_ms}
            return {"key": window.key, **bounds, "value": value}
        case (key, value):
            return {"key": key, "value": value}
        case _:
            return row


def _plain(value: object) -> object:
    match value:
        case bytes():
            try:
                return value.decode()
            except UnicodeDecodeError:
                return {"base64": b64encode(value).decode()}
        case VersionedRecord():
            return row_of(value)
        case tuple() | set() | frozenset():
            return list(value)
        case dict():
            return dict(value)
        case int():
            return int(value)
        case str():
            return str.__str__(value)
        case Decimal():
            return plain_decimal(value)
        case _:
            raise TypeError(f"JSON cannot say {type(value).__name__}")
