"""The topic configuration table and LogConfig, against the facts of Kafka 4.3.1."""

from __future__ import annotations

import typing
from dataclasses import fields

import pytest

from millstream.errors import ConfigError
from millstream.metadata.topic_config import (
    TOPIC_CONFIGS,
    LogConfig,
    log_config,
    stored_log_config,
    topic_defaults,
)
from millstream.protocol.enums import ConfigType

KAFKA_DEFAULTS = {
    "cleanup.policy": "delete",
    "compression.gzip.level": "-1",
    "compression.lz4.level": "9",
    "compression.type": "producer",
    "compression.zstd.level": "3",
    "delete.retention.ms": "86400000",
    "file.delete.delay.ms": "60000",
    "flush.messages": "9223372036854775807",
    "flush.ms": "9223372036854775807",
    "follower.replication.throttled.replicas": "",
    "index.interval.bytes": "4096",
    "internal.segment.bytes": None,
    "leader.replication.throttled.replicas": "",
    "local.retention.bytes": "-2",
    "local.retention.ms": "-2",
    "max.compaction.lag.ms": "9223372036854775807",
    "max.message.bytes": "1048588",
    "message.timestamp.after.max.ms": "3600000",
    "message.timestamp.before.max.ms": "9223372036854775807",
    "message.timestamp.type": "CreateTime",
    "min.cleanable.dirty.ratio": "0.5",
    "min.compaction.lag.ms": "0",
    "min.insync.replicas": "1",
    "preallocate": "false",
    "remote.log.copy.disable": "false",
    "remote.log.delete.on.disable": "false",
    "remote.storage.enable": "false",
    "retention.bytes": "-1",
    "retention.ms": "604800000",
    "segment.bytes": "1073741824",
    "segment.index.bytes": "10485760",
    "segment.jitter.ms": "0",
    "segment.ms": "604800000",
    "unclean.leader.election.enable": "false",
}


def test_the_table_holds_kafkas_34_keys_with_its_defaults() -> None:
    assert {name: key.default_text for name, key in TOPIC_CONFIGS.items()} == KAFKA_DEFAULTS


def test_every_key_has_a_sentence_of_documentation() -> None:
    assert [name for name, key in TOPIC_CONFIGS.items() if not key.doc.endswith(".")] == []


def test_every_default_passes_its_own_validator() -> None:
    for key in TOPIC_CONFIGS.values():
        assert key.parse(key.default_text) == key.default


def test_log_config_without_overrides_is_the_default_log_config() -> None:
    assert log_config({}) == LogConfig()


def test_log_config_has_one_field_for_every_key_with_an_effect() -> None:
    """`internal.segment.bytes` takes the place of `segment.bytes`; who may lead is asked by the controller."""
    assert {field.name.replace("_", ".") for field in fields(LogConfig)} == {
        name for name, key in TOPIC_CONFIGS.items() if key.without_effect is None
    } - {"internal.segment.bytes", "unclean.leader.election.enable"}


def test_the_types_of_the_fields_are_those_of_the_table() -> None:
    expected = {
        ConfigType.BOOLEAN: bool,
        ConfigType.STRING: str,
        ConfigType.INT: int,
        ConfigType.LONG: int,
        ConfigType.DOUBLE: float,
        ConfigType.LIST: tuple[str, ...],
    }
    hints = typing.get_type_hints(LogConfig)
    hints["cleanup_policy"] = tuple[str, ...]  # a list in the table, a set in the log
    assert hints == {
        field.name: expected[TOPIC_CONFIGS[field.name.replace("_", ".")].type]
        for field in fields(LogConfig)
    }


def test_overrides_win_over_broker_defaults_and_those_over_kafkas() -> None:
    config = log_config({"retention.ms": "1"}, {"retention.ms": "2", "segment.ms": "3"})
    assert (config.retention_ms, config.segment_ms, config.retention_bytes) == (1, 3, -1)


def test_cleanup_policy_takes_both_and_none() -> None:
    assert log_config({"cleanup.policy": "compact, delete"}).cleanup_policy == {"compact", "delete"}
    assert log_config({"cleanup.policy": ""}).cleanup_policy == frozenset()
    assert log_config({"cleanup.policy": "compact,compact"}).cleanup_policy == {"compact"}


def test_internal_segment_bytes_replaces_the_segment_size_below_its_limit() -> None:
    assert log_config({"internal.segment.bytes": "1024"}).segment_bytes == 1024


def test_min_compaction_lag_may_not_exceed_the_maximum() -> None:
    with pytest.raises(ConfigError, match=r"must not be more than max.compaction.lag.ms"):
        log_config({"min.compaction.lag.ms": "10", "max.compaction.lag.ms": "5"})


def test_remote_storage_is_refused_on_a_broker_without_it() -> None:
    with pytest.raises(ConfigError, match="needs a broker with remote storage"):
        log_config({"remote.storage.enable": "true"})


def test_an_unknown_key_is_refused_by_name() -> None:
    with pytest.raises(ConfigError, match=r"Unknown configuration retention.m:"):
        log_config({"retention.m": "1"})


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("cleanup.policy", "keep"),
        ("compression.gzip.level", "0"),
        ("compression.gzip.level", "10"),
        ("compression.type", "brotli"),
        ("segment.bytes", "1048575"),
        ("segment.bytes", "2147483648"),
        ("retention.ms", "-2"),
        ("retention.ms", "soon"),
        ("retention.ms", ""),
        ("min.cleanable.dirty.ratio", "1.1"),
        ("min.cleanable.dirty.ratio", "nan"),
        ("preallocate", "yes"),
        ("min.insync.replicas", "0"),
        ("leader.replication.throttled.replicas", "1:a"),
    ],
)
def test_a_value_outside_the_limits_is_refused(name: str, text: str) -> None:
    with pytest.raises(ConfigError, match=name):
        log_config({name: text})


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"log.retention.hours": "2"}, {"retention.ms": "7200000"}),
        ({"log.retention.hours": "-1"}, {"retention.ms": "-1"}),
        ({"log.retention.hours": "2", "log.retention.minutes": "3"}, {"retention.ms": "180000"}),
        ({"log.retention.ms": "5", "log.retention.minutes": "3"}, {"retention.ms": "5"}),
        ({"log.retention.ms": None, "log.retention.hours": "1"}, {"retention.ms": "3600000"}),
        ({"log.roll.hours": "1"}, {"segment.ms": "3600000"}),
        ({"message.max.bytes": "9"}, {"max.message.bytes": "9"}),
        ({"log.cleanup.policy": "compact"}, {"cleanup.policy": "compact"}),
        ({"num.partitions": "3"}, {}),
    ],
)
def test_broker_settings_become_topic_defaults(
    settings: dict[str, str | None], expected: dict[str, str]
) -> None:
    assert topic_defaults(settings) == expected


def test_what_is_stored_may_contradict_itself() -> None:
    """A default that was changed after the topic was made does not keep the topic from its records."""
    config, left_out = stored_log_config(
        {"max.compaction.lag.ms": "10"}, {"min.compaction.lag.ms": "20"}
    )
    assert (config.min_compaction_lag_ms, config.max_compaction_lag_ms) == (20, 10)
    assert left_out == []


def test_stored_names_of_other_releases_and_bad_values_count_for_nothing() -> None:
    stored = {"message.format.version": "2.8", "segment.bytes": "14", "retention.ms": "7"}
    config, left_out = stored_log_config(stored, {"segment.bytes": "2097152", "flush.ms": "-1"})
    assert config == LogConfig(retention_ms=7, segment_bytes=2_097_152)
    assert left_out == [
        "Invalid value -1 for configuration flush.ms: the value must be at least 0",
        "Unknown configuration message.format.version: check the spelling, or remove it",
        "Invalid value 14 for configuration segment.bytes: the value must be at least 1048576",
    ]


def test_a_stored_topic_whose_records_are_elsewhere_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"remote\.storage\.enable needs a broker with"):
        stored_log_config({"remote.storage.enable": "true"}, {})
