"""Partitions go from one member to another: first given up, then given (KIP-848, reconciliation)."""

from __future__ import annotations

import pytest

from millstream.coordinator.group.consumer.member import ConsumerGroupMemberState
from millstream.errors import UnknownMemberId
from tests.support.coordinators.consumer_group import REBALANCE_TIMEOUT_MS, SimConsumerGroup


def state_of(consumers: SimConsumerGroup, member_id: str) -> ConsumerGroupMemberState:
    return consumers.state.members[member_id].state


def test_a_partition_is_given_when_its_owner_has_said_that_it_gave_it_up(
    consumers: SimConsumerGroup,
) -> None:
    first, second = consumers.joins("a", "t"), consumers.joins("b", "t")
    consumers.coordinator.pass_time(1_100)
    told = consumers.ask(first)
    assert told.assignment is not None
    kept = told.assignment.topic_partitions[0].partitions
    assert (told.member_epoch, len(kept)) == (2, 2)
    assert state_of(consumers, "a") is ConsumerGroupMemberState.UNREVOKED_PARTITIONS

    consumers.hears(second)
    assert (second.epoch, second.owned) == (3, {})
    assert state_of(consumers, "b") is ConsumerGroupMemberState.UNRELEASED_PARTITIONS
    assert consumers.described().group_state == "Reconciling"

    first.owned = {"t": kept}
    assert consumers.ask(first, says_owned=True).member_epoch == 3
    consumers.beats(second)
    assert sorted(kept + second.owned["t"]) == [0, 1, 2, 3]
    assert consumers.described().group_state == "Stable"


def test_until_then_it_is_described_as_its_owners(consumers: SimConsumerGroup) -> None:
    first = consumers.joins("a", "t")
    consumers.joins("b", "t")
    consumers.coordinator.pass_time(1_100)
    consumers.ask(first)
    member = next(m for m in consumers.described().members if m.member_id == "a")
    assert [each.partitions for each in member.assignment.topic_partitions] == [[0, 1, 2, 3]]
    assert [len(each.partitions) for each in member.target_assignment.topic_partitions] == [2]


def test_who_does_not_give_up_in_time_is_removed(consumers: SimConsumerGroup) -> None:
    first, second = consumers.joins("a", "t"), consumers.joins("b", "t")
    consumers.coordinator.pass_time(1_100)
    consumers.ask(first)
    for _ in range(3):
        consumers.coordinator.pass_time(REBALANCE_TIMEOUT_MS // 3)
        consumers.beats(second)
        if "a" in consumers.state.members:
            consumers.ask(first)
    with pytest.raises(UnknownMemberId):
        consumers.ask(first)
    consumers.settles(second)
    assert second.owned == {"t": [0, 1, 2, 3]}


def test_a_newer_target_counts_from_the_next_step_on(consumers: SimConsumerGroup) -> None:
    """The member that was to give up two partitions may keep them: who was to get them has gone."""
    first, second = consumers.joins("a", "t"), consumers.joins("b", "t")
    consumers.coordinator.pass_time(1_100)
    consumers.hears(first)
    consumers.leaves(second)
    consumers.settles(first)
    assert first.owned == {"t": [0, 1, 2, 3]}


def test_topics_that_a_member_no_longer_reads_are_taken_at_once(
    consumers: SimConsumerGroup,
) -> None:
    member = consumers.joins("a", "t", "u")
    consumers.changes(member, ["u"])
    assert member.owned == {"u": [0, 1]}
    assert state_of(consumers, "a") is ConsumerGroupMemberState.UNREVOKED_PARTITIONS
    consumers.settles(member)
    assert (member.owned, member.epoch) == ({"u": [0, 1]}, 3)


def test_time_to_give_up_begins_anew_with_a_new_coordinator(consumers: SimConsumerGroup) -> None:
    first = consumers.joins("a", "t")
    consumers.joins("b", "t")
    consumers.coordinator.pass_time(1_100)
    consumers.ask(first)
    after = SimConsumerGroup(consumers.coordinator.restarted())
    after.set_topics({"t": 4, "u": 2})
    after.coordinator.pass_time(REBALANCE_TIMEOUT_MS - 1)
    assert "a" in after.state.members
    after.coordinator.pass_time(1)
    assert "a" not in after.state.members
