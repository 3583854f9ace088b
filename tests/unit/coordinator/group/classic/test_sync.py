"""SyncGroup: the assignment of a generation, stored once and handed to all."""

from __future__ import annotations

import pytest

from millstream.errors import (
    CoordinatorNotAvailable,
    IllegalGeneration,
    InconsistentGroupProtocol,
    InvalidGroupId,
    NotEnoughReplicas,
    RebalanceInProgress,
    UnknownMemberId,
)
from millstream.protocol.enums import GroupState
from tests.support.coordinators.classic_group import SimGroup


def completing(group: SimGroup) -> tuple[str, str]:
    """Leader and follower of generation 2, whose assignment is missing."""
    leader, _ = group.enter()
    follower, _ = group.enter()
    group.join(leader)
    return leader, follower


def test_everyone_gets_what_the_leader_says(group: SimGroup) -> None:
    leader, follower = completing(group)
    waiting = group.sync(follower, 2)
    assert group.answer(waiting) is None
    leaders = group.answer(group.sync(leader, 2, {leader: b"L", follower: b"F"}))
    followers = group.answer(waiting)
    assert (leaders.assignment, followers.assignment) == (b"L", b"F")
    assert (followers.protocol_type, followers.protocol_name) == ("consumer", "range")
    assert group.state.state is GroupState.STABLE


def test_who_the_leader_leaves_out_gets_an_empty_assignment(group: SimGroup) -> None:
    leader, follower = completing(group)
    group.sync(leader, 2, {leader: b"L", "stranger": b"X"})
    assert group.answer(group.sync(follower, 2)).assignment == b""


def test_a_follower_that_comes_after_the_leader_is_answered_at_once(group: SimGroup) -> None:
    _, follower = group.form(2)
    assert group.answer(group.sync(follower, 2)).assignment == b"for 1"


def test_assignments_of_a_follower_are_ignored(group: SimGroup) -> None:
    leader, follower = completing(group)
    waiting = group.sync(follower, 2, {follower: b"everything"})
    group.sync(leader, 2, {follower: b"F"})
    assert group.answer(waiting).assignment == b"F"


def test_nobody_hears_of_an_assignment_before_it_is_committed(group: SimGroup) -> None:
    leader, follower = completing(group)
    waiting = group.sync(follower, 2)
    group.coordinator.commits_by_itself = False
    leaders = group.sync(leader, 2, {leader: b"L", follower: b"F"})
    late = group.sync(follower, 2)
    assert [group.answer(token) for token in (waiting, leaders, late)] == [None, None, None]
    group.coordinator.commit()
    assert group.answer(waiting).assignment == group.answer(late).assignment == b"F"


def test_an_assignment_that_cannot_be_stored_starts_the_rebalance_again(group: SimGroup) -> None:
    leader, follower = completing(group)
    waiting = group.sync(follower, 2)
    group.coordinator.next_append_error = NotEnoughReplicas()
    leaders = group.sync(leader, 2, {leader: b"L"})
    for token in (leaders, waiting):
        with pytest.raises(CoordinatorNotAvailable):
            group.answer(token)
    assert group.state.state is GroupState.PREPARING_REBALANCE
    group.join(leader)
    assert group.answer(group.join(follower)).generation_id == 3


def test_a_rebalance_sends_those_who_wait_for_their_assignment_back(group: SimGroup) -> None:
    _, follower = completing(group)
    waiting = group.sync(follower, 2)
    group.enter()
    with pytest.raises(RebalanceInProgress):
        group.answer(waiting)


def test_who_does_not_sync_in_time_is_removed(group: SimGroup) -> None:
    leader, follower = completing(group)
    waiting = group.sync(follower, 2)
    for _ in range(4):
        group.coordinator.pass_time(7_499)
        group.heartbeat(leader, 2)
    assert group.answer(waiting) is None
    group.coordinator.pass_time(4)
    with pytest.raises(RebalanceInProgress):
        group.answer(waiting)
    assert list(group.state.members) == [follower]


def test_a_second_sync_of_a_waiting_member_takes_the_place_of_the_first(group: SimGroup) -> None:
    leader, follower = completing(group)
    first, second = group.sync(follower, 2), group.sync(follower, 2)
    group.sync(leader, 2, {follower: b"F"})
    with pytest.raises(RebalanceInProgress):
        group.answer(first)
    assert group.answer(second).assignment == b"F"


def test_refusals(group: SimGroup) -> None:
    leader, _ = completing(group)
    with pytest.raises(InvalidGroupId):
        group.answer(SimGroup(group.coordinator, "").sync(leader, 2))
    with pytest.raises(UnknownMemberId):
        group.answer(SimGroup(group.coordinator, "no such group").sync(leader, 2))
    with pytest.raises(UnknownMemberId):
        group.answer(group.sync("made up", 2))
    with pytest.raises(IllegalGeneration):
        group.answer(group.sync(leader, 1))
    with pytest.raises(InconsistentGroupProtocol):
        group.answer(group.sync(leader, 2, protocol=("connect", "range")))
    with pytest.raises(InconsistentGroupProtocol):
        group.answer(group.sync(leader, 2, protocol=("consumer", "sticky")))


def test_while_members_join_there_is_nothing_to_sync(group: SimGroup) -> None:
    leader, follower = group.form(2)
    group.join(leader)
    with pytest.raises(RebalanceInProgress):
        group.answer(group.sync(follower, 2))
