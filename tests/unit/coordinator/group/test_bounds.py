"""What clients can have one coordinator remember is bounded; without the bounds each of these goes on for ever."""

from __future__ import annotations

import pytest

from millstream.coordinator.group.bounds import GroupBounds
from millstream.errors import GroupMaxSizeReached, PolicyViolation
from millstream.protocol.generated.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from millstream.protocol.generated.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from tests.support.coordinators.classic_group import SESSION_TIMEOUT_MS, SimGroup
from tests.support.coordinators.coordinator import SimCoordinator

MEMBER_ID_REQUIRED, GROUP_MAX_SIZE_REACHED = 79, 81


def coordinator(**bounds: int) -> SimCoordinator:
    made = SimCoordinator()
    made.shard._bounds = GroupBounds(**bounds)
    return made


def heartbeat(made: SimCoordinator, group_id: str, member_id: str) -> object:
    request = ConsumerGroupHeartbeatRequest(
        group_id=group_id, member_id=member_id, member_epoch=0, rebalance_timeout_ms=1_000,
        subscribed_topic_names=["t"], topic_partitions=[],
    )  # fmt: skip
    return made.outcomes[made.send(request, version=1)]


def test_a_group_too_many_is_refused_whatever_begins_it() -> None:
    made = coordinator(groups=2)
    SimGroup(made, "one").form()
    SimGroup(made, "two").commit({("t", 0): 1})
    third = SimGroup(made, "three")
    for token in (third.join(), third.commit({("t", 0): 1})):
        with pytest.raises(GroupMaxSizeReached, match="has 2 groups already") as refused:
            third.answer(token)
        assert refused.value.bound == "groups"
    assert isinstance(heartbeat(made, "three", "m"), GroupMaxSizeReached)
    SimGroup(made, "one").commit({("t", 0): 2})
    assert len(made.shard.groups) == 2


def test_ids_that_are_handed_out_and_never_used_are_members_too() -> None:
    """Each of them is a name and a timer for as long as a session may be, which is half an hour."""
    made = coordinator(members=3)
    group = SimGroup(made)
    answers = [group.answer(group.join()).error_code for _ in range(3)]
    assert answers == [MEMBER_ID_REQUIRED] * 3
    with pytest.raises(GroupMaxSizeReached, match="have 3 members already") as refused:
        group.answer(group.join())
    assert refused.value.bound == "members of groups"
    made.pass_time(SESSION_TIMEOUT_MS)
    assert made.shard.groups.member_count == 0
    assert group.answer(group.join()).error_code == MEMBER_ID_REQUIRED


def test_members_of_all_groups_and_kinds_count_together_until_they_leave() -> None:
    made = coordinator(members=2)
    (classic,) = SimGroup(made, "classic").form()
    assert not isinstance(heartbeat(made, "new", "m1"), GroupMaxSizeReached)
    assert isinstance(heartbeat(made, "other", "m2"), GroupMaxSizeReached)
    SimGroup(made, "classic").leave((classic, None))
    assert made.shard.groups.member_count == 1
    assert not isinstance(heartbeat(made, "other", "m2"), GroupMaxSizeReached)


def join_with(made: SimCoordinator, metadata_bytes: int, member_id: str = "") -> object:
    protocol = JoinGroupRequestProtocol("range", bytes(metadata_bytes))
    request = JoinGroupRequest(
        group_id="g", member_id=member_id, session_timeout_ms=SESSION_TIMEOUT_MS,
        rebalance_timeout_ms=1_000, protocol_type="consumer", protocols=[protocol],
    )  # fmt: skip
    return made.outcomes.get(made.send(request, version=9))


def test_members_say_no_more_of_themselves_than_can_be_kept() -> None:
    made = coordinator(member_bytes=100_000)
    told = join_with(made, 50_000)
    member_id = told.member_id
    assert join_with(made, 50_000, member_id) is None, "it waits for the generation"
    refused = join_with(made, 50_000)
    assert isinstance(refused, GroupMaxSizeReached)
    assert refused.bound == "memory of groups"
    assert "take 100000 bytes already" in str(refused)
    assert not isinstance(join_with(made, 50_000, member_id), GroupMaxSizeReached)
    assert isinstance(join_with(made, 99_900, member_id), GroupMaxSizeReached)
    made.pass_time(1_000_000)
    assert (made.shard.groups.member_bytes, made.shard.groups.member_count) == (0, 0)
    long_name = SimGroup(made, "y" * 100_000)
    with pytest.raises(GroupMaxSizeReached):
        long_name.answer(long_name.join())


def test_members_that_say_little_take_memory_too() -> None:
    """1,000 bytes each: the join that would go above the bound is the one that is refused."""
    for member_bytes, is_refused in ((2_050, True), (3_000, False)):
        made = coordinator(member_bytes=member_bytes)
        told = join_with(made, 0)
        assert join_with(made, 0, told.member_id) is None
        assert isinstance(join_with(made, 0), GroupMaxSizeReached) is is_refused


def test_offsets_are_bounded_and_those_that_are_there_can_be_committed_again() -> None:
    made = coordinator(offsets=2)
    group = SimGroup(made)
    for partition in range(2):
        group.commit({("t", partition): 1})
    with pytest.raises(PolicyViolation, match="keeps 2 offsets already") as refused:
        group.answer(group.commit({("t", 2): 1}))
    assert refused.value.bound == "offsets"
    assert group.answer(group.commit({("t", 1): 5})).topics[0].partitions[0].error_code == 0
