"""How members leave a streams group, and what is left of a group that nobody is in."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from millstream.errors import GroupIdNotFound, NonEmptyGroup, NotEnoughReplicas, UnknownMemberId
from millstream.protocol.enums import GroupState
from millstream.protocol.generated.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse
from tests.support.coordinators.streams_group import (
    GROUP,
    REBALANCE_TIMEOUT_MS,
    SimStreamsGroup,
    Tasks,
    given,
    task_ids,
)

BuildGroup = Callable[..., SimStreamsGroup]
SESSION_TIMEOUT_MS = 45_000


def delete(group: SimStreamsGroup) -> int:
    request = DeleteGroupsRequest(groups_names=[GROUP])
    token = group.coordinator.send(request, version=2)
    response = group.coordinator.outcomes[token]
    assert isinstance(response, DeleteGroupsResponse)
    return response.results[0].error_code


def test_tasks_of_a_member_that_leaves_go_to_the_others(group: SimStreamsGroup) -> None:
    group.join("a")
    group.join("b")
    group.settle()
    assert group.leave("a").member_epoch == -1
    assert given(group.heartbeat("b")) == Tasks("0_0 0_1 0_2 0_3")


def test_leaving_what_one_is_not_in_is_refused(group: SimStreamsGroup) -> None:
    group.join("a")
    with pytest.raises(UnknownMemberId):
        group.leave("b")
    with pytest.raises(GroupIdNotFound):
        group.leave("a", group_id="nothing")


def test_a_member_that_is_not_heard_of_is_removed(group: SimStreamsGroup) -> None:
    group.join("a")
    group.coordinator.pass_time(SESSION_TIMEOUT_MS - 1)
    assert group.state.state is GroupState.STABLE
    group.coordinator.pass_time(1)
    assert group.state.state is GroupState.EMPTY


def test_every_heartbeat_gives_a_whole_session(group: SimStreamsGroup) -> None:
    group.join("a")
    group.coordinator.pass_time(SESSION_TIMEOUT_MS - 1)
    group.heartbeat("a")
    group.coordinator.pass_time(SESSION_TIMEOUT_MS - 1)
    assert group.state.state is GroupState.STABLE


def test_a_member_that_does_not_give_tasks_back_in_time_is_removed(group: SimStreamsGroup) -> None:
    group.join("a")
    group.join("b")
    group.heartbeat("a")
    group.coordinator.pass_time(REBALANCE_TIMEOUT_MS)
    assert list(group.state.members) == ["b"]
    assert given(group.heartbeat("b")) == Tasks("0_0 0_1 0_2 0_3")


def test_a_member_that_has_given_its_tasks_back_is_left_alone(group: SimStreamsGroup) -> None:
    group.join("a")
    group.join("b")
    group.settle()
    group.coordinator.pass_time(REBALANCE_TIMEOUT_MS)
    assert list(group.state.members) == ["a", "b"]


def test_sessions_and_revocations_go_on_after_a_restart(group: SimStreamsGroup) -> None:
    group.join("a")
    group.join("b")
    group.heartbeat("a")
    restarted = group.coordinator.restarted()
    restarted.pass_time(REBALANCE_TIMEOUT_MS)
    groups = restarted.shard.groups
    (left,) = (group for group in groups if group.group_id == GROUP)
    assert left.state_name == "Assigning"
    restarted.pass_time(SESSION_TIMEOUT_MS - REBALANCE_TIMEOUT_MS)
    assert left.state_name == "Empty"


def test_a_group_with_members_is_not_deleted(group: SimStreamsGroup) -> None:
    group.join("a")
    assert delete(group) == NonEmptyGroup.code


def test_an_empty_group_is_deleted_for_good(group: SimStreamsGroup) -> None:
    group.join("a")
    group.leave("a")
    assert delete(group) == 0
    with pytest.raises(GroupIdNotFound):
        _ = group.state
    assert list(group.coordinator.restarted().shard.groups) == []


def test_a_deleted_group_can_be_joined_again(group: SimStreamsGroup) -> None:
    group.join("a")
    group.leave("a")
    delete(group)
    assert given(group.join("b")) == Tasks("0_0 0_1 0_2 0_3")


def test_a_join_that_could_not_be_stored_leaves_nothing_behind(group: SimStreamsGroup) -> None:
    group.coordinator.next_append_error = UnknownMemberId()
    with pytest.raises(UnknownMemberId):
        group.join("a")
    assert list(group.coordinator.shard.groups) == []
    assert given(group.join("a")) == Tasks("0_0 0_1 0_2 0_3")


def test_a_step_that_could_not_be_stored_is_taken_again(group: SimStreamsGroup) -> None:
    group.join("a")
    group.join("b")
    group.coordinator.next_append_error = UnknownMemberId()
    with pytest.raises(UnknownMemberId):
        group.heartbeat("a")
    assert group.heartbeat("a", active_tasks=task_ids("0_0 0_1 0_2 0_3")).member_epoch == 2
    group.settle()
    assert [group.members[m].held for m in "ab"] == [Tasks("0_0 0_1"), Tasks("0_2 0_3")]


def test_who_could_not_be_removed_is_removed_a_session_later(group: SimStreamsGroup) -> None:
    group.join("a")
    group.coordinator.next_append_error = NotEnoughReplicas()
    group.coordinator.pass_time(SESSION_TIMEOUT_MS)
    assert list(group.state.members) == ["a"]
    group.coordinator.pass_time(SESSION_TIMEOUT_MS)
    assert list(group.state.members) == []


def test_who_is_too_slow_and_could_not_be_removed_has_to_give_tasks_back_all_the_same(
    group: SimStreamsGroup,
) -> None:
    group.join("a")
    group.join("b")
    group.heartbeat("a")
    group.heartbeat("b")

    def pass_rebalance_timeout() -> None:
        """Both are heard of; `a` gives nothing back."""
        group.coordinator.pass_time(REBALANCE_TIMEOUT_MS - 1)
        group.heartbeat("a", active_tasks=None, standby_tasks=None, warmup_tasks=None)
        group.heartbeat("b")

    pass_rebalance_timeout()
    group.coordinator.next_append_error = NotEnoughReplicas()
    group.coordinator.pass_time(1)
    assert sorted(group.state.members) == ["a", "b"]
    pass_rebalance_timeout()
    group.coordinator.pass_time(1)
    assert list(group.state.members) == ["b"]
