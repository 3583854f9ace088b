"""Options and columns of `format("millstream")` as a sink: from strings and a schema to values, every mistake named."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from millstream.errors import ConfigError
from millstream.spark.kafka_settings import PREFIX, KafkaSettings, for_writing
from millstream.spark.source_options import require_broker, unknown_option

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

_ALIASES: Final = {
    "bootstrap.servers": "kafka.bootstrap.servers",
    "bootstrap_servers": "kafka.bootstrap.servers",
    "compression.type": "kafka.compression.type",
}
_KNOWN: Final = ("bootstrap.servers", "topic", "compression.type")
_OF_SPARK: Final = ("checkpointlocation", "queryname", "path")
"""Options that Spark itself reads, and hands on."""
_BYTES: Final = ("binary", "string")
_HEADERS: Final = "array<struct<key:string,value:binary>>"
_COLUMNS: Final[Mapping[str, tuple[str, ...]]] = {
    "value": _BYTES,
    "key": _BYTES,
    "topic": ("string",),
    "partition": ("int",),
    "timestamp": ("timestamp",),
    "headers": (_HEADERS,),
}
"""Column to the types it may have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SinkOptions:
    """`topic` is where rows go; None: each row says it in its column `topic`."""

    kafka: KafkaSettings
    topic: str | None


def parse_sink_options(
    options: Mapping[str, str], schema: StructType, *, overwrite: bool = False
) -> SinkOptions:
    """Raises ConfigError for an option or a column that is missing, unknown or malformed."""
    if overwrite:
        raise ConfigError('topics are only appended to: use .mode("append")')
    topic: str | None = None
    kafka: dict[str, str] = {}
    for name, value in options.items():
        key = _ALIASES.get(name.lower(), name.lower())
        if key.startswith(PREFIX):
            kafka[key.removeprefix(PREFIX)] = value
        elif key == "topic":
            topic = value
        elif key not in _OF_SPARK:
            raise unknown_option(name, " as a sink", _KNOWN)
    require_broker(kafka)
    _require_columns({field.name: field.dataType.simpleString() for field in schema.fields}, topic)
    return SinkOptions(kafka=for_writing(kafka), topic=topic)


def _require_columns(columns: Mapping[str, str], topic: str | None) -> None:
    for name, kind in columns.items():
        allowed = _COLUMNS.get(name)
        if allowed is None:
            raise ConfigError(
                f"column {name!r} is none of a record's, which are {', '.join(_COLUMNS)}: "
                "select only those, for instance to_json(struct(*)) AS value"
            )
        if kind not in allowed:
            raise ConfigError(
                f"column {name!r} must be {' or '.join(allowed)}, not {kind}: cast it"
            )
    if "value" not in columns:
        raise ConfigError("a record needs a column value: select to_json(struct(*)) AS value")
    if topic is None and "topic" not in columns:
        raise ConfigError('rows need a topic: .option("topic", "orders"), or a column topic')
