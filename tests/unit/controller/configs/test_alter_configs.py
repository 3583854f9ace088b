"""IncrementalAlterConfigs (KIP-339)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from millstream.controller.bootstrap import plan_activation
from millstream.controller.configs.alter_configs import (
    plan_alter_configs,
    plan_incremental_alter_configs,
)
from millstream.controller.controller_registration import plan_controller_registration
from millstream.controller.topics.create_topics import plan_create_topics
from millstream.errors import BrokerIdNotRegistered
from millstream.metadata.config_key import ConfigKey, UpdateMode, config_table
from millstream.metadata.config_validators import at_least
from millstream.metadata.features import default_levels, feature_records
from millstream.protocol.enums import AlterOperation, ConfigType
from millstream.protocol.generated import alter_configs as whole
from millstream.protocol.generated.broker_registration import Feature
from millstream.protocol.generated.controller_registration import ControllerRegistrationRequest
from millstream.protocol.generated.create_topics import CreatableTopic, CreateTopicsRequest
from millstream.protocol.generated.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)

SET, DELETE, APPEND, SUBTRACT = AlterOperation
TOPIC, BROKER, LOGGER, CLIENT_METRICS, GROUP = 2, 4, 8, 16, 32
UNICODE_CLASSES = "client_id=" + r"\pL" * 25 + ",client_source_port=" + r"\pL" * 25
UNKNOWN_TOPIC, INVALID_TOPIC, INVALID_CONFIG, INVALID_REQUEST = 3, 17, 40, 42
Change = tuple[str, int, str | None]


TABLE = config_table(
    [
        ConfigKey("log.retention.ms", ConfigType.LONG, None, at_least(-1), dynamic=UpdateMode.CLUSTER_WIDE),
        ConfigKey("min.insync.replicas", ConfigType.INT, 1, at_least(1), dynamic=UpdateMode.CLUSTER_WIDE),
        ConfigKey("log.cleanup.policy", ConfigType.LIST, ("delete",), dynamic=UpdateMode.CLUSTER_WIDE),
        ConfigKey("num.partitions", ConfigType.INT, 1, at_least(1)),
        ConfigKey("only.for.one", ConfigType.INT, 1, dynamic=UpdateMode.PER_BROKER),
        ConfigKey("group.share.max.delivery.count.limit", ConfigType.INT, 10),
        ConfigKey("group.share.delivery.count.limit", ConfigType.INT, 5),
        ConfigKey("group.consumer.min.session.timeout.ms", ConfigType.INT, 45_000),
    ]
)  # fmt: skip


@pytest.fixture
def world(make_world: Callable) -> object:
    made = make_world(
        broker_configs=TABLE,
        other_update_mode={"known.to.kafka": UpdateMode.READ_ONLY}.get,
    )
    made.start_brokers(1)
    request = CreateTopicsRequest(
        topics=[CreatableTopic(name="t", num_partitions=1, replication_factor=1)]
    )
    made.submit(plan_create_topics, request)
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
    return [r.error_code for r in world.submit(plan_incremental_alter_configs, request).responses]


def topic(world: object, *changes: Change) -> int:
    (code,) = alter(world, resource(TOPIC, "t", *changes))
    return code


def test_of_quick_changes_the_last_one_counts(world: object) -> None:
    for value in ("5", "7", "6"):
        assert topic(world, ("retention.ms", SET, value)) == 0
    assert world.image.topic_config("t") == {"retention.ms": "6"}


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
        alter(world, resource(0, "t", change), resource(LOGGER, "1", change))
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


def test_what_is_set_for_a_broker_again_is_written_again(world: object) -> None:
    """It may name a file that has another content now (KAFKA-14136). What is not named again is not."""
    first, second = ("log.retention.ms", SET, "5"), ("log.cleanup.policy", SET, "compact")
    alter(world, resource(BROKER, "1", first, second))
    count = len(world.log)
    assert alter(world, resource(BROKER, "1", first)) == [0]
    assert len(world.log) == count + 1
    assert dict(next(c for r, c in world.image.configs.items() if r.name == "1")) == {
        "log.retention.ms": "5",
        "log.cleanup.policy": "compact",
    }


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("1", ("num.partitions", SET, "2")),
        ("", ("only.for.one", SET, "2")),
        ("", ("known.to.kafka", SET, "2")),
        ("", ("log.retention.ms", SET, "abc")),
        ("-1", ("log.retention.ms", SET, "5")),
        ("x", ("log.retention.ms", SET, "5")),
    ],
)
def test_bad_broker_changes_are_refused(world: object, name: str, change: Change) -> None:
    assert alter(world, resource(BROKER, name, change)) == [INVALID_REQUEST]


def test_controllers_apart_are_configured_as_brokers_and_other_nodes_are_not_known(
    world: object,
) -> None:
    world.submit(plan_controller_registration, ControllerRegistrationRequest(controller_id=9))
    change = ("log.retention.ms", SET, "5")
    assert alter(world, resource(BROKER, "9", change), resource(BROKER, "8", change)) == [
        0,
        BrokerIdNotRegistered.code,
    ]


def test_eligible_leader_replicas_need_one_min_insync_replicas(make_world: Callable) -> None:
    levels = default_levels(30)
    world = make_world(read_bootstrap=lambda: feature_records(levels))
    world.submit(plan_activation, False)
    world.register(
        1,
        features=[
            Feature(name=n, min_supported_version=0, max_supported_version=99) for n in levels
        ],
    )
    assert alter(world, resource(BROKER, "", ("min.insync.replicas", SET, "2"))) == [0]
    assert alter(world, resource(BROKER, "", ("min.insync.replicas", DELETE, None))) == [
        INVALID_CONFIG
    ]
    assert alter(world, resource(BROKER, "1", ("min.insync.replicas", SET, "2"))) == [
        INVALID_CONFIG
    ]


def stored(world: object, kind: int, name: str) -> dict[str, str]:
    return {
        key: value
        for resource, config in world.image.configs.items()
        if (resource.type, resource.name) == (kind, name)
        for key, value in config.items()
    }


def test_a_key_that_nobody_knows_is_kept_for_brokers_but_not_for_topics(world: object) -> None:
    assert alter(world, resource(BROKER, "1", ("my.plugin.key", SET, "2"))) == [0]
    assert stored(world, BROKER, "1") == {"my.plugin.key": "2"}
    assert topic(world, ("my.plugin.key", SET, "2")) == INVALID_CONFIG


def test_a_fixed_key_may_be_deleted_but_not_set(world: object) -> None:
    assert alter(world, resource(BROKER, "1", ("num.partitions", SET, "3"))) == [INVALID_REQUEST]
    assert alter(world, resource(BROKER, "1", ("num.partitions", DELETE, None))) == [0]


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (("share.delivery.count.limit", SET, "10"), 0),
        (("share.delivery.count.limit", SET, "11"), INVALID_CONFIG),
        (("share.delivery.count.limit", SET, "1"), INVALID_CONFIG),
        (("consumer.session.timeout.ms", SET, "44999"), INVALID_CONFIG),
        (("consumer.session.timeout.ms", SET, "45000"), 0),
        (("share.auto.offset.reset", SET, "by_duration:PT1H"), 0),
        (("share.auto.offset.reset", SET, "by_duration:1h"), INVALID_CONFIG),
        (("share.isolation.level", SET, "READ_COMMITTED"), INVALID_CONFIG),
        (("nope", SET, "1"), INVALID_CONFIG),
        (("consumer.session.timeout.ms", APPEND, "1"), INVALID_CONFIG),
        (("consumer.session.timeout.ms", SET, None), INVALID_REQUEST),
        (("streams.session.timeout.ms", SET, "5000"), INVALID_CONFIG),  # its heartbeats are as far apart
    ],
)  # fmt: skip
def test_configurations_of_groups(world: object, change: Change, code: int) -> None:
    assert alter(world, resource(GROUP, "g", change)) == [code]
    assert stored(world, GROUP, "g") == ({change[0]: change[2]} if code == 0 else {})


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (("interval.ms", SET, "100"), 0),
        (("interval.ms", SET, "99"), INVALID_REQUEST),
        (("interval.ms", SET, "3600001"), INVALID_REQUEST),
        (("interval.ms", SET, "x"), INVALID_CONFIG),
        (("match", SET, "client_id=a.*,client_source_port=90"), 0),
        (("match", SET, "client_id"), INVALID_CONFIG),
        (("match", SET, "colour=red"), INVALID_CONFIG),
        (("match", SET, "client_id=["), INVALID_CONFIG),
        (("match", SET, UNICODE_CLASSES), 0),
        (("match", SET, UNICODE_CLASSES + r"\pL"), INVALID_CONFIG),
        (("metrics", SET, "*"), 0),
        (("metrics", APPEND, "x"), INVALID_CONFIG),
        (("nope", SET, "1"), INVALID_REQUEST),
    ],
)
def test_configurations_of_client_metrics(world: object, change: Change, code: int) -> None:
    assert alter(world, resource(CLIENT_METRICS, "m", change)) == [code]


@pytest.mark.parametrize("kind", [TOPIC, GROUP, CLIENT_METRICS])
def test_only_brokers_have_defaults_for_all(world: object, kind: int) -> None:
    change = ("retention.ms", SET, "5")
    assert alter(world, resource(kind, "", change)) == [INVALID_REQUEST]


def alter_whole(world: object, kind: int, name: str, **settings: str | None) -> int:
    configs = [
        whole.AlterableConfig(name=key.replace("_", "."), value=value)
        for key, value in settings.items()
    ]
    request = whole.AlterConfigsRequest(
        resources=[
            whole.AlterConfigsResource(resource_type=kind, resource_name=name, configs=configs)
        ]
    )
    return world.submit(plan_alter_configs, request).responses[0].error_code


def test_alter_configs_puts_back_what_it_does_not_name(world: object) -> None:
    assert alter_whole(world, TOPIC, "t", retention_ms="5", segment_ms="6") == 0
    assert stored(world, TOPIC, "t") == {"retention.ms": "5", "segment.ms": "6"}
    assert alter_whole(world, TOPIC, "t", segment_ms="7") == 0
    assert stored(world, TOPIC, "t") == {"segment.ms": "7"}


def test_alter_configs_refuses_missing_values_and_unknown_kinds(world: object) -> None:
    assert alter_whole(world, TOPIC, "t", retention_ms=None) == INVALID_REQUEST
    assert alter_whole(world, LOGGER, "1") == INVALID_REQUEST
    assert alter_whole(world, TOPIC, "t", retention_ms="x") == INVALID_CONFIG
    assert stored(world, TOPIC, "t") == {}


def test_an_empty_item_is_in_no_list(world: object) -> None:
    assert topic(world, ("cleanup.policy", APPEND, "")) == INVALID_CONFIG
    assert topic(world, ("cleanup.policy", SET, "")) == 0
    assert topic(world, ("cleanup.policy", APPEND, "compact")) == 0
    assert stored(world, TOPIC, "t") == {"cleanup.policy": "compact"}


def test_a_list_does_not_grow_beyond_what_a_record_holds(world: object) -> None:
    """Kafka's own answer; what was there stays, and other resources of the request are changed."""

    def replicas(first: int) -> str:
        return ",".join(f"{number}:1" for number in range(first, first + 4_000))

    key = "follower.replication.throttled.replicas"
    assert topic(world, (key, SET, replicas(0))) == 0
    before = dict(world.image.topic_config("t"))
    assert len(before[key]) == 26_889
    refused = resource(TOPIC, "t", (key, APPEND, replicas(4_000)))
    broker = resource(BROKER, "1", ("min.insync.replicas", SET, "2"))
    assert alter(world, refused, broker) == [INVALID_CONFIG, 0]
    assert world.image.topic_config("t") == before


def test_what_is_appended_twice_stands_once(world: object) -> None:
    key = "follower.replication.throttled.replicas"
    assert topic(world, (key, SET, "1:1,2:1")) == 0
    assert topic(world, (key, APPEND, "3:1,3:1,1:1")) == 0
    assert world.image.topic_config("t") == {key: "1:1,2:1,3:1"}
