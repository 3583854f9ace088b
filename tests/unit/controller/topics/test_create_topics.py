"""CreateTopics: one test a rule, error codes as Kafka 4.3.1 answers."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from millstream.controller.bootstrap import plan_activation
from millstream.controller.topics.create_topics import plan_create_topics
from millstream.errors import PolicyViolation
from millstream.protocol.generated.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreatableTopicResult,
    CreateTopicsRequest,
)
from millstream.protocol.generated.metadata_records import (
    BrokerRegistrationChangeRecord,
    ConfigRecord,
    PartitionRecord,
    TopicRecord,
)

INVALID_TOPIC, ALREADY_EXISTS, INVALID_PARTITIONS, INVALID_REPLICATION_FACTOR = 17, 36, 37, 38
INVALID_ASSIGNMENT, INVALID_CONFIG, INVALID_REQUEST = 39, 40, 42


def topic(name: str, partitions: int = 1, factor: int = 1, **configs: str | None) -> CreatableTopic:
    return CreatableTopic(
        name=name,
        num_partitions=partitions,
        replication_factor=factor,
        configs=[
            CreatableTopicConfig(name=key.replace("_", "."), value=value)
            for key, value in configs.items()
        ],
    )


def assigned(
    name: str, assignments: list[tuple[int, list[int]]], partitions: int = -1, factor: int = -1
) -> CreatableTopic:
    made = topic(name, partitions, factor)
    made.assignments = [
        CreatableReplicaAssignment(partition_index=n, broker_ids=b) for n, b in assignments
    ]
    return made


def create(
    world: object, *topics: CreatableTopic, validate_only: bool = False
) -> list[CreatableTopicResult]:
    request = CreateTopicsRequest(topics=list(topics), validate_only=validate_only)
    return world.submit(plan_create_topics, request).topics


def codes(world: object, *topics: CreatableTopic) -> list[tuple[str, int]]:
    return [(result.name, result.error_code) for result in create(world, *topics)]


def test_a_topic_is_its_record_its_configs_and_its_partitions(world: object) -> None:
    count = len(world.log)
    (result,) = create(world, topic("t", 2, 1, retention_ms="5"))
    directory = world.image.brokers[1].log_directories[0]
    partitions = [
        PartitionRecord(
            partition_id=n, topic_id=result.topic_id, replicas=[1], isr=[1], leader=1,
            leader_epoch=0, partition_epoch=0, directories=[directory],
        )
        for n in range(2)
    ]  # fmt: skip
    assert [record for _, record in world.log[count:]] == [
        TopicRecord(name="t", topic_id=result.topic_id),
        ConfigRecord(resource_type=2, resource_name="t", name="retention.ms", value="5"),
        *partitions,
    ]
    assert (
        result.error_code,
        result.error_message,
        result.num_partitions,
        result.replication_factor,
    ) == (0, None, 2, 1)
    assert world.image.topic("t").topic_id == result.topic_id


def test_minus_one_takes_the_defaults(make_world: Callable) -> None:
    world = make_world(num_partitions=3)
    world.start_brokers(1)
    (result,) = create(world, topic("t", -1, -1))
    assert (result.num_partitions, result.replication_factor) == (3, 1)


def test_the_answer_lists_the_33_configs_with_their_sources(world: object) -> None:
    (result,) = create(world, topic("t", 1, 1, retention_ms=" 5 "))
    configs = {config.name: (config.value, config.config_source) for config in result.configs}
    assert len(configs) == 33
    assert list(configs) == sorted(configs)
    assert configs["retention.ms"] == (" 5 ", 1)  # as it was given
    assert configs["segment.ms"] == ("604800000", 5)
    (internal,) = create(world, topic("u", 1, 1, internal_segment_bytes="9"))
    assert len(internal.configs) == 34


def test_broker_settings_show_through_in_the_answer(make_world: Callable) -> None:
    world = make_world(static={"log.retention.ms": "77"})
    world.start_brokers(1)
    (result,) = create(world, topic("t"))
    assert ("retention.ms", "77", 4) in [(c.name, c.value, c.config_source) for c in result.configs]


def test_validate_only_answers_but_writes_nothing(world: object) -> None:
    count = len(world.log)
    (result,) = create(world, topic("t", 3), validate_only=True)
    assert (result.error_code, result.num_partitions) == (0, 3)
    assert len(world.log) == count


def test_one_bad_topic_does_not_touch_the_others(world: object) -> None:
    assert codes(world, topic("a"), topic("b", 0), topic("c")) == [
        ("a", 0),
        ("b", INVALID_PARTITIONS),
        ("c", 0),
    ]
    assert set(world.image.topics.by_name) == {"a", "c"}


def test_a_name_given_twice_is_refused_with_one_result(world: object) -> None:
    assert codes(world, topic("d"), topic("d"), topic("e")) == [("d", INVALID_REQUEST), ("e", 0)]


@pytest.mark.parametrize("name", ["", ".", "..", "a b", "a/b", "é", "x" * 250])
def test_an_illegal_name_is_refused(world: object, name: str) -> None:
    assert codes(world, topic(name)) == [(name, INVALID_TOPIC)]


def test_the_longest_name_is_legal(world: object) -> None:
    assert codes(world, topic("x" * 249)) == [("x" * 249, 0)]


def test_a_topic_exists_once(world: object) -> None:
    assert codes(world, topic("t")) == [("t", 0)]
    assert codes(world, topic("t")) == [("t", ALREADY_EXISTS)]


def test_names_that_differ_in_dot_and_underscore_collide(world: object) -> None:
    assert codes(world, topic("my.topic")) == [("my.topic", 0)]
    assert codes(world, topic("my_topic")) == [("my_topic", INVALID_TOPIC)]
    assert codes(world, topic("u.v"), topic("u_v")) == [("u.v", 0), ("u_v", 0)]  # as in Kafka


def test_the_metadata_topic_cannot_be_created(world: object) -> None:
    assert codes(world, topic("__cluster_metadata")) == [("__cluster_metadata", INVALID_REQUEST)]
    assert codes(world, topic("__consumer_offsets")) == [("__consumer_offsets", 0)]


@pytest.mark.parametrize(
    ("partitions", "factor", "code"),
    [
        (0, 1, INVALID_PARTITIONS),
        (-2, 1, INVALID_PARTITIONS),
        (1, 0, INVALID_REPLICATION_FACTOR),
        (1, -2, INVALID_REPLICATION_FACTOR),
        (1, 2, INVALID_REPLICATION_FACTOR),
        (1, 32767, INVALID_REPLICATION_FACTOR),
    ],
)
def test_counts_outside_their_limits_are_refused(
    world: object, partitions: int, factor: int, code: int
) -> None:
    assert codes(world, topic("t", partitions, factor)) == [("t", code)]


@pytest.mark.parametrize(
    "configs",
    [
        {"retention_mss": "1"},
        {"retention_ms": "abc"},
        {"retention_ms": "-5"},
        {"retention_ms": None},
        {"cleanup_policy": "Delete"},
        {"min_compaction_lag_ms": "10", "max_compaction_lag_ms": "5"},
        {"remote_storage_enable": "true"},
    ],
)
def test_bad_configs_are_refused(world: object, configs: dict[str, str | None]) -> None:
    assert codes(world, topic("t", 1, 1, **configs)) == [("t", INVALID_CONFIG)]


def test_replicas_may_be_assigned_by_hand(make_world: Callable) -> None:
    world = make_world()
    world.start_brokers(1, 2, 3)
    assert codes(world, assigned("t", [(1, [2, 3]), (0, [3, 1])])) == [("t", 0)]
    partitions = world.image.topic("t").partitions
    assert [(p.replicas, p.isr, p.leader) for p in partitions] == [
        ((3, 1), (3, 1), 3),
        ((2, 3), (2, 3), 2),
    ]


@pytest.mark.parametrize(
    ("assignments", "partitions", "factor", "code"),
    [
        ([(0, [1])], 1, -1, INVALID_REQUEST),
        ([(0, [1])], -1, 1, INVALID_REQUEST),
        ([(0, [1]), (2, [1])], -1, -1, INVALID_ASSIGNMENT),
        ([(0, [1]), (0, [1])], -1, -1, INVALID_ASSIGNMENT),
        ([(-1, [1])], -1, -1, INVALID_ASSIGNMENT),
        ([(0, [9])], -1, -1, INVALID_ASSIGNMENT),
        ([(0, [1, 1])], -1, -1, INVALID_ASSIGNMENT),
        ([(0, [])], -1, -1, INVALID_ASSIGNMENT),
        ([(0, [1]), (1, [1, 2])], -1, -1, INVALID_ASSIGNMENT),
    ],
)
def test_bad_assignments_are_refused(
    make_world: Callable,
    assignments: list[tuple[int, list[int]]],
    partitions: int,
    factor: int,
    code: int,
) -> None:
    world = make_world()
    world.start_brokers(1, 2)
    assert codes(world, assigned("t", assignments, partitions, factor)) == [("t", code)]


def test_a_fenced_broker_is_no_leader_and_in_no_isr(make_world: Callable) -> None:
    world = make_world()
    world.start_brokers(1)
    world.register(2)
    assert codes(world, assigned("t", [(0, [2, 1])])) == [("t", 0)]
    partition = world.image.partition("t", 0)
    assert (partition.isr, partition.leader) == ((1,), 1)
    assert codes(world, assigned("u", [(0, [2])])) == [("u", INVALID_ASSIGNMENT)]


def test_a_broker_with_several_directories_chooses_itself(make_world: Callable) -> None:
    world = make_world()
    world.submit(plan_activation, False)
    world.register(1, directories=2)
    world.heartbeat(1)
    create(world, topic("t"))
    assert world.image.partition("t", 0).directories == (bytes(15) + b"\x01",)


def test_a_request_for_too_many_partitions_is_refused_as_a_whole(world: object) -> None:
    with pytest.raises(PolicyViolation, match="split it"):
        create(world, topic("a", 6000), topic("b", 6000))


def test_a_broker_whose_directories_are_all_cordoned_gets_no_new_replica(
    make_world: Callable,
) -> None:
    world = make_world()
    world.start_brokers(1, 2)
    registered = world.image.brokers[2]
    cordon = BrokerRegistrationChangeRecord(
        broker_id=2,
        broker_epoch=registered.broker_epoch,
        cordoned_log_dirs=list(registered.log_directories),
    )
    offset = world.next_offset
    world.log.append((offset, cordon))
    world.controller.replay(offset, cordon)
    assert codes(world, topic("two", factor=2)) == [("two", INVALID_REPLICATION_FACTOR)]
    assert codes(world, topic("one", partitions=20)) == [("one", 0)]
    assert {p.leader for p in world.image.topic("one").partitions} == {1}


def test_too_few_brokers_are_told_in_the_words_of_kafka(world: object) -> None:
    (refused,) = create(world, topic("three", factor=3))
    assert (refused.error_code, refused.error_message) == (
        INVALID_REPLICATION_FACTOR,
        (
            "Unable to replicate the partition 3 time(s): The target replication factor of 3 cannot be reached because only 1 broker(s) "
            "are registered or some brokers have all their log directories cordoned."
        ),
    )


def test_nobody_who_is_up_is_told_first(world: object) -> None:
    world.heartbeat(1, want_fence=True)
    (refused,) = create(world, topic("three", factor=3))
    assert (refused.error_code, refused.error_message) == (
        INVALID_REPLICATION_FACTOR,
        "Unable to replicate the partition 3 time(s): All brokers are currently fenced, or have all their log directories cordoned.",
    )
    (by_hand,) = create(world, assigned("mine", [(0, [1])]))
    assert (by_hand.error_code, by_hand.error_message) == (
        INVALID_ASSIGNMENT,
        "All brokers specified in the manual partition assignment for partition 0 are fenced or in controlled shutdown.",
    )


def test_a_broker_that_is_about_to_stop_gets_no_replica(make_world: Callable) -> None:
    world = make_world()
    world.start_brokers(1, 2, 3)
    assert codes(world, topic("before", 6, factor=3)) == [("before", 0)]
    world.heartbeat(3, want_shut_down=True)
    assert world.image.brokers[3].in_controlled_shutdown
    assert codes(world, topic("three", factor=3)) == [("three", INVALID_REPLICATION_FACTOR)]
    assert codes(world, topic("two", 6, factor=2)) == [("two", 0)]
    assert {r for p in world.image.topic("two").partitions for r in p.replicas} == {1, 2}


def test_a_broker_that_is_gone_gets_replicas_that_are_out_of_sync(make_world: Callable) -> None:
    world = make_world()
    world.start_brokers(1, 2, 3)
    world.heartbeat(3, want_fence=True)
    assert codes(world, topic("three", 9, factor=3)) == [("three", 0)]
    for made in world.image.topic("three").partitions:
        assert (set(made.replicas), set(made.isr)) == ({1, 2, 3}, {1, 2})
        assert made.leader in {1, 2}


def test_the_default_replication_factor_is_of_the_controller(make_world: Callable) -> None:
    world = make_world(default_replication_factor=2)
    world.start_brokers(1)
    (refused,) = create(world, topic("t", factor=-1))
    assert refused.error_message.startswith("Unable to replicate the partition 2 time(s): ")
    world.register(2)
    world.heartbeat(2)
    (made,) = create(world, topic("t", factor=-1))
    assert (made.error_code, made.replication_factor) == (0, 2)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (topic("t", partitions=0), "Number of partitions was set to an invalid non-positive value."),
        (topic("t", factor=0), "Replication factor must be larger than 0, or -1 to use the default value."),
        (assigned("t", [(0, [1]), (0, [1])]), "Found multiple manual partition assignments for partition 0"),
        (assigned("t", [(1, [1])]), "partitions should be a consecutive 0-based integer sequence"),
        (
            assigned("t", [(0, [1])], partitions=1, factor=1),
            "A manual partition assignment was specified, but replication factor was not set to -1.",
        ),
        (assigned("t", [(0, [])]), "The manual partition assignment includes an empty replica list."),
        (assigned("t", [(0, [7, 7])]), "The manual partition assignment includes broker 7, but no such broker is registered."),
    ],
)  # fmt: skip
def test_what_cannot_be_is_told_in_the_words_of_kafka(
    world: object, asked: CreatableTopic, message: str
) -> None:
    (refused,) = create(world, asked)
    assert refused.error_message == message
