"""DescribeConfigs: values, sources and synonyms as Kafka 4.3.1 tells them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from millstream.broker.config.broker_config import broker_config
from millstream.broker.config.table import BROKER_CONFIGS
from millstream.broker.handlers.describe_configs import handle
from millstream.protocol.generated.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResult,
)
from millstream.protocol.generated.metadata_records import ConfigRecord

TOPIC, BROKER = 2, 4
UNKNOWN_TOPIC, INVALID_TOPIC, INVALID_REQUEST = 3, 17, 42
OF_TOPIC, OF_BROKER, OF_ALL_BROKERS, STATIC, DEFAULT = 1, 2, 3, 4, 5


def ask(node: object, kind: int, name: str, *keys: str, **fields: bool) -> DescribeConfigsResult:
    resource = DescribeConfigsResource(
        resource_type=kind, resource_name=name, configuration_keys=list(keys) or None
    )
    request = DescribeConfigsRequest(resources=[resource], include_synonyms=True, **fields)
    (result,) = node.answer(handle, request, 4).results
    return result


def told(
    node: object, kind: int, name: str, key: str
) -> tuple[str | None, int, list[tuple[str, str | None, int]]]:
    (config,) = ask(node, kind, name, key).configs
    return (
        config.value,
        config.config_source,
        [(s.name, s.value, s.source) for s in config.synonyms],
    )


def test_a_topic_has_33_configs_and_the_internal_one_when_it_is_set(node: object) -> None:
    node.create("t")
    node.create("u", internal_segment_bytes="10")
    assert len(ask(node, TOPIC, "t").configs) == 33
    assert len(ask(node, TOPIC, "u").configs) == 34


def test_sources_go_from_the_topic_to_the_default(make_node: Callable) -> None:
    node = make_node(segment_ms="1", log_segment_bytes="2000000")
    node.create("t", segment_bytes=" 3000000 ")
    assert told(node, TOPIC, "t", "segment.bytes") == (
        "3000000",
        OF_TOPIC,
        [
            ("segment.bytes", "3000000", OF_TOPIC),
            ("log.segment.bytes", "2000000", STATIC),
            ("log.segment.bytes", "1073741824", DEFAULT),
        ],
    )
    node.create("u")
    assert told(node, TOPIC, "u", "segment.bytes")[:2] == ("2000000", STATIC)


def test_a_setting_in_hours_gives_the_value_but_no_synonyms(make_node: Callable) -> None:
    """Kafka drops what stands before the key in milliseconds."""
    node = make_node(log_retention_hours="2")
    node.create("t", segment_ms="7")
    assert told(node, TOPIC, "t", "retention.ms") == ("7200000", DEFAULT, [])
    assert told(node, TOPIC, "t", "segment.ms") == ("7", OF_TOPIC, [("segment.ms", "7", OF_TOPIC)])
    assert told(node, TOPIC, "t", "flush.ms") == ("9223372036854775807", DEFAULT, [])


def test_dynamic_broker_configs_come_before_static_ones(node: object) -> None:
    node.create("t")
    node.replay(
        ConfigRecord(
            resource_type=BROKER, resource_name="", name="log.retention.ms", value="600000"
        )
    )
    node.replay(
        ConfigRecord(resource_type=BROKER, resource_name="1", name="log.retention.ms", value="5555")
    )
    assert told(node, TOPIC, "t", "retention.ms") == (
        "5555",
        OF_BROKER,
        [
            ("log.retention.ms", "5555", OF_BROKER),
            ("log.retention.ms", "600000", OF_ALL_BROKERS),
            ("log.retention.hours", "168", DEFAULT),
        ],
    )
    assert told(node, BROKER, "", "log.retention.ms") == (
        "600000",
        OF_ALL_BROKERS,
        [("log.retention.ms", "600000", OF_ALL_BROKERS)],
    )


def test_keys_without_broker_synonyms_have_none(node: object) -> None:
    node.create("t")
    assert told(node, TOPIC, "t", "remote.storage.enable") == ("false", DEFAULT, [])


def test_unknown_keys_are_left_out(node: object) -> None:
    node.create("t")
    assert [c.name for c in ask(node, TOPIC, "t", "nope", "retention.ms").configs] == [
        "retention.ms"
    ]


def test_documentation_and_synonyms_come_on_request(node: object) -> None:
    node.create("t")
    (silent,) = ask(node, TOPIC, "t", "cleanup.policy").configs
    (told_all,) = ask(node, TOPIC, "t", "cleanup.policy", include_documentation=True).configs
    assert silent.documentation is None
    assert told_all.documentation.startswith("What happens to old segments.")
    assert (told_all.config_type, told_all.read_only, told_all.is_sensitive) == (7, False, False)


@pytest.mark.parametrize(
    ("kind", "name", "code"),
    [
        (TOPIC, "nope", UNKNOWN_TOPIC),
        (TOPIC, "a b", INVALID_TOPIC),
        (TOPIC, "", INVALID_TOPIC),
        (BROKER, "9", INVALID_REQUEST),
        (BROKER, "x", INVALID_REQUEST),
        (0, "x", INVALID_REQUEST),
        (3, "x", INVALID_REQUEST),
    ],
)
def test_resources_that_cannot_be_described(node: object, kind: int, name: str, code: int) -> None:
    result = ask(node, kind, name)
    assert (result.error_code, result.configs, result.resource_name) == (code, [], name)


def test_a_broker_describes_every_key_of_its_table(make_node: Callable) -> None:
    node = make_node(num_partitions="3")
    configs = {c.name: c for c in ask(node, BROKER, "1").configs}
    assert set(configs) == {name for name, key in BROKER_CONFIGS.items() if not key.internal}
    assert (configs["num.partitions"].value, configs["num.partitions"].config_source) == (
        "3",
        STATIC,
    )
    assert configs["num.partitions"].read_only
    assert told(node, BROKER, "1", "num.partitions")[2] == [
        ("num.partitions", "3", STATIC),
        ("num.partitions", "1", DEFAULT),
    ]


def test_who_the_node_is_has_no_default_that_is_told(node: object) -> None:
    """As in Kafka, where it must be given. The old name of the id has one there."""
    node.configure(settings=broker_config({}).settings)
    assert told(node, BROKER, "1", "node.id") == ("1", STATIC, [("node.id", "1", STATIC)])
    assert told(node, BROKER, "1", "broker.id") == (
        "1",
        STATIC,
        [("broker.id", "1", STATIC), ("broker.id", "-1", DEFAULT)],
    )
    roles = ("process.roles", "broker,controller", STATIC)
    assert told(node, BROKER, "1", "process.roles") == ("broker,controller", STATIC, [roles])
