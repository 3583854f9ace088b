"""The options of the source that say what its rows look like: formats of keys and values, more columns, and
what becomes of bad rows.

Pure. `RowOptions` is what was written, checked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final

from millstream.errors import ConfigError
from millstream.spark.format_options import choice, flag
from millstream.spark.formats.column_formats import KNOWN as OF_FORMATS
from millstream.spark.formats.column_formats import (
    PLAIN,
    PLAIN_KEY,
    PLAIN_VALUE,
    ColumnFormat,
    Registry,
    RowFormat,
    missing_schema,
    parse_column,
    parse_registry,
    refuse_schema_of_plain,
)

KNOWN: Final = (
    "includeTimestampType", "includeLeaderEpoch", "includeRaw", *OF_FORMATS, "badRows", "deadLetterTopic",
)  # fmt: skip


class BadRows(Enum):
    """The treatment of records that cannot be decoded."""

    FAIL = "fail"
    NULL = "null"
    """The decoded column is null, the column `error` says why."""
    DEAD_LETTER = "deadLetter"


@dataclass(frozen=True, slots=True, kw_only=True)
class RowOptions:
    include_timestamp_type: bool = False
    include_leader_epoch: bool = False
    include_raw: bool = False
    key: ColumnFormat = PLAIN_KEY
    value: ColumnFormat = PLAIN_VALUE
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
    key, value = parse_column("key", given), parse_column("value", given)
    if key.format is RowFormat.FUNCTION:
        raise ConfigError("key.format is no function: that of value.format is given the key, too")
    options = RowOptions(
        include_timestamp_type=flag(given, "includeTimestampType", default=False),
        include_leader_epoch=flag(given, "includeLeaderEpoch", default=False),
        include_raw=flag(given, "includeRaw", default=False),
        key=key,
        value=value,
        registry=parse_registry(given, key, value),
        bad_rows=choice("badRows", given.get("badrows", "fail"), BadRows),
        dead_letter_topic=given.get("deadlettertopic"),
    )
    _require_use(given, options)
    _require_schemas(options)
    return options


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
        refuse_schema_of_plain(column)
        is_found = column.format is RowFormat.AVRO and options.registry and column.schema is None
        if column.schema is None and not is_found and column.format not in PLAIN:
            raise missing_schema(column)
        if column.subject is not None and not is_found:
            name = column.name
            raise ConfigError(
                f"{name}.subject has a use only with {name}.format=avro, schema.registry.url and without {name}.schema"
            )
