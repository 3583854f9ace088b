"""Static members of consumer groups: an instance id is one place, and comes back to what it had."""

from __future__ import annotations

import pytest

from millstream.coordinator.group.consumer.group import ConsumerGroup
from millstream.errors import FencedInstanceId, UnknownMemberId, UnreleasedInstanceId
from millstream.protocol.generated.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from tests.support.coordinators.consumer_group import SimConsumerGroup


def test_a_place_that_is_taken_cannot_be_joined(consumers: SimConsumerGroup) -> None:
    consumers.joins("a", "t", instance_id="i")
    with pytest.raises(UnreleasedInstanceId):
        consumers.joins("b", "t", instance_id="i")


def test_who_leaves_for_a_while_gets_everything_back_in_the_same_epoch(
    consumers: SimConsumerGroup,
) -> None:
    first = consumers.joins("a", "t", instance_id="i")
    other = consumers.joins("x", "t")
    consumers.settles(first, other)
    had = first.owned
    consumers.leaves(first, for_a_while=True)
    assert consumers.state.members["a"].member_epoch == -2
    again = consumers.joins("b", "t", instance_id="i")
    assert (again.owned, again.epoch) == (had, 3)
    assert sorted(consumers.state.members) == ["b", "x"]


def test_who_does_not_come_back_within_the_session_is_removed(consumers: SimConsumerGroup) -> None:
    consumers.leaves(consumers.joins("a", "t", instance_id="i"), for_a_while=True)
    consumers.coordinator.pass_time(45_000)
    assert consumers.described().group_state == "Empty"


def test_the_process_that_was_replaced_is_fenced(consumers: SimConsumerGroup) -> None:
    old = consumers.joins("a", "t", instance_id="i")
    consumers.leaves(old, for_a_while=True)
    consumers.joins("b", "t", instance_id="i")
    with pytest.raises(FencedInstanceId):
        consumers.send(ConsumerGroupHeartbeatRequest("group", "a", 2, instance_id="i"))
    with pytest.raises(FencedInstanceId):
        consumers.send(ConsumerGroupHeartbeatRequest("group", "a", -1, instance_id="i"))


def test_an_instance_id_that_nobody_has_is_unknown(consumers: SimConsumerGroup) -> None:
    consumers.joins("a", "t", instance_id="i")
    for epoch in (2, -1, -2):
        with pytest.raises(UnknownMemberId):
            consumers.send(ConsumerGroupHeartbeatRequest("group", "a", epoch, instance_id="j"))


def test_a_newcomer_may_subscribe_to_something_else(consumers: SimConsumerGroup) -> None:
    consumers.leaves(consumers.joins("a", "t", instance_id="i"), for_a_while=True)
    consumers.coordinator.pass_time(1_100)
    again = consumers.joins("b", "u", instance_id="i")
    consumers.settles(again)
    assert again.owned == {"u": [0, 1]}


@pytest.mark.parametrize("before", [None, "i"])
def test_a_member_that_joins_again_in_another_place_has_what_it_had(
    consumers: SimConsumerGroup, before: str | None
) -> None:
    first = consumers.joins("a", "t", instance_id=before)
    had, epoch = first.owned, first.epoch
    again = consumers.joins("a", "t", instance_id="j")
    assert (again.owned, again.epoch) == (had, epoch)
    assert consumers.state.static_members == {"j": "a"}
    restarted = consumers.coordinator.restarted().shard.groups.find("group")
    assert isinstance(restarted, ConsumerGroup)
    assert restarted.static_members == {"j": "a"}
