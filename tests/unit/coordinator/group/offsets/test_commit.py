"""OffsetCommit: who may commit, and what is kept."""

from __future__ import annotations

import pytest

from millstream.errors import (
    CoordinatorNotAvailable,
    FencedInstanceId,
    GroupIdNotFound,
    IllegalGeneration,
    NotEnoughReplicas,
    RebalanceInProgress,
    UnknownMemberId,
)
from millstream.model import Uuid
from tests.support.coordinators.classic_group import SimGroup
from tests.support.coordinators.coordinator import START_WALL_MS

T0 = ("t", 0)


def committed(group: SimGroup, topic: str = "t", partition: int = 0) -> tuple[int, str | None]:
    response = group.answer(group.fetch({topic: [partition]}))
    (answer,) = response.groups[0].topics[0].partitions
    return answer.committed_offset, answer.metadata


def test_a_group_that_only_stores_offsets_needs_no_members(group: SimGroup) -> None:
    response = group.answer(group.commit({T0: 42}, metadata="mine"))
    assert response.topics[0].partitions[0].error_code == 0
    assert committed(group) == (42, "mine")


def test_what_is_stored(group: SimGroup) -> None:
    topic_id = Uuid(bytes(range(16)))
    group.commit({T0: 42}, metadata="mine", topic_id=topic_id)
    stored = group.coordinator.shard.offsets.find("group", "t", 0)
    assert stored is not None
    value = stored.value
    assert (value.offset, value.leader_epoch, value.metadata, value.topic_id) == (
        42,
        -1,
        "mine",
        topic_id,
    )
    assert (value.commit_timestamp, value.expire_timestamp) == (START_WALL_MS, -1)


def test_a_missing_metadata_string_is_stored_as_empty(group: SimGroup) -> None:
    group.commit({T0: 1}, metadata=None)
    assert committed(group) == (1, "")


def test_a_member_commits_with_its_generation(group: SimGroup) -> None:
    (member,) = group.form()
    group.answer(group.commit({T0: 7}, member_id=member, generation=1))
    assert committed(group) == (7, "")


def test_the_older_generation_may_commit_while_members_join(group: SimGroup) -> None:
    leader, follower = group.form(2)
    group.join(leader)
    group.answer(group.commit({T0: 7}, member_id=follower, generation=2))
    assert committed(group) == (7, "")


def test_while_the_assignment_is_missing_nobody_may_commit(group: SimGroup) -> None:
    member, _ = group.enter()
    with pytest.raises(RebalanceInProgress):
        group.answer(group.commit({T0: 7}, member_id=member, generation=1))
    assert committed(group) == (-1, "")


def test_refusals_of_a_group_with_members(group: SimGroup) -> None:
    (member,) = group.form()
    with pytest.raises(UnknownMemberId):
        group.answer(group.commit({T0: 1}))
    with pytest.raises(UnknownMemberId):
        group.answer(group.commit({T0: 1}, member_id="made up", generation=1))
    with pytest.raises(IllegalGeneration):
        group.answer(group.commit({T0: 1}, member_id=member, generation=0))
    with pytest.raises(IllegalGeneration):
        group.answer(group.commit({T0: 1}, member_id=member, generation=-1))
    with pytest.raises(UnknownMemberId):
        group.answer(group.commit({T0: 1}, member_id=member, generation=1, instance_id="i"))


def test_a_fenced_static_member_may_not_commit(group: SimGroup) -> None:
    old = group.answer(group.join(instance_id="i")).member_id
    group.sync(old, 1, instance_id="i")
    group.join(instance_id="i")
    with pytest.raises(FencedInstanceId):
        group.answer(group.commit({T0: 1}, member_id=old, generation=1, instance_id="i"))


def test_a_generation_of_an_unknown_group_is_refused_by_version(group: SimGroup) -> None:
    with pytest.raises(GroupIdNotFound):
        group.answer(group.commit({T0: 1}, generation=1, version=9))
    with pytest.raises(IllegalGeneration):
        group.answer(group.commit({T0: 1}, generation=1, version=8))


def test_an_administrator_may_reset_an_empty_group(group: SimGroup) -> None:
    (member,) = group.form()
    group.leave((member, None))
    group.answer(group.commit({T0: 1}))
    assert committed(group) == (1, "")


def test_metadata_that_is_too_long_is_refused_for_its_partition(group: SimGroup) -> None:
    response = group.answer(group.commit({T0: 1}, metadata="x" * 4097))
    assert response.topics[0].partitions[0].error_code == 12
    assert group.coordinator.log == []
    group.answer(group.commit({T0: 1}, metadata="x" * 4096))
    assert committed(group) == (1, "x" * 4096)


def test_a_commit_keeps_the_session(group: SimGroup) -> None:
    (member,) = group.form()
    for _ in range(3):
        group.coordinator.pass_time(9_999)
        group.answer(group.commit({T0: 1}, member_id=member, generation=1))
    assert list(group.state.members) == [member]


def test_the_old_value_stays_when_the_new_one_cannot_be_stored(group: SimGroup) -> None:
    group.commit({T0: 1})
    group.coordinator.next_append_error = NotEnoughReplicas()
    with pytest.raises(CoordinatorNotAvailable):
        group.answer(group.commit({T0: 2}))
    assert committed(group) == (1, "")


def test_a_commit_is_answered_when_it_is_safe(group: SimGroup) -> None:
    group.coordinator.commits_by_itself = False
    token = group.commit({T0: 1})
    assert group.answer(token) is None
    group.coordinator.commit()
    assert group.answer(token).topics[0].partitions[0].error_code == 0


def test_a_commit_that_is_not_safe_in_time_fails(group: SimGroup) -> None:
    group.coordinator.commits_by_itself = False
    token = group.commit({T0: 1})
    group.coordinator.pass_time(5_000)
    with pytest.raises(CoordinatorNotAvailable):
        group.answer(token)


def test_a_retention_time_is_stored_as_the_time_of_expiry(group: SimGroup) -> None:
    group.commit({T0: 1}, version=4, retention_time_ms=1_000)
    stored = group.coordinator.shard.offsets.find("group", "t", 0)
    assert stored is not None
    assert stored.value.expire_timestamp == START_WALL_MS + 1_000
    assert group.coordinator.log[0][1][:2] == b"\x00\x01"
