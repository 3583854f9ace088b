"""IncrementalAlterConfigs (KIP-339)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from millstream.controller.alter_configs import AlterOperation
from millstream.controller.controller import Controller
from millstream.controller.settings import KAFKA_4_3_FEATURES
from millstream.protocol.generated.broker_registration import Feature
from millstream.protocol.generated.create_topics import CreatableTopic, CreateTopicsRequest
from millstream.protocol.generated.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)

SET, DELETE, APPEND, SUBTRACT = AlterOperation
TOPIC, BROKER, GROUP = 2, 4, 32
UNKNOWN_TOPIC, INVALID_TOPIC, INVALID_CONFIG, INVALID_REQUEST = 3, 17, 40, 42
Change = tuple[str, int, str | None]


@pytest.fixture
def world(make_world: Callable) -> object:
    made = make_world()
    made.start_brokers(1)
    request = CreateTopicsRequest(
        topics=[CreatableTopic(name="t", num_partitions=1, replication_factor=1)]
    )
    made.submit(Controller.handle_create_topics, request)
    return made


def resource(kind: int, name: str, *changes: Change) -> AlterConfigsResource:
    configs = [
        AlterableConfig(name=key, config_operation=op, value=value) for key, op, value in changes
    ]
    return AlterConfigsResource(resource_type=kind, resource_name=name, configs=configs)


def alter(
    world: object, *resources: AlterConfigsResource, validate_only: bool = False
) -> list[int]:
    request = IncrementalAlterConfigsRequest(resources=list(resources), validate_only=validate_only)
    return [
        r.error_code
        for r in world.submit(Controller.handle_incremental_alter_configs, request).responses
    ]


def topic(world: object, *changes: Change) -> int:
    (code,) = alter(world, resource(TOPIC, "t", *changes))
    return code


def test_set_and_delete(world: object) -> None:
    assert topic(world, ("retention.ms", SET, "5"), ("segment.ms", SET, "6")) == 0
    assert world.image.topic_config("t") == {"retention.ms": "5", "segment.ms": "6"}
    assert topic(world, ("retention.ms", DELETE, None)) == 0
    assert world.image.topic_config("t") == {"segment.ms": "6"}


def test_what_stays_the_same_writes_no_record(world: object) -> None:
    topic(world, ("retention.ms", SET, "5"))
    count = len(world.log)
    assert (
        topic(
            world, ("retention.ms", SET, "5"), ("segment.ms", DELETE, None), ("nope", DELETE, None)
        )
        == 0
    )
    assert len(world.log) == count


def test_append_and_subtract_start_from_the_value_that_counts(world: object) -> None:
    assert topic(world, ("cleanup.policy", APPEND, "compact")) == 0
    assert world.image.topic_config("t") == {"cleanup.policy": "delete,compact"}
    assert topic(world, ("cleanup.policy", APPEND, "compact")) == 0
    assert topic(world, ("cleanup.policy", SUBTRACT, "delete")) == 0
    assert world.image.topic_config("t") == {"cleanup.policy": "compact"}
    assert topic(world, ("cleanup.policy", SUBTRACT, "compact")) == 0
    assert world.image.topic_config("t") == {"cleanup.policy": ""}


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (("retention.ms", APPEND, "1"), INVALID_CONFIG),
        (("retention.ms", 9, "1"), INVALID_REQUEST),
        (("retention.ms", SET, None), INVALID_REQUEST),
        (("cleanup.policy", APPEND, None), INVALID_REQUEST),
        (("nope", SET, "1"), INVALID_CONFIG),
        (("retention.ms", SET, "abc"), INVALID_CONFIG),
        (("retention.ms", SET, "-9"), INVALID_CONFIG),
    ],
)
def test_bad_changes_are_refused(world: object, change: Change, code: int) -> None:
    assert topic(world, change) == code


def test_a_resource_is_changed_as_a_whole_or_not_at_all(world: object) -> None:
    assert topic(world, ("retention.ms", SET, "5"), ("segment.ms", SET, "x")) == INVALID_CONFIG
    assert (
        topic(world, ("min.compaction.lag.ms", SET, "10"), ("max.compaction.lag.ms", SET, "5"))
        == INVALID_CONFIG
    )
    assert (
        topic(world, ("retention.ms", SET, "5"), ("retention.ms", DELETE, None)) == INVALID_REQUEST
    )
    assert world.image.topic_config("t") == {}


def test_resources_must_exist_and_appear_once(world: object) -> None:
    change = ("retention.ms", SET, "5")
    assert alter(world, resource(TOPIC, "x", change), resource(TOPIC, "a b", change)) == [
        UNKNOWN_TOPIC,
        INVALID_TOPIC,
    ]
    assert (
        alter(world, resource(TOPIC, "t", change), resource(TOPIC, "t", change))
        == [INVALID_REQUEST] * 2
    )
    assert (
        alter(world, resource(0, "t", change), resource(GROUP, "g", change))
        == [INVALID_REQUEST] * 2
    )


def test_validate_only_writes_nothing(world: object) -> None:
    assert alter(world, resource(TOPIC, "t", ("retention.ms", SET, "5")), validate_only=True) == [0]
    assert world.image.topic_config("t") == {}


def test_broker_defaults_and_one_broker_can_be_changed(world: object) -> None:
    assert alter(world, resource(BROKER, "", ("log.retention.ms", SET, "5"))) == [0]
    assert alter(world, resource(BROKER, "1", ("log.cleanup.policy", APPEND, "compact"))) == [0]
    assert world.image.broker_default_config() == {"log.retention.ms": "5"}
    assert [dict(c) for r, c in world.image.configs.items() if r.name == "1"] == [
        {"log.cleanup.policy": "delete,compact"}
    ]


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("1", ("num.partitions", SET, "2")),
        ("", ("what.ever", SET, "2")),
        ("", ("log.retention.ms", SET, "abc")),
        ("9", ("log.retention.ms", SET, "5")),
        ("x", ("log.retention.ms", SET, "5")),
    ],
)
def test_bad_broker_changes_are_refused(world: object, name: str, change: Change) -> None:
    assert alter(world, resource(BROKER, name, change)) == [INVALID_REQUEST]


def test_eligible_leader_replicas_need_one_min_insync_replicas(make_world: Callable) -> None:
    world = make_world(bootstrap_features=KAFKA_4_3_FEATURES)
    world.submit(Controller.handle_activation, False)
    world.register(
        1,
        features=[
            Feature(name=n, min_supported_version=0, max_supported_version=99)
            for n in KAFKA_4_3_FEATURES
        ],
    )
    assert alter(world, resource(BROKER, "", ("min.insync.replicas", SET, "2"))) == [0]
    assert alter(world, resource(BROKER, "", ("min.insync.replicas", DELETE, None))) == [
        INVALID_CONFIG
    ]
    assert alter(world, resource(BROKER, "1", ("min.insync.replicas", SET, "2"))) == [
        INVALID_CONFIG
    ]
