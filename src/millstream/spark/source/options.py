"""Options of `spark.readStream.format("millstream")`: from strings to values, every mistake named.

Names are those of Spark's own Kafka connector where it has one, so that a job changes its format and little else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from millstream.errors import ConfigError
from millstream.spark.format_options import (
    choice,
    divided,
    flag,
    function_named,
    number,
    optional_number,
)
from millstream.spark.kafka_settings import KafkaSettings, for_reading
from millstream.spark.source.combinations import START_OPTIONS, refuse_without_effect
from millstream.spark.source.data_loss import DataLossPolicy, parse_data_loss
from millstream.spark.source.end_of_stream import OPTIONS as END_OF_STREAM
from millstream.spark.source.end_of_stream import EndOfStreamOptions, EndScope, parse_end_of_stream
from millstream.spark.source.event_time.options import OPTIONS as EVENT_TIME
from millstream.spark.source.event_time.options import EventTimeOptions, parse_event_time
from millstream.spark.source.fetch_metrics import FetchMetricsOptions, parse_fetch_metrics
from millstream.spark.source.opaque.options import OPTIONS as REPLAY
from millstream.spark.source.opaque.options import parse_replay_topic
from millstream.spark.source.positions import (
    Committed,
    Earliest,
    Latest,
    Position,
    PositionRules,
    parse_positions,
    parse_timestamp,
    parse_timestamps,
)
from millstream.spark.source.rows.row_options import KNOWN as OF_ROWS
from millstream.spark.source.rows.row_options import RowOptions, parse_row_options
from millstream.spark.source.subscription import Subscription, parse_subscription

_ALIASES: Final = {
    "kafka.group.id": "group.id",
    "maxoffsetspertrigger": "maxrecordspertrigger",
}
KNOWN: Final = (
    "bootstrap.servers", "subscribe", "subscribePattern", "assign",
    "startingOffsets", "startingTimestamp", "startingOffsetsByTimestamp", "startingOffsetsByTimestampStrategy",
    "startingOffsetsFunction",
    "endingOffsets", "endingTimestamp", "endingOffsetsByTimestamp",
    "group.id", "offsetCommitMode", "offsetCommitIntervalMs", "maxOffsetBehind",
    "maxRecordsPerTrigger", "maxRecordsPerPartition", "minPartitions",
    "pollTimeoutMs", "discoveryIntervalMs", "includeHeaders", "failOnDataLoss", "copartition",
    "metricsTopic", "metricsIntervalMs", *OF_ROWS,
    *EVENT_TIME, *END_OF_STREAM, *REPLAY,
)  # fmt: skip


class OffsetCommitMode(Enum):
    """The time at which the offsets of a query are committed in its group.

    Its checkpoint decides what is read in every mode.
    """

    ON_CHECKPOINTS = "on_checkpoints"
    """Once a micro-batch is in the checkpoint."""
    PERIODIC = "periodic"
    """The same, at most once in `offsetCommitIntervalMs`."""
    DISABLED = "disabled"
    AT_MOST_ONCE = "at_most_once"
    """Before a micro-batch is read. One that was begun before a restart is left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceOptions:
    """`copartition`: one Spark partition reads the same partition number of every topic, for joins of topics.

    `poll_timeout_ms`: how long planning waits for a first new record before it reports that there is none.
    `discovery_interval_ms`: how long a list of partitions is good for. `ending_offsets` are for batch reads only.
    `starting_function` goes before `starting_offsets`; `given_start` is the option that says where to begin, None where
    it is the default. `replay_topic` is for opaque replay, None where replay is transactional. `partitions_min` and
    `records_per_partition_max` cut ranges of offsets into several Spark partitions.
    """

    kafka: KafkaSettings
    subscription: Subscription
    starting_offsets: PositionRules
    starting_function: str | None = None
    given_start: str | None = None
    ending_offsets: PositionRules | None = None
    group_id: str | None = None
    offset_commit_mode: OffsetCommitMode = OffsetCommitMode.DISABLED
    offset_commit_interval_ms: int = 5_000
    records_per_trigger_max: int | None = None
    records_per_partition_max: int | None = None
    partitions_min: int | None = None
    poll_timeout_ms: int = 500
    discovery_interval_ms: int = 10_000
    include_headers: bool = False
    data_loss: DataLossPolicy = DataLossPolicy.FAIL
    copartition: bool = False
    fetch_metrics: FetchMetricsOptions | None = None
    rows: RowOptions = field(default_factory=RowOptions)
    event_time: EventTimeOptions = field(default_factory=EventTimeOptions)
    end_of_stream: EndOfStreamOptions | None = None
    replay_topic: str | None = None

    @property
    def ends_queries(self) -> bool:
        """Whether the end of this stream is that of its query."""
        ends = self.end_of_stream
        return ends is not None and ends.scope is EndScope.QUERY

    @property
    def is_opaque(self) -> bool:
        """Whether a micro-batch leaves partitions out that are not available."""
        return self.replay_topic is not None

    @property
    def reads_commits(self) -> bool:
        """Whether what the group has committed says where to begin or to end."""
        rules = [self.starting_offsets, *([self.ending_offsets] if self.ending_offsets else [])]
        return any(isinstance(each, Committed) for rule in rules for each in rule.all())


def parse_source_options(options: Mapping[str, str], *, is_batch: bool = False) -> SourceOptions:
    """Raises ConfigError for a missing, unknown or malformed option, naming what to write instead.

    By default a stream begins with what comes, a batch with what is there. By time, a batch of a partition that has
    nothing so late is empty, and a stream has to be told to begin at its end.
    """
    given, kafka = divided(options, KNOWN, _ALIASES)
    subscription = parse_subscription(given)
    group_id = given.get("group.id", "").strip() or None
    is_copartitioned = flag(given, "copartition", default=False)
    splits = {name for name in ("minpartitions", "maxrecordsperpartition") if name in given}
    if is_copartitioned and splits:
        raise ConfigError(
            "copartition reads a partition in one piece: leave out minPartitions and maxRecordsPerPartition"
        )
    records_max = optional_number(given, "maxRecordsPerTrigger")
    commit_mode = _commit_mode(given, group_id)
    is_at_most_once = commit_mode is OffsetCommitMode.AT_MOST_ONCE
    parsed = SourceOptions(
        kafka=for_reading(kafka, writes_letters="deadlettertopic" in given),
        subscription=subscription,
        starting_offsets=_starting(given, group_id, is_batch=is_batch),
        starting_function=_start_function(given),
        given_start=next((name for name in START_OPTIONS if name.lower() in given), None),
        ending_offsets=_ending(given, group_id),
        group_id=group_id,
        offset_commit_mode=commit_mode,
        offset_commit_interval_ms=number(given, "offsetCommitIntervalMs", 5_000, 1),
        records_per_trigger_max=records_max,
        records_per_partition_max=optional_number(given, "maxRecordsPerPartition"),
        partitions_min=optional_number(given, "minPartitions"),
        discovery_interval_ms=number(given, "discoveryIntervalMs", 10_000, 1),
        poll_timeout_ms=number(given, "pollTimeoutMs", 500, 0),
        include_headers=flag(given, "includeHeaders", default=False),
        data_loss=parse_data_loss(given.get("failondataloss", "true")),
        copartition=is_copartitioned,
        fetch_metrics=parse_fetch_metrics(given),
        rows=parse_row_options(given),
        event_time=parse_event_time(given, records_max, is_copartitioned=is_copartitioned),
        end_of_stream=parse_end_of_stream(given, is_copartitioned=is_copartitioned),
        replay_topic=parse_replay_topic(given, is_at_most_once=is_at_most_once),
    )
    refuse_without_effect(given)
    return parsed


def _starting(given: Mapping[str, str], group_id: str | None, *, is_batch: bool) -> PositionRules:
    """Times go before offsets, as in Spark's connector."""
    unnamed: Position = Earliest() if group_id is None else Committed(Earliest())
    default = "latest" if is_batch else "error"
    strategy = given.get("startingoffsetsbytimestampstrategy", default).lower()
    if strategy not in {"error", "latest"}:
        raise ConfigError(
            f"startingOffsetsByTimestampStrategy is error or latest, not {strategy!r}"
        )
    or_latest = strategy == "latest"
    if (text := given.get("startingtimestamp")) is not None:
        positions = parse_timestamp("startingTimestamp", text, or_latest=or_latest)
    elif (text := given.get("startingoffsetsbytimestamp")) is not None:
        name = "startingOffsetsByTimestamp"
        positions = parse_timestamps(name, text, unnamed, or_latest=or_latest)
    else:
        text = given.get("startingoffsets", "earliest" if is_batch else "latest")
        positions = parse_positions("startingOffsets", text, unnamed)
    return _with_group(positions, "startingOffsets", group_id, _behind_max(given, positions))


def _start_function(given: Mapping[str, str]) -> str | None:
    if (text := given.get("startingoffsetsfunction")) is not None:
        function_named("startingOffsetsFunction", text)
    return text


def _ending(given: Mapping[str, str], group_id: str | None) -> PositionRules | None:
    """None: the end of each log."""
    if (text := given.get("endingtimestamp")) is not None:
        return parse_timestamp("endingTimestamp", text, or_latest=True)
    if (text := given.get("endingoffsetsbytimestamp")) is not None:
        return parse_timestamps("endingOffsetsByTimestamp", text, Latest(), or_latest=True)
    if (text := given.get("endingoffsets")) is None:
        return None
    positions = parse_positions("endingOffsets", text, Latest())
    if any(isinstance(each, Earliest) for each in positions.all()):
        raise ConfigError("endingOffsets is not the beginning: nothing would be read")
    return _with_group(positions, "endingOffsets", group_id, None)


def _with_group(
    positions: PositionRules, name: str, group_id: str | None, behind_max: int | None
) -> PositionRules:
    if group_id is None and any(isinstance(each, Committed) for each in positions.all()):
        raise ConfigError(
            f'{name} names committed offsets, and no group: .option("group.id", "my-query")'
        )
    return positions if behind_max is None else positions.limited(behind_max)


def _behind_max(given: Mapping[str, str], positions: PositionRules) -> int | None:
    behind_max = optional_number(given, "maxOffsetBehind")
    is_committed = any(isinstance(each, Committed) for each in positions.all())
    if behind_max is not None and not is_committed:
        raise ConfigError("maxOffsetBehind has a use only with startingOffsets=committed")
    return behind_max


def _commit_mode(given: Mapping[str, str], group_id: str | None) -> OffsetCommitMode:
    """A group that is given is told how far its query is, unless the options say otherwise."""
    text = given.get("offsetcommitmode")
    if group_id is not None:
        return choice("offsetCommitMode", text or "on_checkpoints", OffsetCommitMode)
    if (
        text is not None
        and choice("offsetCommitMode", text, OffsetCommitMode) is not OffsetCommitMode.DISABLED
    ):
        raise ConfigError('offsetCommitMode needs a group: .option("group.id", "my-query")')
    return OffsetCommitMode.DISABLED
