"""LeaveGroup: each member with its own answer, the rest of the group goes on at once."""

from __future__ import annotations

import pytest

from millstream.errors import InvalidGroupId, UnknownMemberId
from millstream.protocol.enums import GroupState
from millstream.protocol.generated.leave_group import MemberResponse
from tests.support.coordinators.classic_group import SimGroup

UNKNOWN_MEMBER_ID = 25


def test_the_last_member_leaves_an_empty_group_of_the_next_generation(group: SimGroup) -> None:
    (member,) = group.form()
    assert group.answer(group.leave((member, None))).members == [MemberResponse(member, None, 0)]
    assert (group.state.state, group.state.generation) == (GroupState.EMPTY, 2)
    assert (group.state.protocol_type, group.state.protocol, group.state.leader) == (
        "consumer",
        None,
        None,
    )


def test_the_others_rebalance(group: SimGroup) -> None:
    leader, follower = group.form(2)
    group.leave((leader, None))
    assert group.state.state is GroupState.PREPARING_REBALANCE
    assert group.answer(group.join(follower)).leader == follower


def test_who_leaves_during_a_rebalance_is_not_waited_for(group: SimGroup) -> None:
    leader, follower = group.form(2)
    joining = group.join(leader)
    group.leave((follower, None))
    assert group.answer(joining).generation_id == 3


def test_several_members_leave_at_once_each_with_its_own_answer(group: SimGroup) -> None:
    leader, follower = group.form(2)
    response = group.answer(
        group.leave((leader, None), ("made up", None), ("", None), (follower, None))
    )
    assert response.error_code == 0
    assert [m.error_code for m in response.members] == [0, UNKNOWN_MEMBER_ID, UNKNOWN_MEMBER_ID, 0]
    assert group.state.state is GroupState.EMPTY


def test_an_id_that_was_handed_out_can_be_given_back(group: SimGroup) -> None:
    (leader,) = group.form()
    pending = group.answer(group.join()).member_id
    joining = group.join(leader)
    group.leave((pending, None))
    assert group.answer(joining).generation_id == 2


def test_a_waiting_join_of_who_leaves_is_answered(group: SimGroup) -> None:
    leader, _ = group.form(2)
    joining = group.join(leader)
    group.leave((leader, None))
    response = group.answer(joining)
    assert (response.error_code, response.member_id) == (UNKNOWN_MEMBER_ID, "")


def test_a_waiting_sync_of_who_leaves_is_answered(group: SimGroup) -> None:
    leader, _ = group.enter()
    follower, _ = group.enter()
    group.join(leader)
    syncing = group.sync(follower, 2)
    group.leave((follower, None))
    with pytest.raises(UnknownMemberId):
        group.answer(syncing)


def test_in_an_unknown_group_everyone_is_unknown(group: SimGroup) -> None:
    assert group.answer(group.leave(("m", None))).members == [
        MemberResponse("m", None, UNKNOWN_MEMBER_ID)
    ]


def test_a_group_needs_a_name(group: SimGroup) -> None:
    with pytest.raises(InvalidGroupId):
        group.answer(SimGroup(group.coordinator, "").leave(("m", None)))
