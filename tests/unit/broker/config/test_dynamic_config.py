"""Settings that change while the broker runs."""

from __future__ import annotations

import logging

import pytest

from millstream.broker.config.broker_config import BrokerConfig, broker_config, changed_config
from millstream.broker.config.dynamic_config import DynamicConfig, check_broker_change
from millstream.broker.config.other_keys import ignored_update_mode
from millstream.errors import ConfigError
from millstream.metadata.config_key import UpdateMode
from millstream.metadata.config_resource import ConfigResource
from millstream.metadata.image import MetadataImage
from millstream.net.server.limits import ConnectionLimits, ListenerLimits
from millstream.protocol.enums import ConfigResourceType


def image(
    own: dict[str, str] | None = None, everybody: dict[str, str] | None = None
) -> MetadataImage:
    configs = {"5": own or {}, "": everybody or {}}
    return MetadataImage(
        configs={
            ConfigResource(ConfigResourceType.BROKER, name): config
            for name, config in configs.items()
            if config
        }
    )


def static() -> BrokerConfig:
    return broker_config({"node.id": "5", "max.connections": "7", "log.dirs": "/data"})


def connections_max(config: BrokerConfig) -> int:
    return config.read(ConnectionLimits).connections_max


def test_the_brokers_own_beats_the_default_of_all_and_both_beat_the_file() -> None:
    dynamic = DynamicConfig(static())
    seen: list[int] = []
    dynamic.subscribe(lambda config: seen.append(connections_max(config)))
    dynamic.apply(image(everybody={"max.connections": "8"}))
    dynamic.apply(image(own={"max.connections": "9"}, everybody={"max.connections": "8"}))
    dynamic.apply(image(everybody={"max.connections": "8"}))
    dynamic.apply(image())
    assert seen == [8, 9, 8, 7]
    assert dynamic.current == static()


def test_the_bounds_of_a_listener_change_while_the_broker_runs() -> None:
    name = "listener.name.plaintext.max.connection.creation.rate"
    static = broker_config({name: "5", "listener.name.plaintext.max.connections": "9"})
    changed = changed_config(static, {name: "7"}).protection.limits
    assert changed == {"PLAINTEXT": ListenerLimits(9, 7)}
    assert ignored_update_mode(name) is UpdateMode.CLUSTER_WIDE
    check_broker_change({}, {name: "7"})
    with pytest.raises(ConfigError, match=r"max\.connection\.creation\.rate"):
        check_broker_change({}, {name: "0"})


def test_what_changes_nothing_is_told_to_nobody() -> None:
    dynamic = DynamicConfig(static())
    seen: list[BrokerConfig] = []
    dynamic.subscribe(seen.append)
    dynamic.apply(image(own={"max.connections": "7", "my.plugin": "x"}))
    assert seen == []


def test_fixed_settings_stay_those_of_the_start() -> None:
    """They cannot be set, but a directory from elsewhere may hold them."""
    dynamic = DynamicConfig(static())
    dynamic.apply(image(own={"num.partitions": "9", "node.id": "6", "max.connections": "8"}))
    assert (dynamic.current.num_partitions, dynamic.current.node_id) == (1, 5)
    assert connections_max(dynamic.current) == 8
    assert dynamic.current.settings == static().settings


def test_a_value_that_cannot_be_used_is_told_once_and_the_others_apply(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """What has another version of Kafka stored, say. As there, the next layer below it counts."""
    dynamic = DynamicConfig(static())
    bad = {"max.connections": "many", "num.io.threads": "16"}
    with caplog.at_level(logging.ERROR):
        dynamic.apply(image(own=bad, everybody={"max.connections": "8"}))
        dynamic.apply(image(own=bad, everybody={"max.connections": "9"}))
    assert connections_max(dynamic.current) == 9
    assert dynamic.current.values["num.io.threads"] == 16
    (record,) = caplog.records
    assert "of this broker is used without max.connections: Invalid value many" in record.message
    caplog.clear()
    dynamic.apply(image())
    dynamic.apply(image(own=bad))
    assert len(caplog.records) == 1, "it is told again once it was mended and is back"
    assert connections_max(dynamic.current) == 7


def test_a_bound_of_a_listener_that_cannot_be_used_leaves_the_others() -> None:
    dynamic = DynamicConfig(static())
    bad = "listener.name.plaintext.max.connection.creation.rate"
    dynamic.apply(image(own={bad: "0", "max.connections": "8"}))
    assert connections_max(dynamic.current) == 8


def test_values_that_cannot_be_used_together_are_told_and_the_old_ones_go_on(
    caplog: pytest.LogCaptureFixture,
) -> None:
    dynamic = DynamicConfig(static())
    dynamic.apply(image(own={"max.connections": "8"}))
    with caplog.at_level(logging.ERROR):
        dynamic.apply(image(own={"max.connections": "9", "max.connections.per.ip": "0"}))
    assert connections_max(dynamic.current) == 8
    assert "not applied: " in caplog.text


@pytest.mark.parametrize(
    ("before", "after", "sentence"),
    [
        ({}, {"num.io.threads": "100"}, None),
        ({}, {"num.io.threads": "many"}, "whole number"),
        ({}, {"log.cleaner.dedupe.buffer.size": "1000"}, "1 MiB for each thread"),
        ({}, {"max.connections.per.ip": "0"}, "only if max.connections.per.ip.overrides"),
        ({}, {"max.connections.per.ip": "0", "max.connections.per.ip.overrides": "::1:5"}, None),
        ({}, {"max.connections.per.ip.overrides": "10.0.0.1"}, "ADDRESS:LIMIT"),
        ({}, {"log.retention.ms": "0"}, "unlimited"),
        ({}, {"my.plugin": "x"}, None),
    ],
)
def test_changes_that_a_broker_could_not_follow_are_refused(
    before: dict[str, str], after: dict[str, str], sentence: str | None
) -> None:
    if sentence is None:
        check_broker_change(before, after)
        return
    with pytest.raises(ConfigError, match=sentence):
        check_broker_change(before, after)
