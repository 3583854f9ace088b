"""The options that say in which format keys and values are, equal for the source and the sink. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from millstream.errors import ConfigError
from millstream.spark.format_options import choice

REGISTRY_LOGIN: Final = "schema.registry.basic.auth.user.info"
KNOWN: Final = (
    "key.format", "key.schema", "key.subject", "value.format", "value.schema", "value.subject",
    "schema.registry.url", REGISTRY_LOGIN,
)  # fmt: skip
_FUNCTION: Final = "python:"


class RowFormat(Enum):
    """The way in which bytes are read and written."""

    BINARY = "binary"
    STRING = "string"
    JSON = "json"
    AVRO = "avro"
    PROTOBUF = "protobuf"
    FUNCTION = "python"
    """A function of the user: the source's makes 0 to n rows of a record, the sink's the bytes of a column."""


PLAIN: Final = frozenset({RowFormat.BINARY, RowFormat.STRING})
"""The formats without a schema."""
REGISTERED: Final = frozenset({RowFormat.AVRO, RowFormat.PROTOBUF})
"""The formats whose schemas a registry has."""


@dataclass(frozen=True, slots=True)
class ColumnFormat:
    """The format of the column `name`, key or value.

    `function` names the function of `python:`; `subject` is one of the registry.
    """

    name: str
    format: RowFormat = RowFormat.BINARY
    schema: str | None = None
    subject: str | None = None
    function: str | None = None

    @property
    def is_decoded(self) -> bool:
        return self.format is not RowFormat.BINARY


PLAIN_KEY: Final = ColumnFormat("key")
PLAIN_VALUE: Final = ColumnFormat("value")


@dataclass(frozen=True, slots=True)
class Registry:
    """A schema registry. The login is `user:password`."""

    url: str = field(repr=False)  # may have a login in it
    login: str | None = field(default=None, repr=False)


def parse_column(name: str, given: Mapping[str, str]) -> ColumnFormat:
    """Raises ConfigError for a format that is none. What a schema must be is decided by source and sink."""
    text = given.get(f"{name}.format", RowFormat.BINARY.value).strip()
    schema, subject = given.get(f"{name}.schema"), given.get(f"{name}.subject")
    if text.lower().startswith(_FUNCTION):
        function = text[len(_FUNCTION) :]
        return ColumnFormat(name, RowFormat.FUNCTION, schema, subject, function)
    if text.lower() == RowFormat.FUNCTION.value:
        raise ConfigError(f"{name}.format names a function as python:module.function")
    return ColumnFormat(name, choice(f"{name}.format", text, RowFormat), schema, subject)


def parse_registry(given: Mapping[str, str], *columns: ColumnFormat) -> Registry | None:
    """Raises ConfigError for a registry that no column needs, and for a login without one."""
    url, login = given.get("schema.registry.url"), given.get(REGISTRY_LOGIN)
    if url is None:
        if login is not None:
            raise ConfigError(f"{REGISTRY_LOGIN} has a use only with schema.registry.url")
        return None
    if not REGISTERED & {each.format for each in columns}:
        raise ConfigError(
            "schema.registry.url has a use only with value.format or key.format avro or protobuf"
        )
    return Registry(url, login)


def refuse_schema_of_plain(column: ColumnFormat) -> None:
    """Raises ConfigError for a schema beside bytes or text, which have none."""
    if column.format in PLAIN and column.schema is not None:
        name, kind = column.name, column.format.value
        raise ConfigError(f"{name}.schema has no use with {name}.format={kind}")


def missing_schema(column: ColumnFormat) -> ConfigError:
    """Returns the error of a format that needs a schema and has none."""
    name, kind = column.name, column.format.value
    return ConfigError(f"{name}.format={kind} needs {name}.schema: {_EXAMPLES[column.format]}")


_EXAMPLES: Final = {
    RowFormat.JSON: "'id BIGINT, name STRING'",
    RowFormat.FUNCTION: "the type of its rows, 'id BIGINT, name STRING'",
    RowFormat.AVRO: "a schema in JSON, or schema.registry.url, where it is looked up",
    RowFormat.PROTOBUF: "the class of the message, 'orders_pb2:Order'",
}
