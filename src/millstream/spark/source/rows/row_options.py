"""The options of the source that say what its rows look like: formats of keys and values, more columns, and what becomes of bad rows.

Pure. `RowOptions` is what was written, checked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from millstream.errors import ConfigError
from millstream.spark.format_options import choice, flag

REGISTRY_LOGIN: Final = "schema.registry.basic.auth.user.info"
KNOWN: Final = (
    "includetimestamptype", "includeleaderepoch", "includeraw",
    "key.format", "key.schema", "key.subject", "value.format", "value.schema", "value.subject",
    "schema.registry.url", REGISTRY_LOGIN, "badrows", "deadlettertopic",
)  # fmt: skip
_FUNCTION: Final = "python:"


class RowFormat(Enum):
    """The way in which bytes are read."""

    BINARY = "binary"
    STRING = "string"
    JSON = "json"
    AVRO = "avro"
    PROTOBUF = "protobuf"
    FUNCTION = "python"
    """A function of the user makes 0 to n rows of a record."""


class BadRows(Enum):
    """The treatment of records that cannot be decoded."""

    FAIL = "fail"
    NULL = "null"
    """The decoded column is null, the column `error` says why."""
    DEAD_LETTER = "deadletter"


@dataclass(frozen=True, slots=True)
class ColumnFormat:
    """The format of the column `name`, key or value. `function` names the function of `python:`; `subject` is one of the registry."""

    name: str
    format: RowFormat = RowFormat.BINARY
    schema: str | None = None
    subject: str | None = None
    function: str | None = None

    @property
    def is_decoded(self) -> bool:
        return self.format is not RowFormat.BINARY


@dataclass(frozen=True, slots=True)
class Registry:
    """A schema registry. The login is `user:password`."""

    url: str = field(repr=False)  # may have a login in it
    login: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class RowOptions:
    include_timestamp_type: bool = False
    include_leader_epoch: bool = False
    include_raw: bool = False
    key: ColumnFormat = ColumnFormat("key")
    value: ColumnFormat = ColumnFormat("value")
    registry: Registry | None = None
    bad_rows: BadRows = BadRows.FAIL
    dead_letter_topic: str | None = None

    @property
    def decoded(self) -> tuple[ColumnFormat, ...]:
        return tuple(each for each in (self.key, self.value) if each.is_decoded)

    @property
    def needs_headers(self) -> bool:
        """Whether headers are read even where they are no column."""
        return self.bad_rows is BadRows.DEAD_LETTER or self.value.format is RowFormat.FUNCTION


def parse_row_options(given: Mapping[str, str]) -> RowOptions:
    """Raises ConfigError for what is malformed, missing or without a use."""
    key, value = _column("key", given), _column("value", given)
    if key.format is RowFormat.FUNCTION:
        raise ConfigError("key.format is no function: that of value.format is given the key, too")
    options = RowOptions(
        include_timestamp_type=flag(given, "includeTimestampType", default=False),
        include_leader_epoch=flag(given, "includeLeaderEpoch", default=False),
        include_raw=flag(given, "includeRaw", default=False),
        key=key,
        value=value,
        registry=_registry(given, key, value),
        bad_rows=choice("badRows", given.get("badrows", "fail"), BadRows),
        dead_letter_topic=given.get("deadlettertopic"),
    )
    _require_use(given, options)
    _require_schemas(options)
    return options


def _column(name: str, given: Mapping[str, str]) -> ColumnFormat:
    text = given.get(f"{name}.format", RowFormat.BINARY.value).strip()
    schema, subject = given.get(f"{name}.schema"), given.get(f"{name}.subject")
    if text.lower().startswith(_FUNCTION):
        function = text[len(_FUNCTION) :]
        return ColumnFormat(name, RowFormat.FUNCTION, schema, subject, function)
    if text.lower() == RowFormat.FUNCTION.value:
        raise ConfigError(f"{name}.format names a function as python:module.function")
    return ColumnFormat(name, choice(f"{name}.format", text, RowFormat), schema, subject)


def _registry(given: Mapping[str, str], *columns: ColumnFormat) -> Registry | None:
    url, login = given.get("schema.registry.url"), given.get(REGISTRY_LOGIN)
    if url is None:
        if login is not None:
            raise ConfigError(f"{REGISTRY_LOGIN} has a use only with schema.registry.url")
        return None
    if not {RowFormat.AVRO, RowFormat.PROTOBUF} & {each.format for each in columns}:
        raise ConfigError(
            "schema.registry.url has a use only with value.format or key.format avro or protobuf"
        )
    return Registry(url, login)


def _require_use(given: Mapping[str, str], options: RowOptions) -> None:
    if not options.decoded:
        for name in ("badRows", "includeRaw"):
            if name.lower() in given:
                raise ConfigError(f"{name} has a use only with value.format or key.format")
    is_dead_letter = options.bad_rows is BadRows.DEAD_LETTER
    if is_dead_letter and not options.dead_letter_topic:
        raise ConfigError('badRows=deadLetter needs a topic: .option("deadLetterTopic", "bad")')
    if options.dead_letter_topic is not None and not is_dead_letter:
        raise ConfigError("deadLetterTopic has a use only with badRows=deadLetter")


def _require_schemas(options: RowOptions) -> None:
    for column in (options.key, options.value):
        name, kind = column.name, column.format.value
        if column.format in {RowFormat.BINARY, RowFormat.STRING}:
            if column.schema is not None:
                raise ConfigError(f"{name}.schema has no use with {name}.format={kind}")
        elif column.schema is None and not (column.format is RowFormat.AVRO and options.registry):
            raise ConfigError(
                f"{name}.format={kind} needs {name}.schema: {_EXAMPLES[column.format]}"
            )
        is_looked_up = (
            column.format is RowFormat.AVRO and options.registry and column.schema is None
        )
        if column.subject is not None and not is_looked_up:
            raise ConfigError(
                f"{name}.subject has a use only with {name}.format=avro, schema.registry.url and without {name}.schema"
            )


_EXAMPLES: Final = {
    RowFormat.JSON: "'id BIGINT, name STRING'",
    RowFormat.FUNCTION: "the type of its rows, 'id BIGINT, name STRING'",
    RowFormat.AVRO: "a schema in JSON, or schema.registry.url, where it is looked up",
    RowFormat.PROTOBUF: "the class of the message, 'orders_pb2:Order'",
}
