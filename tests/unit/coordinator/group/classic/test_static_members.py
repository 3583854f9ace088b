"""Static membership (KIP-345): a restarted process takes its own place, its predecessor is fenced."""

from __future__ import annotations

import pytest

from millstream.errors import (
    FencedInstanceId,
    NotEnoughReplicas,
    RebalanceInProgress,
    UnknownMemberId,
)
from millstream.protocol.enums import GroupState
from millstream.protocol.generated.leave_group import MemberResponse
from tests.support.coordinators.classic_group import JoinSettings, SimGroup

FENCED_INSTANCE_ID = 82


def stable_static(group: SimGroup, *instance_ids: str) -> list[str]:
    """A stable group of static members; the leader first."""
    tokens = [group.join(instance_id=instance_ids[0])]
    leader = group.answer(tokens[0]).member_id
    for instance_id in instance_ids[1:]:
        tokens.append(group.join(instance_id=instance_id))
        group.join(leader, instance_id=instance_ids[0])
        for known, other in zip(list(group.state.members)[1:-1], instance_ids[1:], strict=False):
            group.join(known, instance_id=other)
    members = list(group.state.members)
    assignments = {m: f"for {i}".encode() for i, m in zip(instance_ids, members, strict=True)}
    for member, instance_id in zip(members, instance_ids, strict=True):
        group.sync(member, group.state.generation, assignments, instance_id=instance_id)
    return members


def test_a_static_member_is_named_after_its_instance_and_joins_at_once(group: SimGroup) -> None:
    response = group.answer(group.join(instance_id="i1"))
    assert response.error_code == 0
    assert response.member_id.startswith("i1-")


def test_a_restarted_follower_keeps_its_assignment_without_a_rebalance(group: SimGroup) -> None:
    leader, old = stable_static(group, "i1", "i2")
    response = group.answer(group.join(instance_id="i2"))
    assert (response.generation_id, response.leader, response.members) == (2, leader, [])
    assert response.skip_assignment is False
    assert response.member_id not in ("", old)
    synced = group.answer(group.sync(response.member_id, 2, instance_id="i2"))
    assert synced.assignment == b"for i2"
    assert group.state.state is GroupState.STABLE


def test_from_version_9_on_a_restarted_leader_skips_the_assignment(group: SimGroup) -> None:
    """KIP-814: it leads, sees the members, but must not assign."""
    stable_static(group, "i1", "i2")
    response = group.answer(group.join(instance_id="i1", version=9))
    assert (response.leader, response.skip_assignment) == (response.member_id, True)
    assert [m.group_instance_id for m in response.members] == ["i1", "i2"]


def test_before_version_9_a_restarted_leader_does_not_notice_that_it_leads(group: SimGroup) -> None:
    old_leader, _ = stable_static(group, "i1", "i2")
    response = group.answer(group.join(instance_id="i1", version=8))
    assert (response.leader, response.members, response.skip_assignment) == (old_leader, [], False)
    assert group.state.leader == response.member_id


def test_the_predecessor_is_fenced(group: SimGroup) -> None:
    (old,) = stable_static(group, "i1")
    group.join(instance_id="i1")
    for request in (
        group.heartbeat(old, 1, instance_id="i1"),
        group.sync(old, 1, instance_id="i1"),
        group.commit({("t", 0): 1}, member_id=old, generation=1, instance_id="i1"),
        group.join(old, instance_id="i1"),
    ):
        with pytest.raises(FencedInstanceId):
            group.answer(request)
    left = group.answer(group.leave((old, "i1")))
    assert left.members == [MemberResponse(old, "i1", FENCED_INSTANCE_ID)]


def test_a_predecessor_that_waits_is_told_at_once(group: SimGroup) -> None:
    _, old = stable_static(group, "i1", "i2")
    waiting = group.join(old, instance_id="i2", settings=JoinSettings({"range": b"new"}))
    group.join(instance_id="i2")
    response = group.answer(waiting)
    assert (response.error_code, response.member_id) == (FENCED_INSTANCE_ID, old)


def test_a_predecessor_that_waits_for_its_assignment_is_told_at_once(group: SimGroup) -> None:
    leader = group.answer(group.join(instance_id="i1")).member_id
    joining = group.join(instance_id="i2")
    group.join(leader, instance_id="i1")
    old = group.answer(joining).member_id
    waiting = group.sync(old, 2, instance_id="i2")
    group.join(instance_id="i2")
    with pytest.raises(FencedInstanceId):
        group.answer(waiting)
    assert group.state.state is GroupState.PREPARING_REBALANCE


def test_a_restart_that_changes_the_chosen_protocol_rebalances(group: SimGroup) -> None:
    joined = group.answer(
        group.join(instance_id="i1", settings=JoinSettings({"range": b"", "sticky": b""}))
    )
    group.sync(joined.member_id, 1, instance_id="i1")
    swapped = JoinSettings({"sticky": b"", "range": b""})
    response = group.answer(group.join(instance_id="i1", settings=swapped))
    assert (response.generation_id, response.protocol_name) == (2, "sticky")


def test_a_restart_during_a_rebalance_takes_part_in_it(group: SimGroup) -> None:
    leader, _ = stable_static(group, "i1", "i2")
    waiting = group.join(leader, instance_id="i1")
    restarted = group.join(instance_id="i2")
    assert group.answer(waiting).generation_id == group.answer(restarted).generation_id == 3


def test_static_members_outlive_a_rebalance_they_do_not_join(group: SimGroup) -> None:
    leader, absent = stable_static(group, "i1", "i2")
    waiting = group.join(
        leader,
        instance_id="i1",
        settings=JoinSettings(rebalance_timeout_ms=8_000, session_timeout_ms=60_000),
    )
    group.heartbeat(absent, 2, instance_id="i2")
    group.coordinator.pass_time(9_999)
    group.heartbeat(absent, 2, instance_id="i2")
    group.coordinator.pass_time(9_999)
    group.heartbeat(absent, 2, instance_id="i2")
    group.coordinator.pass_time(9_999)
    group.heartbeat(absent, 2, instance_id="i2")
    group.coordinator.pass_time(5)
    assert [m.group_instance_id for m in group.answer(waiting).members] == ["i1", "i2"]


def test_static_members_do_not_outlive_their_session(group: SimGroup) -> None:
    stable_static(group, "i1")
    group.coordinator.pass_time(10_000)
    assert group.state.state is GroupState.EMPTY


def test_an_unknown_instance_with_a_member_id_is_refused(group: SimGroup) -> None:
    (member,) = group.form()
    with pytest.raises(UnknownMemberId):
        group.answer(group.heartbeat(member, 1, instance_id="nobody"))


def test_an_instance_can_be_removed_without_its_member_id(group: SimGroup) -> None:
    """How an administrator removes a static member for good."""
    stable_static(group, "i1")
    left = group.answer(group.leave(("", "i1")))
    assert left.members == [MemberResponse("", "i1", 0)]
    assert group.state.state is GroupState.EMPTY


def test_an_id_handed_out_to_a_dynamic_member_is_no_good_for_a_static_one(group: SimGroup) -> None:
    member_id = group.answer(group.join()).member_id
    with pytest.raises(UnknownMemberId):
        group.answer(group.join(member_id, instance_id="i1"))


def test_a_restart_that_cannot_be_stored_rebalances_the_group(group: SimGroup) -> None:
    leader, _ = stable_static(group, "i1", "i2")
    group.coordinator.next_append_error = NotEnoughReplicas()
    group.join(instance_id="i2")
    with pytest.raises(RebalanceInProgress):
        group.answer(group.heartbeat(leader, 2, instance_id="i1"))


def test_who_has_joined_leads_when_a_static_leader_is_absent(group: SimGroup) -> None:
    leader, follower = stable_static(group, "i1", "i2")
    waiting = group.join(follower, instance_id="i2", settings=JoinSettings({"range": b"new"}))
    for _ in range(6):
        group.coordinator.pass_time(5_000)
        group.heartbeat(leader, 2, instance_id="i1")
    response = group.answer(waiting)
    assert (response.generation_id, response.leader) == (3, follower)
    assert [m.group_instance_id for m in response.members] == ["i1", "i2"]
