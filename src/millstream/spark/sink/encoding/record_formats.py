"""The options of the sink that say how keys and values are encoded: those of the source, with the same values. Pure.

What the source needs to know and a column says itself is optional here: the schemas of JSON and of functions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from millstream.errors import ConfigError
from millstream.spark.formats.column_formats import (
    PLAIN,
    PLAIN_KEY,
    PLAIN_VALUE,
    REGISTERED,
    ColumnFormat,
    Registry,
    RowFormat,
    missing_schema,
    parse_column,
    parse_registry,
    refuse_schema_of_plain,
)


@dataclass(frozen=True, slots=True)
class RecordFormats:
    """The formats in which a sink writes keys and values."""

    key: ColumnFormat = PLAIN_KEY
    value: ColumnFormat = PLAIN_VALUE
    registry: Registry | None = None

    @property
    def encoded(self) -> tuple[ColumnFormat, ...]:
        """The columns that are not written as they are."""
        return tuple(each for each in (self.key, self.value) if each.format not in PLAIN)


def parse_record_formats(given: Mapping[str, str], columns: Mapping[str, str]) -> RecordFormats:
    """Raises ConfigError for what is malformed, missing or without a use.

    `columns`: those of the rows, with their types.
    """
    key, value = parse_column("key", given), parse_column("value", given)
    formats = RecordFormats(key, value, parse_registry(given, key, value))
    for column in (key, value):
        _require_use(column, given, columns, formats.registry)
        refuse_schema_of_plain(column)
        is_found = column.format is RowFormat.AVRO and formats.registry is not None
        if column.format in REGISTERED and column.schema is None and not is_found:
            raise missing_schema(column)
    return formats


def _require_use(
    column: ColumnFormat,
    given: Mapping[str, str],
    columns: Mapping[str, str],
    registry: Registry | None,
) -> None:
    name, kind, text = column.name, columns.get(column.name), column.format.value
    options = [each for each in ("format", "schema", "subject") if f"{name}.{each}" in given]
    if options and kind is None:
        raise ConfigError(f"{name}.{options[0]} has no use: the rows have no column {name}")
    if column.subject is not None and (registry is None or column.format not in REGISTERED):
        raise ConfigError(
            f"{name}.subject has a use only with {name}.format avro or protobuf and with schema.registry.url"
        )
    if column.format in PLAIN and "format" in options and kind != text:
        raise ConfigError(
            f"{name}.format={text} writes a column of type {text}, not {kind}: cast it"
        )
    if column.format is RowFormat.JSON and column.schema is None and kind in {"string", "binary"}:
        raise ConfigError(
            f"column {name} is {kind}: leave {name}.format=json out where it has JSON text, or give {name}.schema={kind}"
        )
