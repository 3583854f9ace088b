"""Heartbeats and the end of sessions."""

from __future__ import annotations

import pytest

from millstream.errors import (
    IllegalGeneration,
    InvalidGroupId,
    RebalanceInProgress,
    UnknownMemberId,
)
from millstream.protocol.enums import GroupState
from millstream.protocol.generated.heartbeat import HeartbeatRequest, HeartbeatResponse
from tests.support.coordinators.classic_group import JoinSettings, SimGroup


def test_a_heartbeat_keeps_the_session(group: SimGroup) -> None:
    (member,) = group.form()
    for _ in range(3):
        group.coordinator.pass_time(9_999)
        assert group.answer(group.heartbeat(member, 1)) == HeartbeatResponse()


def test_a_session_without_heartbeats_ends(group: SimGroup) -> None:
    leader, follower = group.form(2)
    group.coordinator.pass_time(5_000)
    group.heartbeat(leader, 2)
    group.coordinator.pass_time(5_000)
    assert list(group.state.members) == [leader]
    with pytest.raises(RebalanceInProgress):
        group.answer(group.heartbeat(leader, 2))
    with pytest.raises(UnknownMemberId):
        group.answer(group.heartbeat(follower, 2))


def test_a_heartbeat_in_a_rebalance_says_so_and_keeps_the_session(group: SimGroup) -> None:
    leader, follower = group.form(2)
    group.join(leader)
    for _ in range(2):
        group.coordinator.pass_time(9_999)
        with pytest.raises(RebalanceInProgress):
            group.answer(group.heartbeat(follower, 2))


def test_a_heartbeat_before_the_assignment_is_welcome(group: SimGroup) -> None:
    member, _ = group.enter()
    assert group.answer(group.heartbeat(member, 1)) == HeartbeatResponse()


def test_who_waits_for_the_group_needs_no_heartbeats(group: SimGroup) -> None:
    leader, follower = group.form(2)
    joining = group.join(leader)
    for _ in range(3):
        group.coordinator.pass_time(9_000)
        group.heartbeat(follower, 2)
    group.join(follower)
    assert len(group.answer(joining).members) == 2


def test_a_new_member_that_waits_is_given_up_on_after_five_minutes(group: SimGroup) -> None:
    """It cannot send heartbeats, and nobody notices when its connection closes."""
    leader, _ = group.enter(settings=JoinSettings(rebalance_timeout_ms=400_000))
    group.sync(leader, 1)
    _, waiting = group.enter()
    for _ in range(29):
        group.coordinator.pass_time(9_999)
        group.heartbeat(leader, 1)
    group.coordinator.pass_time(9_999)
    assert group.answer(waiting) is None
    group.heartbeat(leader, 1)
    group.coordinator.pass_time(30)
    assert group.answer(waiting).error_code == UnknownMemberId.code


def test_a_heartbeat_that_arrived_in_time_counts_although_the_broker_was_stopped(
    group: SimGroup,
) -> None:
    (member,) = group.form()
    group.coordinator.pass_time(9_999)
    beat = group.coordinator.submit(HeartbeatRequest("group", 1, member), version=4)
    group.coordinator.stall(60_000)
    group.coordinator.settle()
    assert group.answer(beat) == HeartbeatResponse()
    assert group.state.state is GroupState.STABLE


def test_refusals(group: SimGroup) -> None:
    (member,) = group.form()
    with pytest.raises(InvalidGroupId):
        group.answer(SimGroup(group.coordinator, "").heartbeat(member, 1))
    with pytest.raises(UnknownMemberId):
        group.answer(SimGroup(group.coordinator, "no such group").heartbeat(member, 1))
    with pytest.raises(UnknownMemberId):
        group.answer(group.heartbeat("made up", 1))
    with pytest.raises(IllegalGeneration):
        group.answer(group.heartbeat(member, 0))
