"""JoinGroup: admission, and the generation it leads to."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from millstream.errors import (
    CoordinatorNotAvailable,
    InconsistentGroupProtocol,
    InvalidGroupId,
    InvalidRequest,
    InvalidSessionTimeout,
    NotEnoughReplicas,
    RebalanceInProgress,
    UnknownMemberId,
)
from millstream.protocol.enums import GroupState
from millstream.protocol.generated.join_group import JoinGroupResponseMember
from tests.support.coordinators.classic_group import JoinSettings, SimGroup
from tests.support.coordinators.coordinator import SimCoordinator

MEMBER_ID_REQUIRED = 79
GROUP_MAX_SIZE_REACHED = 81
UNKNOWN_MEMBER_ID = 25


def test_from_version_4_on_a_member_learns_its_id_before_it_joins(group: SimGroup) -> None:
    """KIP-394: otherwise every retried JoinGroup would leave a dead member behind."""
    first = group.answer(group.join(version=4, client_id="reader"))
    assert first.error_code == MEMBER_ID_REQUIRED
    assert re.fullmatch(
        r"reader-[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}",
        first.member_id,
    )
    assert (first.generation_id, first.protocol_name, first.leader) == (-1, None, "")
    second = group.answer(group.join(first.member_id, version=4))
    assert (second.error_code, second.member_id, second.generation_id) == (0, first.member_id, 1)


def test_a_client_id_too_long_for_a_member_id_is_refused(group: SimGroup) -> None:
    assert group.answer(group.join(version=4, client_id="c" * 32_730)).error_code == 79
    with pytest.raises(InvalidRequest, match="at most 32730 bytes"):
        group.answer(group.join(version=4, client_id="c" * 32_731))


def test_before_version_4_a_member_joins_at_once(group: SimGroup) -> None:
    response = group.answer(group.join(version=3))
    assert (response.error_code, response.generation_id) == (0, 1)
    assert response.leader == response.member_id


def test_the_leader_is_told_of_everyone_and_the_others_of_nobody(group: SimGroup) -> None:
    leader, first = group.enter()
    follower, second = group.enter(settings=JoinSettings({"range": b"other"}))
    leaders = group.answer(group.join(leader))
    followers = group.answer(second)
    assert group.answer(first).generation_id == 1
    assert (leaders.generation_id, followers.generation_id) == (2, 2)
    assert (leaders.protocol_type, leaders.protocol_name) == ("consumer", "range")
    assert leaders.leader == followers.leader == leader
    assert leaders.members == [
        JoinGroupResponseMember(leader, None, b"metadata"),
        JoinGroupResponseMember(follower, None, b"other"),
    ]
    assert followers.members == []


def test_a_new_group_waits_for_more_members_and_each_one_prolongs_the_wait(
    group_with: Callable[..., SimGroup],
) -> None:
    group = group_with(initial_rebalance_delay_ms=3_000)
    _, first = group.enter()
    group.coordinator.pass_time(2_000)
    _, second = group.enter()
    group.coordinator.pass_time(3_999)
    assert (group.answer(first), group.answer(second)) == (None, None)
    group.coordinator.pass_time(1)
    assert group.answer(first).generation_id == group.answer(second).generation_id == 1


def test_the_wait_of_a_new_group_ends_with_the_rebalance_timeout(
    group_with: Callable[..., SimGroup],
) -> None:
    group = group_with(initial_rebalance_delay_ms=3_000)
    settings = JoinSettings(rebalance_timeout_ms=7_000)
    _, first = group.enter(settings=settings)
    for _ in range(3):
        group.coordinator.pass_time(2_000)
        group.enter(settings=settings)
    group.coordinator.pass_time(999)
    assert group.answer(first) is None
    group.coordinator.pass_time(1)
    assert group.answer(first).generation_id == 1


def test_the_protocol_is_one_that_all_speak_and_most_prefer(group: SimGroup) -> None:
    both = JoinSettings({"sticky": b"", "range": b""})
    range_first = JoinSettings({"range": b"", "sticky": b"", "own": b""})
    leader, _ = group.enter(settings=both)
    second, _ = group.enter(settings=range_first)
    group.join(leader, settings=both)
    _, third = group.enter(settings=range_first)
    group.join(leader, settings=both)
    group.join(second, settings=range_first)
    assert group.answer(third).protocol_name == "range"


def test_a_member_that_shares_no_protocol_is_refused(group: SimGroup) -> None:
    group.form()
    with pytest.raises(InconsistentGroupProtocol):
        group.answer(group.join(settings=JoinSettings({"other": b""})))


def test_a_member_of_another_protocol_type_is_refused(group: SimGroup) -> None:
    group.form()
    with pytest.raises(InconsistentGroupProtocol):
        group.answer(group.join(settings=JoinSettings(protocol_type="connect")))


@pytest.mark.parametrize("settings", [JoinSettings(protocols={}), JoinSettings(protocol_type="")])
def test_who_speaks_nothing_is_refused_and_no_group_is_made(
    group: SimGroup, settings: JoinSettings
) -> None:
    with pytest.raises(InconsistentGroupProtocol):
        group.answer(group.join(settings=settings))
    assert group.coordinator.shard.groups.find("group") is None


def test_a_group_needs_a_name(group: SimGroup) -> None:
    with pytest.raises(InvalidGroupId):
        group.answer(SimGroup(group.coordinator, "").join())


@pytest.mark.parametrize("session_timeout_ms", [5_999, 1_800_001, -1])
def test_a_session_timeout_out_of_bounds_is_refused(
    group: SimGroup, session_timeout_ms: int
) -> None:
    with pytest.raises(InvalidSessionTimeout):
        group.answer(group.join(settings=JoinSettings(session_timeout_ms=session_timeout_ms)))


def test_an_unknown_member_id_does_not_make_a_group(group: SimGroup) -> None:
    with pytest.raises(UnknownMemberId):
        group.answer(group.join("made up"))
    assert group.coordinator.shard.groups.find("group") is None


def test_an_unknown_member_id_is_refused_in_a_group(group: SimGroup) -> None:
    group.form()
    with pytest.raises(UnknownMemberId):
        group.answer(group.join("made up"))


def test_a_full_group_takes_no_more(group_with: Callable[..., SimGroup]) -> None:
    group = group_with(max_size=1)
    group.form()
    response = group.answer(group.join())
    assert (response.error_code, response.member_id) == (GROUP_MAX_SIZE_REACHED, "")


def test_in_a_rebalance_of_a_full_group_who_comes_first_stays(
    group_with: Callable[..., SimGroup],
) -> None:
    group = group_with(max_size=2)
    leader, late = group.form(2)
    group.join(leader)
    newcomer, joining = group.enter()
    refused = group.answer(group.join(late))
    assert (refused.error_code, refused.member_id) == (GROUP_MAX_SIZE_REACHED, "")
    assert group.answer(joining).generation_id == 3
    assert list(group.state.members) == [leader, newcomer]


def test_an_unchanged_follower_of_a_stable_group_is_told_of_its_generation(group: SimGroup) -> None:
    leader, follower = group.form(2)
    response = group.answer(group.join(follower))
    assert (response.generation_id, response.leader, response.members) == (2, leader, [])
    assert group.state.state is GroupState.STABLE


def test_the_leader_of_a_stable_group_rebalances_it_by_joining(group: SimGroup) -> None:
    leader, _ = group.form(2)
    assert group.answer(group.join(leader)) is None
    assert group.state.state is GroupState.PREPARING_REBALANCE


def test_a_changed_follower_rebalances_the_group(group: SimGroup) -> None:
    _, follower = group.form(2)
    assert group.answer(group.join(follower, settings=JoinSettings({"range": b"new"}))) is None
    assert group.state.state is GroupState.PREPARING_REBALANCE


def test_a_member_that_missed_its_answer_gets_it_again_while_the_group_waits_for_sync(
    group: SimGroup,
) -> None:
    leader, first = group.enter()
    assert group.answer(group.join(leader)) == group.answer(first)


def test_a_changed_member_rebalances_a_group_that_waits_for_sync(group: SimGroup) -> None:
    leader, _ = group.enter()
    response = group.answer(group.join(leader, settings=JoinSettings({"range": b"new"})))
    assert response.generation_id == 2


def test_a_second_join_of_a_waiting_member_takes_the_place_of_the_first(group: SimGroup) -> None:
    leader, follower = group.form(2)
    first = group.join(leader)
    second = group.join(leader)
    with pytest.raises(RebalanceInProgress):
        group.answer(first)
    group.join(follower)
    assert group.answer(second).generation_id == 3


def test_who_does_not_rejoin_in_time_is_left_out(group: SimGroup) -> None:
    leader, follower = group.form(2)
    joining = group.join(leader)
    for _ in range(6):
        group.coordinator.pass_time(4_999)
        group.heartbeat(follower, 2)
    assert group.answer(joining) is None
    group.coordinator.pass_time(30_000 - 6 * 4_999)
    assert group.answer(joining).members == [JoinGroupResponseMember(leader, None, b"metadata")]


def test_another_member_leads_when_the_leader_does_not_rejoin(group: SimGroup) -> None:
    _, follower = group.form(2)
    joining = group.join(follower, settings=JoinSettings({"range": b"new"}))
    group.coordinator.pass_time(30_000)
    response = group.answer(joining)
    assert (response.leader, [m.member_id for m in response.members]) == (follower, [follower])


def test_the_generation_waits_for_ids_that_were_handed_out(group: SimGroup) -> None:
    (leader,) = group.form()
    newcomer = group.answer(group.join()).member_id
    joining = group.join(leader)
    assert group.answer(joining) is None
    group.join(newcomer)
    assert len(group.answer(joining).members) == 2


def test_an_id_that_was_handed_out_and_not_used_expires_with_the_session(group: SimGroup) -> None:
    (leader,) = group.form()
    group.join()
    joining = group.join(leader)
    group.coordinator.pass_time(9_999)
    assert group.answer(joining) is None
    group.coordinator.pass_time(1)
    assert group.answer(joining).generation_id == 2


def test_a_new_group_is_written_down_before_anyone_hears_of_it(group: SimGroup) -> None:
    group.coordinator.commits_by_itself = False
    joining = group.join()
    assert len(group.coordinator.log) == 1
    assert group.answer(joining) is None
    group.coordinator.commit()
    assert group.answer(joining).error_code == MEMBER_ID_REQUIRED


def test_ids_repeat_with_the_seed() -> None:
    ids = [SimGroup(SimCoordinator(seed=seed)) for seed in (1, 1, 2)]
    first, same, other = (g.answer(g.join()).member_id for g in ids)
    assert first == same != other


def test_a_group_that_could_not_be_stored_does_not_exist(group: SimGroup) -> None:
    """Before version 4 the member waits already."""
    group.coordinator.next_append_error = NotEnoughReplicas()
    joining = group.join(version=3)
    assert group.answer(joining).error_code == CoordinatorNotAvailable.code
    assert group.coordinator.shard.groups.find(group.group_id) is None
    again = group.join(version=3)
    group.coordinator.pass_time(1)
    assert group.answer(again).generation_id == 1


def test_an_emptied_group_waits_for_more_members_as_a_new_one_does(
    group_with: Callable[..., SimGroup],
) -> None:
    group = group_with(initial_rebalance_delay_ms=3_000)
    (member,) = group.form()
    group.leave((member, None))
    _, waiting = group.enter()
    group.coordinator.pass_time(2_999)
    assert group.answer(waiting) is None
    group.coordinator.pass_time(1)
    assert group.answer(waiting).generation_id == 3


def test_a_group_that_has_members_does_not_wait_longer_than_for_them(
    group_with: Callable[..., SimGroup],
) -> None:
    group = group_with(initial_rebalance_delay_ms=3_000)
    (member,) = group.form()
    _, waiting = group.enter()
    assert group.answer(waiting) is None
    group.join(member)
    assert group.answer(waiting).generation_id == 2


def test_the_longest_rebalance_timeout_of_the_members_counts(group: SimGroup) -> None:
    patient = JoinSettings(rebalance_timeout_ms=9_000, session_timeout_ms=60_000)
    hasty = JoinSettings(rebalance_timeout_ms=2_000, session_timeout_ms=60_000)
    first, _ = group.enter(settings=patient)
    group.sync(first, 1, {})
    _, waiting = group.enter(settings=hasty)
    group.coordinator.pass_time(8_999)
    assert group.answer(waiting) is None
    group.coordinator.pass_time(1)
    assert group.answer(waiting).generation_id == 2
    assert [member.member_id for member in group.answer(waiting).members] == [
        group.answer(waiting).member_id
    ]
