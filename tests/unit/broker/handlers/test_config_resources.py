"""Configurations of groups, client metrics and loggers: described, altered and listed as Kafka 4.3.1 does."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator

import pytest

from millstream.broker.handlers import (
    alter_configs,
    describe_configs,
    incremental_alter_configs,
    list_config_resources,
)
from millstream.protocol.generated import alter_configs as whole
from millstream.protocol.generated.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResult,
)
from millstream.protocol.generated.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from millstream.protocol.generated.list_config_resources import ListConfigResourcesRequest

TOPIC, BROKER, LOGGER, CLIENT_METRICS, GROUP = 2, 4, 8, 16, 32
SET, DELETE, APPEND = 0, 1, 2
UNKNOWN_TOPIC_OR_PARTITION, UNSUPPORTED_VERSION, INVALID_CONFIG, INVALID_REQUEST = 3, 35, 40, 42
DEFAULT, OF_LOGGER, OF_CLIENT_METRICS, OF_GROUP, STATIC = 5, 6, 7, 8, 4
NAME = "millstream.test.config_resources"


@pytest.fixture
def logger() -> Iterator[logging.Logger]:
    made = logging.getLogger(NAME)
    yield made
    made.setLevel(logging.NOTSET)


def describe(node: object, kind: int, name: str, *keys: str) -> DescribeConfigsResult:
    resource = DescribeConfigsResource(
        resource_type=kind, resource_name=name, configuration_keys=list(keys) or None
    )
    request = DescribeConfigsRequest(resources=[resource], include_synonyms=True)
    (result,) = node.answer(describe_configs.handle, request, 4).results
    return result


def alter(
    node: object, *resources: AlterConfigsResource, validate_only: bool = False
) -> list[tuple[int, str]]:
    request = IncrementalAlterConfigsRequest(resources=list(resources), validate_only=validate_only)
    answer = node.answer(incremental_alter_configs.handle, request, 1)
    return [(each.error_code, each.resource_name) for each in answer.responses]


def change(
    kind: int, name: str, key: str, value: str | None, operation: int = SET
) -> AlterConfigsResource:
    return AlterConfigsResource(
        resource_type=kind,
        resource_name=name,
        configs=[AlterableConfig(name=key, config_operation=operation, value=value)],
    )


def test_a_group_that_does_not_exist_has_the_brokers_defaults(make_node: Callable) -> None:
    node = make_node(group_share_delivery_count_limit="6")
    result = describe(node, GROUP, "nobody")
    assert result.error_code == 0
    assert len(result.configs) == 17
    told = {c.name: (c.value, c.config_source) for c in result.configs}
    assert told["consumer.session.timeout.ms"] == ("45000", DEFAULT)
    assert told["share.delivery.count.limit"] == ("6", STATIC)
    assert told["share.auto.offset.reset"] == ("latest", DEFAULT)


def test_a_groups_own_configuration_comes_before_the_brokers(node: object) -> None:
    assert alter(node, change(GROUP, "g", "consumer.session.timeout.ms", "50000")) == [(0, "g")]
    (told,) = describe(node, GROUP, "g", "consumer.session.timeout.ms").configs
    assert (told.value, told.config_source, told.read_only) == ("50000", OF_GROUP, False)
    assert [(s.name, s.value, s.source) for s in told.synonyms] == [
        ("consumer.session.timeout.ms", "50000", OF_GROUP),
        ("group.consumer.session.timeout.ms", "45000", DEFAULT),
    ]


def test_client_metrics_are_described_set_or_not(node: object) -> None:
    assert alter(node, change(CLIENT_METRICS, "m", "metrics", "a.b,c")) == [(0, "m")]
    told = {c.name: (c.value, c.config_source) for c in describe(node, CLIENT_METRICS, "m").configs}
    assert told == {
        "interval.ms": ("300000", DEFAULT),
        "match": ("", DEFAULT),
        "metrics": ("a.b,c", OF_CLIENT_METRICS),
    }


@pytest.mark.parametrize(
    ("kind", "name"),
    [(GROUP, ""), (CLIENT_METRICS, ""), (LOGGER, ""), (LOGGER, "2"), (LOGGER, "x"), (BROKER, "-1")],
)
def test_names_that_cannot_be_described(node: object, kind: int, name: str) -> None:
    assert describe(node, kind, name).error_code == INVALID_REQUEST


def test_a_loggers_level_changes_at_once_and_back(node: object, logger: logging.Logger) -> None:
    assert alter(node, change(LOGGER, "1", NAME, "TRACE")) == [(0, "1")]
    assert logger.level == 5
    (told,) = describe(node, LOGGER, "1", NAME).configs
    assert (told.value, told.config_source, told.config_type) == ("TRACE", OF_LOGGER, 0)
    assert (told.read_only, told.synonyms) == (False, [])
    assert alter(node, change(LOGGER, "1", NAME, None, DELETE)) == [(0, "1")]
    assert logger.level == logging.NOTSET


@pytest.mark.parametrize(
    ("asked", "code"),
    [
        (("1", NAME, "LOUD", SET), INVALID_CONFIG),
        (("1", "no.such.logger", "INFO", SET), INVALID_CONFIG),
        (("1", NAME, None, SET), INVALID_REQUEST),
        (("1", NAME, "INFO", APPEND), INVALID_REQUEST),
        (("1", NAME, "INFO", 9), INVALID_REQUEST),
        (("1", "root", None, DELETE), INVALID_REQUEST),
        (("2", NAME, "INFO", SET), INVALID_REQUEST),
        (("", NAME, "INFO", SET), INVALID_REQUEST),
    ],
)
def test_loggers_that_are_not_changed(
    node: object, logger: logging.Logger, asked: tuple[str, str, str | None, int], code: int
) -> None:
    name, key, value, operation = asked
    assert alter(node, change(LOGGER, name, key, value, operation)) == [(code, name)]
    assert logger.level == logging.NOTSET


def test_with_validate_only_no_logger_changes(node: object, logger: logging.Logger) -> None:
    assert alter(node, change(LOGGER, "1", NAME, "TRACE"), validate_only=True) == [(0, "1")]
    assert logger.level == logging.NOTSET


def test_loggers_and_stored_resources_are_answered_in_the_order_asked(
    node: object, logger: logging.Logger
) -> None:
    del logger
    node.create("t")
    assert alter(
        node,
        change(TOPIC, "t", "retention.ms", "5"),
        change(LOGGER, "1", NAME, "LOUD"),
        change(TOPIC, "nope", "retention.ms", "5"),
        change(GROUP, "g", "nope", "5"),
    ) == [(0, "t"), (INVALID_CONFIG, "1"), (3, "nope"), (INVALID_CONFIG, "g")]


def test_a_logger_resource_given_twice_is_refused(node: object, logger: logging.Logger) -> None:
    twice = [change(LOGGER, "1", NAME, level) for level in ("INFO", "DEBUG")]
    assert alter(node, *twice) == [(INVALID_REQUEST, "1")] * 2
    assert logger.level == logging.NOTSET


def test_alter_configs_replaces_what_was_there(node: object) -> None:
    node.create("t", segment_ms="7")
    request = whole.AlterConfigsRequest(
        resources=[
            whole.AlterConfigsResource(
                resource_type=TOPIC,
                resource_name="t",
                configs=[whole.AlterableConfig(name="retention.ms", value="5")],
            ),
            whole.AlterConfigsResource(resource_type=LOGGER, resource_name="1"),
        ]
    )
    answer = node.answer(alter_configs.handle, request, 2)
    assert [each.error_code for each in answer.responses] == [0, INVALID_REQUEST]
    assert dict(node.live.image.topic_config("t")) == {"retention.ms": "5"}


def listed(node: object, version: int, *kinds: int) -> list[tuple[int, str]] | int:
    request = ListConfigResourcesRequest(resource_types=list(kinds))
    answer = node.answer(list_config_resources.handle, request, version)
    if answer.error_code:
        return int(answer.error_code)
    return [(each.resource_type, each.resource_name) for each in answer.config_resources]


def test_version_0_lists_client_metrics_and_version_1_what_is_wanted(node: object) -> None:
    node.create("t")
    alter(node, change(GROUP, "g", "consumer.session.timeout.ms", "50000"))
    alter(node, change(CLIENT_METRICS, "m", "metrics", "*"))
    assert listed(node, 0) == [(CLIENT_METRICS, "m")]
    assert listed(node, 1) == [
        (GROUP, "g"), (CLIENT_METRICS, "m"), (LOGGER, "1"), (BROKER, "1"), (TOPIC, "t"),
    ]  # fmt: skip
    assert listed(node, 1, TOPIC, GROUP) == [(GROUP, "g"), (TOPIC, "t")]
    assert listed(node, 1, TOPIC, 3) == UNSUPPORTED_VERSION


def test_a_resource_without_configurations_left_is_not_listed(node: object) -> None:
    alter(node, change(CLIENT_METRICS, "m", "metrics", "*"))
    alter(node, change(CLIENT_METRICS, "m", "metrics", None, DELETE))
    assert listed(node, 0) == []


def test_answers_stand_in_the_order_of_the_request(
    make_node: Callable, logger: logging.Logger
) -> None:
    """Some are given by the broker itself (loggers, pools, another broker's), the others by the controller."""
    node = make_node()
    own = str(node.services.identity.node_id)
    asked = [
        change(BROKER, "99", "num.io.threads", "9"),
        change(GROUP, "g", "consumer.session.timeout.ms", "50000"),
        change(LOGGER, own, logger.name, "DEBUG"),
        change(BROKER, own, "num.io.threads", "1000"),
        change(BROKER, "", "num.io.threads", "9"),
        change(TOPIC, "none", "retention.ms", "1"),
    ]
    assert alter(node, *asked) == [
        (INVALID_REQUEST, "99"),
        (0, "g"),
        (0, own),
        (INVALID_REQUEST, own),
        (0, ""),
        (UNKNOWN_TOPIC_OR_PARTITION, "none"),
    ]
    request = whole.AlterConfigsRequest(
        resources=[
            whole.AlterConfigsResource(kind, name, [whole.AlterableConfig(name=key, value=value)])
            for kind, name, key, value in (
                (BROKER, "99", "num.io.threads", "9"),
                (GROUP, "g", "consumer.session.timeout.ms", "50000"),
                (BROKER, own, "num.io.threads", "1000"),
            )
        ]
    )
    answer = node.answer(alter_configs.handle, request, 1)
    assert [(each.error_code, each.resource_name) for each in answer.responses] == [
        (INVALID_REQUEST, "99"),
        (0, "g"),
        (INVALID_REQUEST, own),
    ]
