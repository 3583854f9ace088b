"""ShareGroupHeartbeat: joining, epochs, assignment (KIP-932; messages are those of Kafka 4.3)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from millstream.coordinator.group.config import Limited
from millstream.coordinator.group.group import GroupKind
from millstream.coordinator.group.share.request_check import check_heartbeat
from millstream.errors import (
    CoordinatorNotAvailable,
    FencedMemberEpoch,
    GroupIdNotFound,
    GroupMaxSizeReached,
    InvalidRequest,
    NotEnoughReplicas,
    UnknownMemberId,
)
from millstream.protocol.generated.share_group_heartbeat import ShareGroupHeartbeatRequest
from tests.support.coordinators.coordinator import SimCoordinator, topics_image
from tests.support.coordinators.share_group import GROUP, SimShareGroup

BuildGroup = Callable[..., SimShareGroup]
ALL = "orders:0 orders:1 orders:2 orders:3"


def request(**fields: object) -> ShareGroupHeartbeatRequest:
    known: dict[str, object] = {
        "group_id": GROUP,
        "member_id": "ann",
        "member_epoch": 0,
        "subscribed_topic_names": ["orders"],
    }
    return ShareGroupHeartbeatRequest(**{**known, **fields})  # type: ignore[arg-type]  # by name


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"member_id": ""}, "MemberId can't be empty."),
        ({"group_id": "  "}, "GroupId can't be empty."),
        ({"rack_id": ""}, "RackId can't be empty."),
        ({"subscribed_topic_names": None}, "SubscribedTopicNames must be set in first request."),
        ({"subscribed_topic_names": []}, "SubscribedTopicNames must be set in first request."),
        ({"member_epoch": -2}, "MemberEpoch is invalid."),
    ],
)
def test_requests_that_no_group_accepts(fields: dict[str, object], sentence: str) -> None:
    with pytest.raises(InvalidRequest, match=sentence):
        check_heartbeat(request(**fields))


# --- joining


def test_a_new_member_waits_until_its_partitions_are_initialised(group: SimShareGroup) -> None:
    joined = group.join("ann")
    assert (joined.member_id, joined.member_epoch, joined.heartbeat_interval_ms) == (
        "ann",
        2,
        5_000,
    )
    assert joined.assignment is not None
    assert joined.assignment.topic_partitions == []
    assert group.settle() == {"ann": ALL}
    assert group.state.state_name == "Stable"


def test_the_share_coordinator_is_asked_once_for_each_partition(group: SimShareGroup) -> None:
    group.initializes = False
    group.join("ann")
    group.join("bob")
    group.settle()
    (asked,) = group.asked
    assert [sorted(numbers) for numbers in asked.partitions.values()] == [[0, 1, 2, 3]]
    assert (asked.group_id, asked.state_epoch, asked.start_offsets) == (GROUP, 2, {})


def test_the_share_coordinator_that_does_not_answer_is_asked_again(group: SimShareGroup) -> None:
    group.initializes = False
    group.join("ann")
    group.heartbeat("ann")
    group.coordinator.pass_time(29_999)
    group.heartbeat("ann")
    assert len(group.asked) == 1
    group.coordinator.pass_time(1)
    group.initializes = True
    group.heartbeat("ann")
    assert len(group.asked) == 2
    assert group.settle() == {"ann": ALL}


def test_what_the_share_coordinator_refuses_is_asked_for_with_the_next_heartbeat(
    group: SimShareGroup,
) -> None:
    group.initializes = False
    group.join("ann")
    group.refuse(group.asked[0])
    assert group.state.state_partitions.is_empty()
    group.initializes = True
    assert group.settle() == {"ann": ALL}


def test_a_heartbeat_without_news_tells_no_assignment(group: SimShareGroup) -> None:
    group.join("ann")
    group.settle()
    assert group.heartbeat("ann").assignment is None


def test_a_member_that_names_its_topics_is_told_its_assignment(group: SimShareGroup) -> None:
    group.join("ann")
    group.settle()
    told = group.heartbeat("ann", topics=["orders"]).assignment
    assert told is not None
    assert [topic.partitions for topic in told.topic_partitions] == [[0, 1, 2, 3]]


def test_members_share_partitions(group: SimShareGroup) -> None:
    group.join("ann")
    group.settle()
    group.join("bob")
    held = group.settle()
    assert sorted(" ".join(held.values()).split()) == ALL.split()
    assert all(len(text.split()) == 2 for text in held.values())


def test_more_members_than_partitions_read_the_same(group_with: BuildGroup) -> None:
    group = group_with({"orders": 1})
    for name in ("ann", "bob", "eve"):
        group.join(name)
    assert set(group.settle().values()) == {"orders:0"}


def test_assignments_keep_their_distance(group_with: BuildGroup) -> None:
    group = group_with(
        assignment_interval_ms=Limited("share.assignment.interval.ms", 1_000, 0, 15_000)
    )
    group.join("ann")
    assert group.settle() == {"ann": ""}, "the first, empty assignment was just made"
    group.coordinator.pass_time(1_000)
    assert group.settle() == {"ann": ALL}


def test_a_full_group_takes_nobody_but_those_it_knows(group_with: BuildGroup) -> None:
    group = group_with(max_size=1)
    group.join("ann")
    with pytest.raises(GroupMaxSizeReached, match="maximum capacity of 1 members"):
        group.join("bob")
    assert group.heartbeat("ann", epoch=0, topics=["orders"]).error_code == 0


# --- epochs


def test_another_subscription_is_another_group_epoch(group: SimShareGroup) -> None:
    group.set_topics(orders=1, returns=1)
    group.join("ann")
    group.settle()
    before = group.state.epoch
    group.heartbeat("ann", topics=["returns"])
    assert group.state.epoch == before + 1
    assert group.settle() == {"ann": "returns:0"}


def test_new_partitions_are_a_new_group_epoch(group: SimShareGroup) -> None:
    group.set_topics(orders=1)
    group.join("ann")
    group.settle()
    group.set_topics(orders=2)
    assert group.settle() == {"ann": "orders:0 orders:1"}


def test_a_topic_that_is_made_later_is_read_then(group: SimShareGroup) -> None:
    group.join("ann", "orders", "returns")
    group.settle()
    group.set_topics(orders=1, returns=1)
    assert group.settle()["ann"].endswith("returns:0")


def test_a_member_whose_last_answer_was_lost_goes_on(group: SimShareGroup) -> None:
    group.join("ann")
    group.settle()
    epoch = group.state.members["ann"].member_epoch
    previous = group.state.members["ann"].previous_member_epoch
    assert previous == epoch - 1
    assert group.heartbeat("ann", epoch=previous).member_epoch == epoch


@pytest.mark.parametrize(("step", "word"), [(1, "larger"), (-2, "smaller")])
def test_a_member_with_another_epoch_is_fenced(group: SimShareGroup, step: int, word: str) -> None:
    group.join("ann")
    group.settle()
    group.set_topics(orders=5)
    group.settle()
    epoch = group.state.members["ann"].member_epoch
    with pytest.raises(FencedMemberEpoch, match=f"a {word} member epoch"):
        group.heartbeat("ann", epoch=epoch + step)


def test_a_member_that_nobody_knows(group: SimShareGroup) -> None:
    group.join("ann")
    with pytest.raises(UnknownMemberId, match="Member bob is not a member of group workers"):
        group.ask(request(member_id="bob", member_epoch=3))
    with pytest.raises(UnknownMemberId):
        group.ask(request(member_id="bob", member_epoch=-1))


def test_a_group_that_nobody_knows(group: SimShareGroup) -> None:
    with pytest.raises(GroupIdNotFound, match="Share group workers not found"):
        group.ask(request(member_epoch=3))


# --- going away


def test_who_leaves_leaves_its_partitions_to_the_others(group: SimShareGroup) -> None:
    group.join("ann")
    group.join("bob")
    group.settle()
    assert group.leave("ann").member_epoch == -1
    assert group.settle() == {"bob": ALL}


def test_a_group_without_members_stays(group: SimShareGroup) -> None:
    group.join("ann")
    group.leave("ann")
    group.coordinator.pass_time(10**9)
    assert group.state.state_name == "Empty"
    assert group.state.kind is GroupKind.SHARE


def test_a_silent_member_is_gone_after_its_session(group: SimShareGroup) -> None:
    group.join("ann")
    group.coordinator.pass_time(44_999)
    assert "ann" in group.state.members
    group.coordinator.pass_time(1)
    assert group.state.members == {}


def test_the_session_of_the_group_s_own_configuration_counts(group: SimShareGroup) -> None:
    group.set_config("share.session.timeout.ms", "50000")
    group.set_config("share.heartbeat.interval.ms", "7000")
    assert group.join("ann").heartbeat_interval_ms == 7_000
    group.coordinator.pass_time(49_999)
    assert "ann" in group.state.members


# --- the log


def test_another_coordinator_knows_the_same(group: SimShareGroup) -> None:
    group.join("ann")
    group.join("bob")
    group.settle()
    before = group.state
    restarted = SimShareGroup(group.coordinator.restarted(), {"orders": 4})
    after = restarted.state
    for field in ("epoch", "metadata_hash", "assignment_epoch", "members", "targets"):
        assert getattr(after, field) == getattr(before, field)
    assert after.state_partitions == before.state_partitions


def test_after_a_restart_stored_members_have_a_whole_session(group: SimShareGroup) -> None:
    group.join("ann")
    group.coordinator.pass_time(40_000)
    restarted = SimShareGroup(group.coordinator.restarted(), {"orders": 4})
    restarted.coordinator.pass_time(44_999)
    assert "ann" in restarted.state.members
    restarted.coordinator.pass_time(1)
    assert restarted.state.members == {}


def test_a_group_is_described(group: SimShareGroup) -> None:
    group.join("ann")
    group.settle()
    described = group.describe()
    assert (described.group_state, described.assignor_name) == ("Stable", "simple")
    assert described.group_epoch == described.assignment_epoch == group.state.epoch
    (member,) = described.members
    assert (member.member_id, member.subscribed_topic_names) == ("ann", ["orders"])
    (topic,) = member.assignment.topic_partitions
    assert (topic.topic_id, topic.topic_name, topic.partitions) == (
        topics_image({"orders": 1}).by_name["orders"].topic_id,
        "orders",
        [0, 1, 2, 3],
    )


def test_a_group_that_does_not_exist_is_described_as_an_error(group: SimShareGroup) -> None:
    described = group.describe("nobody")
    assert (described.error_code, described.group_state) == (GroupIdNotFound.code, "")
    assert described.error_message == "Share group nobody not found."


def test_the_log_of_a_group_can_be_read_before_any_topic_is_known(group: SimShareGroup) -> None:
    group.join("ann")
    group.settle()
    coordinator = SimCoordinator(log=group.coordinator.log)
    assert coordinator.shard.groups.find(GROUP) is not None


def test_who_could_not_be_removed_is_removed_a_session_later(group: SimShareGroup) -> None:
    group.join("ann")
    group.coordinator.next_append_error = NotEnoughReplicas()
    group.coordinator.pass_time(45_000)
    assert list(group.state.members) == ["ann"]
    group.coordinator.pass_time(45_000)
    assert list(group.state.members) == []


def test_a_change_of_topics_that_could_not_be_stored_is_seen_again(
    group_with: BuildGroup,
) -> None:
    group = group_with({"orders": 1, "ads": 1})
    group.join("ann", "orders", "ads")
    group.settle()
    epoch = group.state.epoch
    group.set_topics(orders=1)
    group.coordinator.next_append_error = NotEnoughReplicas()
    with pytest.raises(CoordinatorNotAvailable):
        group.heartbeat("ann")
    assert group.state.epoch == epoch
    group.heartbeat("ann")
    assert group.state.epoch == epoch + 1
