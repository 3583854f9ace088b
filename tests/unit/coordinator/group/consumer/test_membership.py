"""Joining, staying in and leaving a consumer group (KIP-848): who may, in which epoch, and what it begins."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from millstream.coordinator.group.config import Limited
from millstream.errors import (
    CoordinatorNotAvailable,
    FencedMemberEpoch,
    GroupIdNotFound,
    GroupMaxSizeReached,
    NotEnoughReplicas,
    UnknownMemberId,
)
from millstream.protocol.generated.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    TopicPartitions,
)
from tests.support.coordinators.consumer_group import SimConsumerGroup

SESSION_TIMEOUT_MS = 45_000
INTERVAL_MS = 1_000


def test_the_first_member_gets_everything_in_epoch_2(consumers: SimConsumerGroup) -> None:
    member = consumers.joins("a", "t", "u")
    assert (member.epoch, member.owned) == (2, {"t": [0, 1, 2, 3], "u": [0, 1]})
    described = consumers.described()
    assert (described.group_state, described.group_epoch, described.assignment_epoch) == (
        "Stable",
        2,
        2,
    )


def test_a_member_that_subscribes_to_nothing_is_in_epoch_1(consumers: SimConsumerGroup) -> None:
    member = consumers.joins("a")
    assert (member.epoch, member.owned) == (1, {})
    assert consumers.described().group_state == "Stable"


def test_members_that_come_within_the_interval_wait_for_one_assignment(
    consumers: SimConsumerGroup,
) -> None:
    first = consumers.joins("a", "t")
    second = consumers.joins("b", "t")
    assert (second.epoch, second.owned) == (2, {})
    assert consumers.described().group_state == "Assigning"
    consumers.settles(first, second)
    assert sorted([first.owned["t"], second.owned["t"]]) == [[0, 1], [2, 3]]
    assert consumers.described().assignment_epoch == 3


def test_without_an_interval_every_change_is_assigned_at_once(
    consumers_with: Callable[..., SimConsumerGroup],
) -> None:
    consumers = consumers_with(
        assignment_interval_ms=Limited("consumer.assignment.interval.ms", 0, 0, 15_000)
    )
    consumers.joins("a", "t")
    consumers.joins("b", "t")
    assert consumers.described().assignment_epoch == 3


def test_an_answer_without_news_carries_no_assignment(consumers: SimConsumerGroup) -> None:
    member = consumers.joins("a", "t")
    answer = consumers.ask(member)
    assert (answer.member_epoch, answer.assignment, answer.heartbeat_interval_ms) == (
        2,
        None,
        5_000,
    )


def test_a_request_that_says_everything_is_told_everything(consumers: SimConsumerGroup) -> None:
    member = consumers.joins("a", "t")
    answer = consumers.ask(member, says_all=True)
    assert answer.assignment is not None
    assert [each.partitions for each in answer.assignment.topic_partitions] == [[0, 1, 2, 3]]


def test_version_0_is_given_a_member_id(consumers: SimConsumerGroup) -> None:
    request = ConsumerGroupHeartbeatRequest(
        "group", "", 0, rebalance_timeout_ms=1, subscribed_topic_names=["t"], topic_partitions=[]
    )
    answer = consumers.send(request, version=0)
    assert answer.member_id in consumers.state.members
    assert len(answer.member_id or "") == 22


def test_who_is_not_a_member_is_unknown(consumers: SimConsumerGroup) -> None:
    consumers.joins("a", "t")
    with pytest.raises(UnknownMemberId):
        consumers.send(ConsumerGroupHeartbeatRequest("group", "b", 2))


def test_a_group_that_does_not_exist_can_only_be_joined(consumers: SimConsumerGroup) -> None:
    with pytest.raises(GroupIdNotFound):
        consumers.send(ConsumerGroupHeartbeatRequest("group", "b", 2))
    with pytest.raises(GroupIdNotFound):
        consumers.send(ConsumerGroupHeartbeatRequest("group", "b", -1))


@pytest.mark.parametrize("epoch", [1, 3, 99])
def test_an_epoch_that_is_not_the_members_is_fenced(
    consumers: SimConsumerGroup, epoch: int
) -> None:
    consumers.joins("a", "t")
    with pytest.raises(FencedMemberEpoch):
        consumers.send(ConsumerGroupHeartbeatRequest("group", "a", epoch))


def test_the_answer_with_a_new_epoch_may_get_lost(consumers: SimConsumerGroup) -> None:
    """The member comes with its previous epoch, and owns nothing that it was not given."""
    first, second = consumers.joins("a", "t"), consumers.joins("b", "t")
    consumers.settles(first, second)
    topic_id = consumers.coordinator.shard.image.topics.by_name["t"].topic_id
    owned = TopicPartitions(topic_id, first.owned["t"])
    request = ConsumerGroupHeartbeatRequest("group", "a", 2, topic_partitions=[owned])
    assert consumers.send(request).member_epoch == 3
    stolen = TopicPartitions(topic_id, second.owned["t"])
    with pytest.raises(FencedMemberEpoch):
        consumers.send(ConsumerGroupHeartbeatRequest("group", "a", 2, topic_partitions=[stolen]))


def test_a_member_may_begin_anew_at_any_time(consumers: SimConsumerGroup) -> None:
    member = consumers.joins("a", "t")
    consumers.rejoins(member)
    assert (member.epoch, member.owned) == (2, {"t": [0, 1, 2, 3]})


def test_a_full_group_takes_members_but_no_newcomers(
    consumers_with: Callable[..., SimConsumerGroup],
) -> None:
    consumers = consumers_with(max_size=1)
    member = consumers.joins("a", "t")
    with pytest.raises(GroupMaxSizeReached):
        consumers.joins("b", "t")
    consumers.rejoins(member)
    assert list(consumers.state.members) == ["a"]


def test_who_leaves_gives_everything_to_the_others(consumers: SimConsumerGroup) -> None:
    first, second = consumers.joins("a", "t"), consumers.joins("b", "t")
    consumers.settles(first, second)
    consumers.leaves(first)
    consumers.settles(second)
    assert second.owned == {"t": [0, 1, 2, 3]}
    assert (second.epoch, consumers.described().group_epoch) == (4, 4)


def test_who_is_not_heard_of_is_removed(consumers: SimConsumerGroup) -> None:
    consumers.joins("a", "t")
    consumers.coordinator.pass_time(SESSION_TIMEOUT_MS - 1)
    assert consumers.described().group_state == "Stable"
    consumers.coordinator.pass_time(1)
    assert consumers.described().group_state == "Empty"


def test_a_heartbeat_keeps_the_session(consumers: SimConsumerGroup) -> None:
    member = consumers.joins("a", "t")
    for _ in range(3):
        consumers.coordinator.pass_time(SESSION_TIMEOUT_MS - 1)
        consumers.beats(member)
    assert list(consumers.state.members) == ["a"]


def test_the_group_may_have_a_session_timeout_and_an_interval_of_its_own(
    consumers: SimConsumerGroup,
) -> None:
    consumers.set_topics(
        {"t": 4}, consumer_session_timeout_ms="50000", consumer_heartbeat_interval_ms="7000"
    )
    member = consumers.joins("a", "t")
    assert consumers.ask(member).heartbeat_interval_ms == 7_000
    consumers.coordinator.pass_time(SESSION_TIMEOUT_MS)
    assert list(consumers.state.members) == ["a"]
    consumers.coordinator.pass_time(5_000)
    assert list(consumers.state.members) == []


def test_settings_of_a_group_stay_within_the_limits_of_the_broker(
    consumers: SimConsumerGroup,
) -> None:
    consumers.set_topics({"t": 4}, consumer_heartbeat_interval_ms="1")
    assert consumers.ask(consumers.joins("a", "t")).heartbeat_interval_ms == 5_000


def test_new_partitions_begin_an_epoch_at_the_next_heartbeat(consumers: SimConsumerGroup) -> None:
    member = consumers.joins("a", "t")
    consumers.set_topics({"t": 6, "u": 2})
    consumers.settles(member)
    assert (member.epoch, member.owned) == (3, {"t": [0, 1, 2, 3, 4, 5]})


def test_topics_that_nobody_reads_begin_nothing(consumers: SimConsumerGroup) -> None:
    member = consumers.joins("a", "t")
    consumers.set_topics({"t": 4, "u": 9, "new": 1})
    consumers.settles(member)
    assert member.epoch == 2


def test_a_topic_that_comes_later_is_assigned_then(consumers: SimConsumerGroup) -> None:
    member = consumers.joins("a", "later")
    assert member.owned == {}
    consumers.set_topics({"t": 4, "later": 2})
    consumers.settles(member)
    assert member.owned == {"later": [0, 1]}


def test_a_topic_that_is_deleted_is_taken_away(consumers: SimConsumerGroup) -> None:
    member = consumers.joins("a", "t", "u")
    consumers.set_topics({"t": 4})
    consumers.settles(member)
    assert member.owned == {"t": [0, 1, 2, 3]}


def test_most_members_choose_the_assignor(consumers: SimConsumerGroup) -> None:
    members = [
        consumers.joins("a", "t", "u", assignor="range"),
        consumers.joins("b", "t", "u", assignor="range"),
        consumers.joins("c", "t", "u", assignor="uniform"),
    ]
    consumers.settles(*members)
    assert consumers.described().assignor_name == "range"
    assert members[0].owned == {"t": [0, 1], "u": [0]}


def test_a_new_coordinator_gives_everyone_a_session(consumers: SimConsumerGroup) -> None:
    member = consumers.joins("a", "t")
    after = SimConsumerGroup(consumers.coordinator.restarted())
    after.set_topics({"t": 4, "u": 2})
    after.coordinator.pass_time(SESSION_TIMEOUT_MS - 1)
    assert after.ask(member).member_epoch == 2
    after.coordinator.pass_time(SESSION_TIMEOUT_MS)
    assert after.described().group_state == "Empty"


def test_who_could_not_be_removed_is_removed_a_session_later(consumers: SimConsumerGroup) -> None:
    consumers.joins("a", "t")
    consumers.coordinator.next_append_error = NotEnoughReplicas()
    consumers.coordinator.pass_time(SESSION_TIMEOUT_MS)
    assert list(consumers.state.members) == ["a"]
    consumers.coordinator.pass_time(SESSION_TIMEOUT_MS)
    assert list(consumers.state.members) == []


def test_a_change_of_topics_that_could_not_be_stored_is_seen_again(
    consumers: SimConsumerGroup,
) -> None:
    member = consumers.joins("a", "t")
    consumers.set_topics({"t": 5, "u": 2})
    consumers.coordinator.pass_time(INTERVAL_MS)
    consumers.coordinator.next_append_error = NotEnoughReplicas()
    with pytest.raises(CoordinatorNotAvailable):
        consumers.ask(member)
    consumers.settles(member)
    assert member.owned == {"t": [0, 1, 2, 3, 4]}
