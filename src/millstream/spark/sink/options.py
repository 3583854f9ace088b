"""Options and columns of `format("millstream")` as a sink: from strings and a schema to values, every mistake named."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Final

from millstream.errors import ConfigError
from millstream.spark.format_options import choice, divided
from millstream.spark.formats.column_formats import KNOWN as OF_FORMATS
from millstream.spark.kafka_settings import KafkaSettings, for_writing
from millstream.spark.sink.encoding.record_formats import RecordFormats, parse_record_formats
from millstream.spark.sink.routing import KNOWN as OF_ROUTING
from millstream.spark.sink.routing import Routing, parse_routing
from millstream.spark.sink.verdicts import BehindPolicy

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

_ALIASES: Final = {"compression.type": "kafka.compression.type"}
KNOWN: Final = (
    "bootstrap.servers", "topic", "compression.type", "deliveryGuarantee", "transactionalIdPrefix", "nullTopic",
    "checkpointBehind",
    *OF_FORMATS, *OF_ROUTING,
)  # fmt: skip
_OF_SPARK: Final = ("checkpointlocation", "queryname", "path")
"""Options that Spark itself reads, and hands on."""
TRANSACTION_TIMEOUT_MS: Final = 300_000
"""Unless the settings say otherwise: a task that writes for longer loses its transaction."""
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


class DeliveryGuarantee(Enum):
    """The guarantee for a row when Spark runs a task or a micro-batch again."""

    NONE = "none"
    """Rows are sent and not waited for; what brokers refuse is lost and counted."""
    AT_LEAST_ONCE = "at-least-once"
    EXACTLY_ONCE = "exactly-once"
    """A transaction for each Spark partition: readers with read_committed see each row once."""


class NullTopic(Enum):
    """The treatment of a row whose column `topic` is null."""

    FAIL = "fail"
    SKIP = "skip"


@dataclass(frozen=True, slots=True, kw_only=True)
class SinkOptions:
    """`topic` is where rows go; None: each row says it in its column `topic`.

    `transactional_id_prefix`: the transactional ids of an exactly-once sink are this, the id of the query and the
    number of a Spark partition, with hyphens between; None: they begin with `millstream`. `checkpoint_behind`: what
    becomes of micro-batches that are older than what an exactly-once sink has written.
    """

    kafka: KafkaSettings
    topic: str | None
    delivery_guarantee: DeliveryGuarantee = DeliveryGuarantee.AT_LEAST_ONCE
    transactional_id_prefix: str | None = None
    checkpoint_behind: BehindPolicy = BehindPolicy.FAIL
    null_topic: NullTopic = NullTopic.FAIL
    routing: Routing = field(default_factory=Routing)
    formats: RecordFormats = field(default_factory=RecordFormats)


def parse_sink_options(
    options: Mapping[str, str], schema: StructType, *, overwrite: bool = False
) -> SinkOptions:
    """Raises ConfigError for an option or a column that is missing, unknown or malformed."""
    if overwrite:
        raise ConfigError('topics are only appended to: use .mode("append")')
    if any(name.lower() == "commit" for name in options):
        raise ConfigError(
            "a sink has a transaction for each Spark partition: for one transaction over a whole micro-batch call "
            "millstream.spark.write_atomically(rows, batch_id, options) in the function of foreachBatch"
        )
    given, kafka = divided(options, KNOWN, _ALIASES, of_what=" as a sink", ignored=_OF_SPARK)
    topic, routing = given.get("topic"), parse_routing(given)
    columns = {each.name: each.dataType.simpleString() for each in schema.fields}
    formats = parse_record_formats(given, columns)
    encoded = {each.name for each in formats.encoded}
    _require_columns(
        {name: _BYTES[0] if name in encoded else kind for name, kind in columns.items()},
        has_topic=topic is not None or routing.topic_selector is not None,
    )
    guarantee = choice(
        "deliveryGuarantee", given.get("deliveryguarantee", "at-least-once"), DeliveryGuarantee
    )
    prefix = given.get("transactionalidprefix")
    if prefix is not None and guarantee is not DeliveryGuarantee.EXACTLY_ONCE:
        raise ConfigError(
            'transactionalIdPrefix has a use only with deliveryGuarantee "exactly-once"'
        )
    if "checkpointbehind" in given and guarantee is not DeliveryGuarantee.EXACTLY_ONCE:
        raise ConfigError('checkpointBehind has a use only with deliveryGuarantee "exactly-once"')
    in_transactions = guarantee is DeliveryGuarantee.EXACTLY_ONCE
    if in_transactions and not {"transaction.timeout.ms", "transaction_timeout_ms"} & kafka.keys():
        kafka["transaction.timeout.ms"] = str(TRANSACTION_TIMEOUT_MS)
    null_topic = choice("nullTopic", given.get("nulltopic", "fail"), NullTopic)
    rows_say = "topic" in schema.fieldNames() or routing.topic_selector is not None
    if "nulltopic" in given and (topic is not None or not rows_say):
        raise ConfigError(
            "nullTopic has a use only where rows say their topic: without the option topic, with a column topic or a topicSelector"
        )
    return SinkOptions(
        kafka=for_writing(kafka, in_transactions=in_transactions),
        topic=topic,
        delivery_guarantee=guarantee,
        transactional_id_prefix=prefix,
        checkpoint_behind=choice(
            "checkpointBehind", given.get("checkpointbehind", "fail"), BehindPolicy
        ),
        null_topic=null_topic,
        routing=routing,
        formats=formats,
    )


def _or_format(name: str) -> str:
    return f", or say how it is written with {name}.format" if name in {"key", "value"} else ""


def _require_columns(columns: Mapping[str, str], *, has_topic: bool) -> None:
    for name, kind in columns.items():
        allowed = _COLUMNS.get(name)
        if allowed is None:
            raise ConfigError(
                f"column {name!r} is none of a record's, which are {', '.join(_COLUMNS)}: "
                "select only those, for instance to_json(struct(*)) AS value"
            )
        if kind not in allowed:
            raise ConfigError(
                f"column {name!r} must be {' or '.join(allowed)}, not {kind}: cast it{_or_format(name)}"
            )
    if "value" not in columns:
        raise ConfigError("a record needs a column value: select to_json(struct(*)) AS value")
    if not has_topic and "topic" not in columns:
        raise ConfigError(
            'rows need a topic: .option("topic", "orders"), a column topic, or a topicSelector'
        )
