"""The range assignor against targets that Kafka 4.3.1's own gave for the same groups."""

from __future__ import annotations

from millstream.coordinator.assignors.partition_assignor import AssignableGroup, AssignableMember
from millstream.coordinator.assignors.range_assignor import RangeAssignor
from millstream.model import Uuid

T1, T2, T3 = (Uuid(bytes([n]) * 16) for n in (1, 2, 3))
COUNTS = {T1: 3, T2: 2, T3: 7}


def assigned(
    members: dict[str, AssignableMember],
) -> dict[str, dict[Uuid, list[int]]]:
    targets = RangeAssignor().assign(AssignableGroup(members, COUNTS))
    return {
        member: {topic: sorted(partitions) for topic, partitions in target.items()}
        for member, target in targets.items()
    }


def test_the_first_members_get_the_partitions_that_are_left_over() -> None:
    everything = AssignableMember(frozenset({T1, T3}))
    assert assigned({"c": everything, "a": everything, "b": everything}) == {
        "a": {T1: [0], T3: [0, 1, 2]},
        "b": {T1: [1], T3: [3, 4]},
        "c": {T1: [2], T3: [5, 6]},
    }


def test_static_members_come_first_by_instance_id() -> None:
    topics = frozenset({T1})
    assert assigned(
        {
            "a": AssignableMember(topics),
            "y": AssignableMember(topics, group_instance_id="2"),
            "z": AssignableMember(topics, group_instance_id="1"),
        }
    ) == {"z": {T1: [0]}, "y": {T1: [1]}, "a": {T1: [2]}}


def test_members_beyond_the_partitions_get_nothing() -> None:
    topics = frozenset({T2})
    assert assigned({name: AssignableMember(topics) for name in "abc"}) == {
        "a": {T2: [0]},
        "b": {T2: [1]},
    }


def test_each_topic_is_shared_by_those_who_read_it() -> None:
    assert assigned(
        {
            "a": AssignableMember(frozenset({T1, T3})),
            "b": AssignableMember(frozenset({T1})),
            "c": AssignableMember(frozenset({T3})),
        }
    ) == {
        "a": {T1: [0, 1], T3: [0, 1, 2, 3]},
        "b": {T1: [2]},
        "c": {T3: [4, 5, 6]},
    }
