"""Formats of keys and values by their names on the command line: serdes, and those of a schema registry."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import click

from millstream.cli.records.windowed_keys import windowed_format
from millstream.cli.registry.address import REGISTRY_VARIABLE

if TYPE_CHECKING:
    from millstream.cli.records.text import Shown
    from millstream.cli.registry.address import RegistryAddress
    from millstream.clients import ConsumerRecord
    from millstream.clients.core.values import Headers

FORMATS: Final = (
    "string", "bytes", "json", "short", "integer", "long", "float", "double", "boolean", "uuid",
    "hex", "base64", "msgpack", "avro", "json-schema",
)  # fmt: skip
WINDOWED: Final = ("windowed:FORMAT[:SIZE]", "session-windowed:FORMAT")
_WITH_REGISTRY: Final = {"avro", "json-schema"}

Datum: TypeAlias = Any  # Any: what the format holds
Read = Callable[[str, bytes, "Headers"], Datum]
"""Topic, bytes and headers to a value."""
FindRegistry = Callable[[], "RegistryAddress | None"]
"""Finds the schema registry that a verb's options and settings name; asked for formats that need one alone."""
Write = Callable[[str, bytes, "Headers"], bytes]
"""Topic, UTF-8 text as a user typed it, and headers to bytes."""


def format_of(name: str) -> str:
    """Returns a format's name; also the class name of one of Kafka's deserializers.

    Formats of windowed keys have the one of the key in theirs.
    """
    if windowed_format(name, format_of) is not None:
        return name
    short = name.rpartition(".")[2].removesuffix("Deserializer").removesuffix("Serializer").lower()
    short = {"bytearray": "bytes", "bytebuffer": "bytes", "kafkaavro": "avro"}.get(short, short)
    if short not in FORMATS:
        raise click.BadParameter(f"{name!r} is not one of {', '.join((*FORMATS, *WINDOWED))}")
    return short


def reader(name: str, registry: FindRegistry | None, *, is_key: bool) -> Read:
    """Returns the function that turns bytes into a value."""
    windowed = windowed_format(name, format_of)
    if windowed is not None:
        inner = reader(windowed.inner, registry, is_key=is_key)
        return lambda topic, data, headers: windowed.read(
            data, lambda key: inner(topic, key, headers)
        )
    if name in _WITH_REGISTRY:
        serde = _registry_serde(name, None, registry, is_key=is_key)
        return lambda topic, data, headers: _looking_up(serde.deserialize, topic, data, headers)
    if name in {"string", "bytes"}:
        return lambda _topic, data, _headers: data  # what is no UTF-8 survives on its way out
    if name == "hex":
        return lambda _topic, data, _headers: data.hex()
    if name == "base64":
        return lambda _topic, data, _headers: _base64(data)
    deserialize: Read = _serde(name).deserialize
    return deserialize


def shower(
    key_format: str, value_format: str, registry: FindRegistry | None
) -> Callable[[ConsumerRecord], Shown]:
    """Returns the function that makes a record of bytes one to be shown. It raises SerializationError."""
    from millstream.cli.records.text import Shown

    read_key = reader(key_format, registry, is_key=True)
    read_value = reader(value_format, registry, is_key=False)

    def show(record: ConsumerRecord) -> Shown:
        key, value, headers = record.key, record.value, record.headers
        return Shown(
            record.topic,
            record.partition,
            record.offset,
            record.timestamp_ms,
            None if key is None else read_key(record.topic, key, list(headers)),
            None if value is None else read_value(record.topic, value, list(headers)),
            headers,
        )

    return show


def writer(name: str, schema: str | None, registry: FindRegistry | None, *, is_key: bool) -> Write:
    """Returns the function that turns a user's text into bytes. `schema` is text, or @FILE."""
    windowed = windowed_format(name, format_of)
    if windowed is not None:
        inner = writer(windowed.inner, schema, registry, is_key=is_key)
        return lambda topic, text, headers: windowed.write(
            text, lambda key: inner(topic, key, headers)
        )
    if name in {"string", "bytes"}:
        return lambda _topic, text, _headers: text
    parse = _parser(name)
    if name in {"hex", "base64"}:
        return lambda _topic, text, _headers: bytes(parse(text))
    if name in _WITH_REGISTRY:
        if schema is not None and schema.startswith("@"):
            with click.open_file(schema[1:], encoding="utf-8") as file:
                schema = file.read()
        serde = _registry_serde(name, schema, registry, is_key=is_key)
        return lambda topic, text, headers: _looking_up(
            serde.serialize, topic, parse(text), headers
        )
    serialize = _serde(name).serialize
    return lambda topic, text, headers: serialize(topic, parse(text), headers)


def _serde(name: str) -> Any:  # Any: serdes of any type
    from millstream.clients import serdes

    if name == "json":
        return serdes.json(decimals=True)  # what is printed or produced is what was read
    return getattr(serdes, {"bytes": "bytes_", "float": "float_"}.get(name, name))()


def _registry_serde(
    name: str, schema: str | None, registry: FindRegistry | None, *, is_key: bool
) -> Any:  # Any: serdes of any type
    from millstream.clients.serdes.registry import confluent_avro, confluent_json

    found = None if registry is None else registry()
    if found is None:
        raise click.UsageError(
            f"the format {name} needs --schema-registry URL, schema.registry.url among the settings, or ${REGISTRY_VARIABLE}"
        )
    make = confluent_avro if name == "avro" else confluent_json
    return make(found.client(), schema, is_key=is_key, use_latest_version=schema is None)


def _looking_up(
    convert: Callable[[str, Datum, Headers], Datum], topic: str, data: Datum, headers: Headers
) -> Datum:
    import asyncio

    from millstream.clients.core.serialization import LookupNeeded

    try:
        return convert(topic, data, headers)
    except LookupNeeded as needed:
        asyncio.run(_look_up(needed))
    return convert(topic, data, headers)


async def _look_up(needed: Any) -> None:  # Any: LookupNeeded, which is imported late
    await needed.look_up()


def _parser(name: str) -> Callable[[bytes], Datum]:
    """Text as typed to what the serde takes. Raises SerializationError."""
    from base64 import b64decode
    from uuid import UUID

    from millstream.clients.core.serialization import SerializationError
    from millstream.clients.serdes.json_text import read_exact_json, read_json

    parsers: dict[str, Callable[[str], Datum]] = {
        "short": int, "integer": int, "long": int, "float": float, "double": float,
        "uuid": UUID, "boolean": {"true": True, "false": False}.__getitem__,
        "hex": bytes.fromhex, "base64": partial(b64decode, validate=True),
    }  # fmt: skip
    # Avro's doubles take no decimals, and MessagePack has none.
    of_json = read_exact_json if name == "json" else read_json

    def parsed(text: bytes) -> Datum:
        try:
            return parsers[name](text.decode()) if name in parsers else of_json(text)
        except (ValueError, KeyError) as error:
            raise SerializationError(
                f"{text[:100].decode('utf-8', 'replace')!r} is not a valid {name}: {error}"
            ) from error

    return parsed


def _base64(data: bytes) -> str:
    from base64 import standard_b64encode

    return standard_b64encode(data).decode("ascii")
