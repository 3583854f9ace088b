"""`LogConfig`: the topic configurations of one partition's log, typed, and how they are put together.

Owns the step from text (overrides and broker defaults) to values, and the rules between keys.
What a single key may be is in `topic_config_table`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from millstream.config_fields import from_keys, read_config
from millstream.errors import ConfigError, InvalidConfig
from millstream.metadata.config_key import BrokerSynonym, ConfigValue, parse_config
from millstream.metadata.topic_config_table import HOUR_MS, LONG_MAX, TOPIC_CONFIGS

__all__ = ["LogConfig", "TOPIC_CONFIGS", "converted", "log_config", "topic_defaults"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LogConfig:
    """The settings of one partition's log. Keys without effect have no field."""

    cleanup_policy: frozenset[str] = from_keys(
        "cleanup.policy", default=frozenset({"delete"}), convert=frozenset
    )
    compression_gzip_level: int = -1
    compression_lz4_level: int = 9
    compression_type: str = "producer"
    compression_zstd_level: int = 3
    delete_retention_ms: int = 86_400_000
    file_delete_delay_ms: int = 60_000
    flush_messages: int = LONG_MAX
    flush_ms: int = LONG_MAX
    follower_replication_throttled_replicas: tuple[str, ...] = ()
    index_interval_bytes: int = 4096
    leader_replication_throttled_replicas: tuple[str, ...] = ()
    max_compaction_lag_ms: int = LONG_MAX
    max_message_bytes: int = 1_048_588
    message_timestamp_after_max_ms: int = HOUR_MS
    message_timestamp_before_max_ms: int = LONG_MAX
    message_timestamp_type: str = "CreateTime"
    min_cleanable_dirty_ratio: float = 0.5
    min_compaction_lag_ms: int = 0
    min_insync_replicas: int = 1
    preallocate: bool = False
    retention_bytes: int = -1
    retention_ms: int = 604_800_000
    segment_bytes: int = from_keys(
        "segment.bytes",
        "internal.segment.bytes",
        default=1_073_741_824,
        convert=lambda size, internal_size: size if internal_size is None else internal_size,
    )
    segment_index_bytes: int = 10_485_760
    segment_jitter_ms: int = 0
    segment_ms: int = 604_800_000

    @property
    def is_compacted(self) -> bool:
        return "compact" in self.cleanup_policy

    @property
    def is_deleted(self) -> bool:
        """Whether old segments are deleted by age and size (cleanup.policy contains delete)."""
        return "delete" in self.cleanup_policy

    @property
    def is_log_append_time(self) -> bool:
        return self.message_timestamp_type == "LogAppendTime"


def log_config(overrides: Mapping[str, str], defaults: Mapping[str, str] = {}) -> LogConfig:
    """Returns the log settings of a topic: its overrides, else `defaults` (topic keys, see
    `topic_defaults`), else Kafka's.

    Raises ConfigError for unknown names, values that do not parse and combinations that contradict each other.
    """
    values = parse_config(TOPIC_CONFIGS, {**defaults, **overrides})
    _check_compaction_lags(values)
    _check_no_remote_storage(values)
    return read_config(LogConfig, values)


def stored_log_config(
    overrides: Mapping[str, str], defaults: Mapping[str, str]
) -> tuple[LogConfig, list[str]]:
    """Returns the log settings from stored overrides, and the overrides left out: a topic must open
    whatever else was changed since.

    Left out are names of other releases and values that cannot be used. Defaults and overrides that were each fine when
    they were set may contradict each other, as in Kafka. Raises ConfigError for a topic whose records are elsewhere.
    """
    usable: dict[str, str] = {}
    left_out = []
    for name, text in (*defaults.items(), *overrides.items()):
        try:
            parse_config(TOPIC_CONFIGS, {name: text})
        except ConfigError as error:
            left_out.append(str(error))
        else:
            usable[name] = text
    values = parse_config(TOPIC_CONFIGS, usable)
    _check_no_remote_storage(values)
    return read_config(LogConfig, values), left_out


def topic_defaults(broker_settings: Mapping[str, str | None]) -> dict[str, str]:
    """Defaults of topic keys that a broker's own settings imply: `log.retention.hours=1` is `retention.ms=3600000`.

    `broker_settings` holds what was set, under broker keys; the first synonym that is set wins.
    """
    found: dict[str, str] = {}
    for key in TOPIC_CONFIGS.values():
        for synonym in key.synonyms:
            text = broker_settings.get(synonym.name)
            if text is not None:
                found[key.name] = converted(text, synonym)
                break
    return found


def converted(text: str, synonym: BrokerSynonym) -> str:
    """Returns a broker key's value in the topic key's unit; negative numbers mean "no limit" in every unit."""
    if synonym.factor == 1:
        return text
    number = int(text)
    return "-1" if number < 0 else str(number * synonym.factor)


def _check_compaction_lags(values: Mapping[str, ConfigValue]) -> None:
    least, most = values["min.compaction.lag.ms"], values["max.compaction.lag.ms"]
    assert isinstance(least, int), "min.compaction.lag.ms is a long in the table"
    assert isinstance(most, int), "max.compaction.lag.ms is a long in the table"
    if least > most:
        raise ConfigError(
            f"min.compaction.lag.ms ({least}) must not be more than max.compaction.lag.ms ({most})"
        )


def _check_no_remote_storage(values: Mapping[str, ConfigValue]) -> None:
    if values["remote.storage.enable"]:
        raise ConfigError(
            "remote.storage.enable needs a broker with remote storage: leave it false"
        )


def check_topic_overrides(overrides: Mapping[str, str], defaults: Mapping[str, str]) -> None:
    """Checks all overrides of a topic; `defaults` are the topic keys that the broker's settings imply.

    Raises InvalidConfig for unknown keys, values outside their limits, and keys that contradict each other.
    """
    for name in overrides:
        if name not in TOPIC_CONFIGS:
            raise InvalidConfig(f"Unknown topic config name: {name}")
    try:
        log_config(overrides, defaults)
    except ConfigError as error:
        raise InvalidConfig(str(error)) from error
