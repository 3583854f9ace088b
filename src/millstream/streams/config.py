"""Settings of one application that the kernel reads. Kafka's names, in snake case."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from millstream.errors import ConfigError
from millstream.foreign_names.explanation import explain_construction
from millstream.streams.arguments import check_fields, check_serdes
from millstream.streams.handlers import (
    DeserializationHandler,
    OnError,
    ProcessingHandler,
    ProductionHandler,
)
from millstream.streams.host_info import HostInfo
from millstream.streams.metrics import RecordingLevel
from millstream.streams.rocksdb_options import RocksDBOptions, check_config_setter
from millstream.streams.serdes.serde import Serde
from millstream.streams.timestamps import TimestampExtractor, fail_on_invalid
from millstream.streams.topology.functions import check_arity
from millstream.streams.tracing import OnTrace, log_trace

if TYPE_CHECKING:
    from millstream.streams.rocksdb_options import RocksDBConfigSetter

__all__ = [
    "GroupProtocol",
    "OnError",
    "ProcessingGuarantee",
    "RackAwareStrategy",
    "StreamsConfig",
    "with_prefix",
]


_KINDS: Final = {
    "application_id": str,
    "batch_records_max": int,
    "dead_letter_topic": str | None,
    "cache_max_bytes": int,
    "window_emit_interval_ms": int,
    "join_emit_interval_ms": int,
    "max_task_idle_ms": int,
    "upstream_timeout_ms": int,
    "num_standby_replicas": int,
    "handle_global_errors": bool,
    "metrics_recording_level": RecordingLevel,
    "state_dir": str | None,
    "num_stream_threads": int,
    "commit_interval_ms": int | None,
    "poll_ms": int,
    "task_timeout_ms": int,
    "state_cleanup_delay_ms": int,
    "checkpoint_directory": str | None,
    "checkpoint_interval_ms": int,
    "repartition_purge_interval_ms": int,
    "buffered_records_per_partition": int,
    "buffered_bytes_per_partition": int,
    "client_id": str,
    "use_processes": bool,
    "rocksdb": RocksDBOptions,
    "application_server": str,
    "group_instance_id": str | None,
    "max_warmup_replicas": int,
    "acceptable_recovery_lag": int,
    "probing_rebalance_interval_ms": int,
    "client_tags": Mapping,
    "rack_aware_assignment_tags": Sequence,
    "rack_aware_assignment_traffic_cost": int | None,
    "rack_aware_assignment_non_overlap_cost": int | None,
    "trace_every": int,
    "settings": Mapping,
}
_AT_LEAST = {
    "batch_records_max": 1,
    "cache_max_bytes": 0,
    "window_emit_interval_ms": 0,
    "join_emit_interval_ms": 0,
    "max_task_idle_ms": -1,
    "upstream_timeout_ms": 0,
    "num_standby_replicas": 0,
    "num_stream_threads": 1,
    "commit_interval_ms": 0,
    "poll_ms": 0,
    "task_timeout_ms": 0,
    "state_cleanup_delay_ms": 1,
    "checkpoint_interval_ms": 0,
    "repartition_purge_interval_ms": 0,
    "buffered_records_per_partition": 1,
    "buffered_bytes_per_partition": 1,
    "max_warmup_replicas": 1,
    "acceptable_recovery_lag": 0,
    "rack_aware_assignment_traffic_cost": 0,
    "rack_aware_assignment_non_overlap_cost": 0,
    "probing_rebalance_interval_ms": 1,
    "trace_every": 0,
}
_HANDLERS = {
    "on_deserialization_error": ("context", "record", "error"),
    "on_processing_error": ("context", "record", "error"),
    "on_production_error": ("context", "record", "error", "origin"),
}


class ProcessingGuarantee(StrEnum):
    """The guarantee for outputs, changelogs and offsets of a commit: visible together, or perhaps repeated."""

    AT_LEAST_ONCE = "at_least_once"
    EXACTLY_ONCE_V2 = "exactly_once_v2"


class GroupProtocol(StrEnum):
    """The protocol by which tasks are shared out: the coordinator does it (KIP-1071), or one of the instances."""

    STREAMS = "streams"
    CLASSIC = "classic"


class TimeAcrossRepartitions(StrEnum):
    """The order in which a task takes what several upstream tasks have written to a repartition topic: by the time of
    the sources, or as it came.
    """

    ALIGNED = "aligned"
    KAFKA = "kafka"


class RackAwareStrategy(StrEnum):
    """A rule by which tasks go to instances in the racks of their partitions: wherever that lowers traffic, or with
    each sub-topology as evenly spread as without.
    """

    NONE = "none"
    MIN_TRAFFIC = "min_traffic"
    BALANCE_SUBTOPOLOGY = "balance_subtopology"


@explain_construction
@dataclass(frozen=True, slots=True)
class StreamsConfig:
    """The settings of an application that its tasks read.

    `partition_count` tells how many partitions a topic has; it is asked only where a sink has its own partitioner.
    `batch_records_max` bounds a run through the operators; 1 is record at a time. `cache_max_bytes`
    (statestore.cache.max.bytes) bounds what tables hold back between commits, in an application those of all tasks of
    the instance together; 0, the default here, sends every update on. `dead_letter_topic`
    (errors.dead.letter.queue.topic.name) is where the built-in handlers write what cannot be read, processed or
    written; handlers of one's own name topics themselves. `handle_global_errors`
    (processing.exception.handler.global.enabled) asks `on_processing_error` for processors of global stores, too.
    `metrics_recording_level` DEBUG adds the lateness of records, and latencies and rates of tasks. `settings` are the
    application's own, for its processors. `window_emit_interval_ms` and `join_emit_interval_ms` bound how often, by the
    wall clock, closed windows and unmatched records go out; 0, the default here and in Kafka Streams' test driver, lets
    them out as soon as stream time does (Kafka Streams' threads: 1,000; its internal settings `__emit.interval.ms…`).
    `trace_every`: each task gives the trace of one record of so many to `on_trace`, which logs it unless set; 0 of
    none. `processing_guarantee` (processing.guarantee) takes effect in the runner; its names are taken as text, too.
    Left out it is the runner's: exactly_once_v2 on Spark, Kafka's at_least_once where nothing runs the topology.
    `max_task_idle_ms` (max.task.idle.ms) is for `StreamTask.is_ready`: how long a task waits for topics without
    records. `time_across_repartitions`: `aligned` has records of repartition topics go on in the order of the times of
    their sources, so that a result does not depend on which task was faster (ADR 0021); `kafka` takes them as they
    come, as Kafka Streams does, and is needed where instances of it are in the group. `upstream_timeout_ms`: so long a
    task waits for an upstream task that has records to read and does not come forward. `num_standby_replicas`
    (num.standby.replicas) takes effect in the runner: how many copies of a task's stores others keep.

    `repartition_purge_interval_ms` (repartition.purge.interval.ms): so often a runner deletes what has been
    read of repartition topics.

    `rocksdb` has the memory and the files of stores on disk. `rocksdb_config_setter` (rocksdb.config.setter) changes
    any other option of RocksDB: a function, or its name as `module:function`, that is given the name of a task and the
    options before the database of the task is opened.

    The rest is for `KafkaStreams` alone. `state_dir` (state.dir) holds the stores; None: a directory for temporary
    files. `num_stream_threads` (num.stream.threads) share the tasks of the process. `commit_interval_ms`
    (commit.interval.ms): None is Kafka's, 100 with exactly once and else 30,000. `poll_ms` (poll.ms) bounds the wait
    for records between two looks at the clock. `task_timeout_ms` (task.timeout.ms): so long a task may fail where the
    next attempt may succeed, until that ends its thread. `state_cleanup_delay_ms` (state.cleanup.delay.ms): so long the
    stores of a task that has gone elsewhere stay. `checkpoint_directory`, on storage that all instances see under this
    path: snapshots of large stores, with which tasks begin that have moved; `checkpoint_interval_ms`: how often a task
    takes one, if there is enough new in its stores. `buffered_records_per_partition` (buffered.records.per.partition;
    Kafka's is 1,000) and `buffered_bytes_per_partition`: reading of a partition pauses above either. `client_id`
    (client.id) begins the names of threads and clients. `use_processes`: each stream thread is a process of its own, so
    that they compute side by side; the topology is pickled for them. `application_server` (application.server) is the
    `host:port` at which this instance answers queries of others; the group tells it to all instances. Empty: nobody
    learns of it. `group_protocol` (group.protocol): `streams` has the coordinator share out the tasks, from Kafka 4.2
    on; with `classic` one of the instances does, and brokers need to know nothing of it. All instances have the same
    one. With `classic`, too: `group_instance_id` (group.instance.id), with which an instance that comes back in time
    has its tasks again and nobody else moves any, `max_warmup_replicas` (max.warmup.replicas),
    `acceptable_recovery_lag` (acceptable.recovery.lag), `probing_rebalance_interval_ms`
    (probing.rebalance.interval.ms), `client_tags` (client.tag.…) and `rack_aware_assignment_tags`
    (rack.aware.assignment.tags), the tags that copies of a task are to differ in; `rack_aware_assignment_strategy`, and
    `…_traffic_cost` and `…_non_overlap_cost` (rack.aware.assignment.…), which place tasks in the racks of their
    partitions (KIP-925).
    """

    application_id: str
    default_key: Serde[Any] | None = None  # Any: default serdes of any type
    default_value: Serde[Any] | None = None  # Any: default serdes of any type
    default_timestamps: TimestampExtractor = fail_on_invalid
    on_deserialization_error: OnError | DeserializationHandler = OnError.FAIL
    on_processing_error: OnError | ProcessingHandler = OnError.FAIL
    batch_records_max: int = 65_536
    partition_count: Callable[[str], int] | None = None
    dead_letter_topic: str | None = None
    cache_max_bytes: int = 0
    window_emit_interval_ms: int = 0
    join_emit_interval_ms: int = 0
    max_task_idle_ms: int = 0
    time_across_repartitions: TimeAcrossRepartitions | str = TimeAcrossRepartitions.ALIGNED
    upstream_timeout_ms: int = 300_000
    num_standby_replicas: int = 0
    on_production_error: OnError | ProductionHandler = OnError.FAIL
    handle_global_errors: bool = False
    metrics_recording_level: RecordingLevel = RecordingLevel.INFO
    processing_guarantee: ProcessingGuarantee | str | None = None
    state_dir: str | None = None
    num_stream_threads: int = 1
    commit_interval_ms: int | None = None
    poll_ms: int = 100
    task_timeout_ms: int = 300_000
    state_cleanup_delay_ms: int = 600_000
    checkpoint_directory: str | None = None
    checkpoint_interval_ms: int = 600_000
    repartition_purge_interval_ms: int = 30_000
    buffered_records_per_partition: int = 10_000
    buffered_bytes_per_partition: int = 32 * 2**20
    client_id: str = ""
    use_processes: bool = False
    application_server: str = ""
    group_protocol: GroupProtocol | str = GroupProtocol.STREAMS
    group_instance_id: str | None = None
    max_warmup_replicas: int = 2
    acceptable_recovery_lag: int = 10_000
    probing_rebalance_interval_ms: int = 600_000
    client_tags: Mapping[str, str] = field(default_factory=dict)
    rack_aware_assignment_tags: Sequence[str] = ()
    rack_aware_assignment_strategy: RackAwareStrategy | str = RackAwareStrategy.NONE
    rack_aware_assignment_traffic_cost: int | None = None
    rack_aware_assignment_non_overlap_cost: int | None = None
    trace_every: int = 0
    on_trace: OnTrace = log_trace
    rocksdb: RocksDBOptions = field(default_factory=RocksDBOptions)
    rocksdb_config_setter: RocksDBConfigSetter | str | None = None
    settings: Mapping[str, object] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_fields(self, **_KINDS)
        if self.processing_guarantee is not None:
            guarantee = _guarantee(self.processing_guarantee)
            object.__setattr__(self, "processing_guarantee", guarantee)  # frozen, and text is taken
        for name, kind in _NAMED.items():
            object.__setattr__(self, name, _member_of(kind, name, getattr(self, name)))
        check_serdes(
            "StreamsConfig", default_key=self.default_key, default_value=self.default_value
        )
        if self.application_server:
            HostInfo.parsed(self.application_server)  # raises
        if not self.application_id:
            raise ValueError(
                "StreamsConfig: application_id must not be empty: it names topics and groups"
            )
        if self.group_instance_id is not None and self.group_protocol is GroupProtocol.STREAMS:
            raise ConfigError(
                "StreamsConfig: group_instance_id needs group_protocol=classic: groups of the streams protocol have no static members"
            )
        for field_name, least in _AT_LEAST.items():
            given = getattr(self, field_name)
            if given is not None and given < least:
                raise ValueError(
                    f"StreamsConfig: {field_name} must be at least {least}, not {given}"
                )
        check_arity(
            "StreamsConfig",
            "default_timestamps",
            self.default_timestamps,
            "record",
            "partition_time",
        )
        check_arity("StreamsConfig", "on_trace", self.on_trace, "trace")
        check_config_setter(self.rocksdb_config_setter)
        if callable(self.rocksdb_config_setter):
            setter = self.rocksdb_config_setter
            check_arity("StreamsConfig", "rocksdb_config_setter", setter, "task_name", "options")
        if self.partition_count is not None:
            check_arity("StreamsConfig", "partition_count", self.partition_count, "topic")
        for handler, parameters in _HANDLERS.items():
            if not isinstance(getattr(self, handler), OnError):
                check_arity("StreamsConfig", handler, getattr(self, handler), *parameters)

    def as_settings(self) -> dict[str, object]:
        """Returns everything by Kafka's dotted names, and `settings`: what a processor sees as `app_configs()`."""
        named = {
            "application.id": self.application_id,
            "application.server": self.application_server,
            "default.key.serde": self.default_key,
            "default.value.serde": self.default_value,
            "default.timestamp.extractor": self.default_timestamps,
            "deserialization.exception.handler": self.on_deserialization_error,
            "num.standby.replicas": self.num_standby_replicas,
            "num.stream.threads": self.num_stream_threads,
            "poll.ms": self.poll_ms,
            "task.timeout.ms": self.task_timeout_ms,
            "buffered.records.per.partition": self.buffered_records_per_partition,
            "client.id": self.client_id,
            "commit.interval.ms": self.commit_interval_ms,
            "state.cleanup.delay.ms": self.state_cleanup_delay_ms,
            "repartition.purge.interval.ms": self.repartition_purge_interval_ms,
            "group.protocol": str(self.group_protocol),
            "group.instance.id": self.group_instance_id,
            "max.warmup.replicas": self.max_warmup_replicas,
            "acceptable.recovery.lag": self.acceptable_recovery_lag,
            "probing.rebalance.interval.ms": self.probing_rebalance_interval_ms,
            "rack.aware.assignment.strategy": str(self.rack_aware_assignment_strategy),
            "rack.aware.assignment.traffic_cost": self.rack_aware_assignment_traffic_cost,
            "rack.aware.assignment.non_overlap_cost": self.rack_aware_assignment_non_overlap_cost,
            "rack.aware.assignment.tags": ",".join(self.rack_aware_assignment_tags),
            **{f"client.tag.{tag}": value for tag, value in self.client_tags.items()},
            "state.dir": self.state_dir,
            "rocksdb.config.setter": self.rocksdb_config_setter,
            "metrics.recording.level": self.metrics_recording_level,
            "errors.dead.letter.queue.topic.name": self.dead_letter_topic,
            "processing.exception.handler": self.on_processing_error,
            "processing.exception.handler.global.enabled": self.handle_global_errors,
            "processing.guarantee": str(
                self.processing_guarantee or ProcessingGuarantee.AT_LEAST_ONCE
            ),
            "production.exception.handler": self.on_production_error,
            "statestore.cache.max.bytes": self.cache_max_bytes,
        }
        return {**named, **self.settings}


def _guarantee(given: object) -> StrEnum:
    removed = given in {"exactly_once", "exactly_once_beta"}
    hint = "; Kafka has removed that name, write exactly_once_v2" if removed else ""
    return _member_of(ProcessingGuarantee, "processing_guarantee", given, hint)


_NAMED: Final[Mapping[str, type[StrEnum]]] = {
    "group_protocol": GroupProtocol,
    "time_across_repartitions": TimeAcrossRepartitions,
    "rack_aware_assignment_strategy": RackAwareStrategy,
}


def _member_of(kind: type[StrEnum], name: str, given: object, hint: str = "") -> StrEnum:
    try:
        return kind(str(given))
    except ValueError:
        names = " or ".join(kind)
        raise ConfigError(f"StreamsConfig: {name} must be {names}, not {given!r}{hint}") from None


def with_prefix(settings: Mapping[str, object], prefix: str) -> dict[str, object]:
    """Returns the settings whose names begin with the prefix, named without it."""
    return {
        name.removeprefix(prefix): value
        for name, value in settings.items()
        if name.startswith(prefix)
    }
