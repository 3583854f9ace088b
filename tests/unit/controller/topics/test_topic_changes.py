"""DeleteTopics and CreatePartitions."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from millstream.controller.topics.create_partitions import plan_create_partitions
from millstream.controller.topics.create_topics import plan_create_topics
from millstream.controller.topics.delete_topics import plan_delete_topics
from millstream.model import Uuid
from millstream.protocol.generated.create_partitions import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from millstream.protocol.generated.create_topics import CreatableTopic, CreateTopicsRequest
from millstream.protocol.generated.delete_topics import DeleteTopicsRequest, DeleteTopicState

UNKNOWN_TOPIC, UNKNOWN_TOPIC_ID, DELETION_DISABLED = 3, 100, 73
INVALID_PARTITIONS, INVALID_ASSIGNMENT, INVALID_REQUEST, POLICY_VIOLATION = 37, 39, 42, 44


@pytest.fixture
def world(make_world: Callable) -> object:
    """Topics a (2 partitions, 1 replica) and b (1 partition, 2 replicas) on two brokers."""
    made = make_world()
    made.start_brokers(1, 2)
    topics = [
        CreatableTopic(name="a", num_partitions=2, replication_factor=1),
        CreatableTopic(name="b", num_partitions=1, replication_factor=2),
    ]
    made.submit(plan_create_topics, CreateTopicsRequest(topics=topics))
    return made


def delete(
    world: object, *entries: DeleteTopicState, names: tuple[str, ...] = ()
) -> list[tuple[str | None, int]]:
    request = DeleteTopicsRequest(topics=list(entries), topic_names=list(names))
    response = world.submit(plan_delete_topics, request)
    return [(result.name, result.error_code) for result in response.responses]


def grow(
    world: object, *topics: CreatePartitionsTopic, validate_only: bool = False
) -> list[tuple[str, int]]:
    request = CreatePartitionsRequest(topics=list(topics), validate_only=validate_only)
    response = world.submit(plan_create_partitions, request)
    return [(result.name, result.error_code) for result in response.results]


def to(name: str, count: int, *assignments: list[int]) -> CreatePartitionsTopic:
    given = [CreatePartitionsAssignment(broker_ids=brokers) for brokers in assignments]
    return CreatePartitionsTopic(name=name, count=count, assignments=given or None)


def test_a_topic_is_deleted_by_name_in_old_and_new_versions(world: object) -> None:
    assert delete(world, names=("a",)) == [("a", 0)]
    assert delete(world, DeleteTopicState(name="b")) == [("b", 0)]
    assert len(world.image.topics) == 0


def test_a_deletion_waits_for_no_broker_and_its_name_is_free_at_once(world: object) -> None:
    """A broker that is gone keeps directories of a topic id that nobody has any more."""
    former = world.image.topic("b").topic_id
    world.heartbeat(2, want_fence=True)
    assert world.image.brokers[2].fenced
    before = len(world.log)
    assert delete(world, names=("b",)) == [("b", 0)]
    assert world.written(before) == ["RemoveTopicRecord"]
    again = CreatableTopic(name="b", num_partitions=1, replication_factor=1)
    world.submit(plan_create_topics, CreateTopicsRequest(topics=[again]))
    assert world.image.topic("b").topic_id != former


def test_a_topic_is_deleted_by_id_and_answered_with_its_name(world: object) -> None:
    topic_id = world.image.topic("a").topic_id
    assert delete(world, DeleteTopicState(name=None, topic_id=topic_id)) == [("a", 0)]
    assert [topic.name for topic in world.image.topics] == ["b"]


def test_unknown_topics_are_named_in_the_answer(world: object) -> None:
    unknown_id = Uuid(b"u" * 16)
    assert delete(
        world, DeleteTopicState(name="x"), DeleteTopicState(name=None, topic_id=unknown_id)
    ) == [
        ("x", UNKNOWN_TOPIC),
        (None, UNKNOWN_TOPIC_ID),
    ]


def test_a_topic_named_twice_is_not_deleted(world: object) -> None:
    topic_id = world.image.topic("a").topic_id
    assert delete(world, names=("a", "a", "b")) == [("a", INVALID_REQUEST), ("b", 0)]
    assert delete(
        world, DeleteTopicState(name="a"), DeleteTopicState(name=None, topic_id=topic_id)
    ) == [("a", INVALID_REQUEST)]
    assert "a" in world.image.topics


def test_an_entry_has_a_name_or_an_id(world: object) -> None:
    topic_id = world.image.topic("a").topic_id
    both, neither = DeleteTopicState(name="a", topic_id=topic_id), DeleteTopicState(name=None)
    assert delete(world, both, neither) == [("a", INVALID_REQUEST), (None, INVALID_REQUEST)]


def test_deletion_can_be_switched_off(make_world: Callable) -> None:
    world = make_world(delete_topic_enable=False)
    world.start_brokers(1)
    assert delete(world, names=("a",)) == [("a", DELETION_DISABLED)]


def test_a_topic_grows_with_its_replication_factor(world: object) -> None:
    assert grow(world, to("b", 4)) == [("b", 0)]
    partitions = world.image.topic("b").partitions
    assert [p.partition for p in partitions] == [0, 1, 2, 3]
    assert {len(p.replicas) for p in partitions} == {2}


@pytest.mark.parametrize("count", [2, 1, 0, -1])
def test_a_topic_never_shrinks(world: object, count: int) -> None:
    assert grow(world, to("a", count)) == [("a", INVALID_PARTITIONS)]


def test_new_partitions_may_be_assigned_by_hand(world: object) -> None:
    assert grow(world, to("a", 4, [2], [1])) == [("a", 0)]
    assert [p.replicas for p in world.image.topic("a").partitions[2:]] == [(2,), (1,)]


@pytest.mark.parametrize("assignments", [([1], [1]), ([9],), ([1, 1],), ([],), ([1, 2],)])
def test_bad_assignments_are_refused(world: object, assignments: tuple[list[int], ...]) -> None:
    assert grow(world, to("a", 3, *assignments)) == [("a", INVALID_ASSIGNMENT)]


def test_an_empty_list_of_assignments_is_a_wrong_count(world: object) -> None:
    request = CreatePartitionsTopic(name="a", count=3, assignments=[])
    assert grow(world, request) == [("a", INVALID_ASSIGNMENT)]


def test_other_refusals(world: object) -> None:
    assert grow(world, to("x", 5), to("a", 3), to("a", 4)) == [
        ("x", UNKNOWN_TOPIC),
        ("a", INVALID_REQUEST),
    ]
    assert grow(world, to("a", 20_000)) == [("a", POLICY_VIOLATION)]


def test_validate_only_writes_nothing(world: object) -> None:
    count = len(world.log)
    assert grow(world, to("a", 5), validate_only=True) == [("a", 0)]
    assert len(world.log) == count
