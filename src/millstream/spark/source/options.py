"""Options of `spark.readStream.format("millstream")`: from strings to values, every mistake named.

Names are those of Spark's own Kafka connector where it has one, so that a job changes its format and little else.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from millstream.errors import ConfigError
from millstream.model import Offset, TopicPartition
from millstream.spark.kafka_settings import PREFIX, KafkaSettings, for_reading, is_setting
from millstream.spark.offsets import partition_offsets

EndingOffsets = Literal["latest"] | Mapping[TopicPartition, Offset]
StartingOffsets = Literal["earliest", "latest"] | Mapping[TopicPartition, Offset]

EARLIEST: Final = Offset(-2)
LATEST: Final = Offset(-1)
"""Allowed for single partitions in startingOffsets, as in Spark's Kafka connector."""

_ALIASES: Final = {
    "bootstrap.servers": "kafka.bootstrap.servers",
    "bootstrap_servers": "kafka.bootstrap.servers",
    "maxoffsetspertrigger": "maxrecordspertrigger",
}
_KNOWN: Final = (
    "bootstrap.servers", "subscribe", "startingoffsets", "maxrecordspertrigger", "polltimeoutms",
    "includeheaders", "failondataloss", "copartition", "endingoffsets", "discoveryintervalms",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceOptions:
    """`copartition`: one Spark partition reads the same partition number of every topic, for joins of topics.

    `poll_timeout_ms`: how long planning waits for a first new record before it reports that there is none.
    `discovery_interval_ms`: how long a list of partitions is good for. `ending_offsets` are for batch reads only.
    """

    kafka: KafkaSettings
    topics: tuple[str, ...]
    starting_offsets: StartingOffsets = "latest"
    records_per_trigger_max: int | None = None
    ending_offsets: EndingOffsets = "latest"
    poll_timeout_ms: int = 500
    discovery_interval_ms: int = 10_000
    include_headers: bool = False
    fail_on_data_loss: bool = True
    copartition: bool = False


def parse_source_options(
    options: Mapping[str, str], *, starting_offsets: str = "latest"
) -> SourceOptions:
    """Raises ConfigError for a missing, unknown or malformed option, naming what to write instead.

    `starting_offsets` is the default: a stream begins with what comes, a batch with what is there.
    """
    given: dict[str, str] = {}
    kafka: dict[str, str] = {}
    for name, value in options.items():
        key = _ALIASES.get(name.lower(), name.lower())
        if key.startswith(PREFIX):
            kafka[key.removeprefix(PREFIX)] = value
        elif key in _KNOWN:
            given[key] = value
        else:
            raise unknown_option(name, "", _KNOWN)
    topics = tuple(
        dict.fromkeys(t.strip() for t in given.get("subscribe", "").split(",") if t.strip())
    )
    if not topics:
        raise ConfigError('format millstream needs topics: .option("subscribe", "orders,payments")')
    require_broker(kafka)
    limit = given.get("maxrecordspertrigger")
    return SourceOptions(
        kafka=for_reading(kafka),
        topics=topics,
        starting_offsets=_starting_offsets(given.get("startingoffsets", starting_offsets)),
        ending_offsets=_ending_offsets(given.get("endingoffsets", "latest")),
        discovery_interval_ms=_number(
            "discoveryIntervalMs", given.get("discoveryintervalms", "10000"), 1
        ),
        records_per_trigger_max=None
        if limit is None
        else _number("maxRecordsPerTrigger", limit, 1),
        poll_timeout_ms=_number("pollTimeoutMs", given.get("polltimeoutms", "500"), 0),
        include_headers=_flag("includeHeaders", given.get("includeheaders", "false")),
        fail_on_data_loss=_flag("failOnDataLoss", given.get("failondataloss", "true")),
        copartition=_flag("copartition", given.get("copartition", "false")),
    )


def unknown_option(name: str, of_what: str, known: Sequence[str]) -> ConfigError:
    if is_setting(name.lower()):
        return ConfigError(
            f"unknown option {name!r} of format millstream{of_what}: settings of the Kafka client are written "
            f"with a prefix, {PREFIX}{name.lower().replace('_', '.')}"
        )
    return ConfigError(
        f"unknown option {name!r} of format millstream{of_what}; known are {', '.join(known)} and {PREFIX}…"
    )


def require_broker(kafka: Mapping[str, str]) -> None:
    if not kafka.get("bootstrap.servers"):
        raise ConfigError(
            'format millstream needs a broker: .option("bootstrap.servers", "localhost:9092")'
        )


def _starting_offsets(text: str) -> StartingOffsets:
    match text.strip().lower():
        case "earliest":
            return "earliest"
        case "latest":
            return "latest"
    try:
        document = json.loads(text)
    except json.JSONDecodeError as error:
        raise ConfigError(
            f'startingOffsets is "earliest", "latest" or JSON like {{"topic": {{"0": 12}}}}, not {text!r}'
        ) from error
    return partition_offsets(document)


def _ending_offsets(text: str) -> EndingOffsets:
    offsets = _starting_offsets(text)
    if offsets == "earliest":
        raise ConfigError('endingOffsets is "latest" or JSON, and not the beginning')
    return offsets


def _number(name: str, text: str, lowest: int) -> int:
    try:
        number = int(text)
    except ValueError:
        number = lowest - 1
    if number < lowest:
        raise ConfigError(f"{name} must be a whole number of at least {lowest}, not {text!r}")
    return number


def _flag(name: str, text: str) -> bool:
    if text.lower() not in {"true", "false"}:
        raise ConfigError(f"{name} must be true or false, not {text!r}")
    return text.lower() == "true"
