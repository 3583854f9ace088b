"""Who may commit and fetch offsets of a consumer group, and what becomes of them."""

from __future__ import annotations

import pytest

from millstream.errors import (
    GroupIdNotFound,
    NonEmptyGroup,
    StaleMemberEpoch,
    UnknownMemberId,
    UnsupportedVersion,
)
from millstream.protocol.generated.delete_groups import DeleteGroupsRequest
from millstream.protocol.generated.list_groups import ListGroupsRequest
from millstream.protocol.generated.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from millstream.protocol.generated.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from tests.support.coordinators.classic_group import SimGroup
from tests.support.coordinators.consumer_group import SimConsumerGroup

GROUP_SUBSCRIBED_TO_TOPIC = 86
RETENTION_MS = 7 * 24 * 3_600_000


def commits(
    consumers: SimConsumerGroup, member_id: str, epoch: int, partition: int = 0, version: int = 9
) -> None:
    """Raises what it is refused with."""
    group = SimGroup(consumers.coordinator)
    token = group.commit(
        {("t", partition): 5},
        member_id=member_id,
        generation=epoch,
        version=version,
        topic_id=consumers.coordinator.shard.image.topics.by_name["t"].topic_id,
    )
    assert group.answer(token).topics[0].partitions[0].error_code == 0


def fetches(consumers: SimConsumerGroup, member_id: str | None, epoch: int) -> int:
    """The committed offset of t-0. Raises what it is refused with."""
    group = SimGroup(consumers.coordinator)
    asked = OffsetFetchRequestGroup(
        "group", member_id, epoch, [OffsetFetchRequestTopics("t", partition_indexes=[0])]
    )
    request = OffsetFetchRequest(groups=[asked])
    token = consumers.coordinator.send(request, version=9)
    return int(group.answer(token).groups[0].topics[0].partitions[0].committed_offset)


def test_members_commit_and_fetch_in_their_epoch(consumers: SimConsumerGroup) -> None:
    consumers.joins("a", "t")
    commits(consumers, "a", 2)
    assert fetches(consumers, "a", 2) == 5


def test_administrators_fetch_without_a_name_and_commit_when_nobody_is_there(
    consumers: SimConsumerGroup,
) -> None:
    member = consumers.joins("a", "t")
    assert fetches(consumers, None, -1) == -1
    with pytest.raises(UnknownMemberId):
        commits(consumers, "", -1)
    consumers.leaves(member)
    commits(consumers, "", -1)
    assert fetches(consumers, None, -1) == 5


def test_who_is_ahead_or_unknown_is_refused(consumers: SimConsumerGroup) -> None:
    consumers.joins("a", "t")
    with pytest.raises(StaleMemberEpoch):
        commits(consumers, "a", 3)
    with pytest.raises(UnknownMemberId):
        commits(consumers, "b", 2)
    with pytest.raises(StaleMemberEpoch):
        fetches(consumers, "a", 1)
    with pytest.raises(UnknownMemberId):
        fetches(consumers, "b", 2)


def test_who_is_behind_may_commit_for_what_it_has_owned_since(consumers: SimConsumerGroup) -> None:
    first, second = consumers.joins("a", "t"), consumers.joins("b", "t")
    consumers.settles(first, second)
    kept, got = first.owned["t"][0], second.owned["t"][0]
    commits(consumers, "a", 2, kept)
    with pytest.raises(StaleMemberEpoch):
        commits(consumers, "b", 2, got)
    with pytest.raises(StaleMemberEpoch):
        commits(consumers, "a", 2, got)
    commits(consumers, "b", 3, got)


def test_members_must_speak_of_epochs(consumers: SimConsumerGroup) -> None:
    """Version 8 of OffsetCommit knows generations only."""
    consumers.joins("a", "t")
    with pytest.raises(UnsupportedVersion):
        commits(consumers, "a", 2, version=8)


def test_a_commit_is_no_heartbeat(consumers: SimConsumerGroup) -> None:
    consumers.joins("a", "t")
    for _ in range(3):
        consumers.coordinator.pass_time(15_000)
        if "a" in consumers.state.members:
            commits(consumers, "a", 2)
    assert consumers.described().group_state == "Empty"


def test_offsets_of_topics_that_are_read_cannot_be_deleted(consumers: SimConsumerGroup) -> None:
    consumers.joins("a", "t")
    commits(consumers, "a", 2)
    partitions = [OffsetDeleteRequestPartition(0)]
    request = OffsetDeleteRequest(
        "group",
        [OffsetDeleteRequestTopic("t", partitions), OffsetDeleteRequestTopic("u", partitions)],
    )
    token = consumers.coordinator.send(request, version=0)
    answer = SimGroup(consumers.coordinator).answer(token)
    codes = [each.partitions[0].error_code for each in answer.topics]
    assert codes == [GROUP_SUBSCRIBED_TO_TOPIC, 0]
    assert fetches(consumers, None, -1) == 5


def test_offsets_of_topics_that_nobody_reads_are_deleted(consumers: SimConsumerGroup) -> None:
    consumers.leaves(consumers.joins("a", "t"))
    commits(consumers, "", -1)
    topic = OffsetDeleteRequestTopic("t", [OffsetDeleteRequestPartition(0)])
    request = OffsetDeleteRequest("group", [topic])
    token = consumers.coordinator.send(request, version=0)
    assert SimGroup(consumers.coordinator).answer(token).topics[0].partitions[0].error_code == 0
    assert fetches(consumers, None, -1) == -1


def test_a_group_with_members_cannot_be_deleted(consumers: SimConsumerGroup) -> None:
    member = consumers.joins("a", "t")
    request = DeleteGroupsRequest(["group"])
    coordinator, group = consumers.coordinator, SimGroup(consumers.coordinator)
    refused = group.answer(coordinator.send(request, version=2))
    assert refused.results[0].error_code == NonEmptyGroup.code
    consumers.leaves(member)
    done = group.answer(coordinator.send(request, version=2))
    assert done.results[0].error_code == 0
    assert coordinator.restarted().shard.groups.find("group") is None


def test_an_empty_group_goes_with_its_last_offset(consumers: SimConsumerGroup) -> None:
    consumers.leaves(consumers.joins("a", "t"))
    commits(consumers, "", -1)
    consumers.coordinator.pass_time(RETENTION_MS - 1)
    assert fetches(consumers, None, -1) == 5
    consumers.coordinator.pass_time(700_000)
    with pytest.raises(GroupIdNotFound):
        _ = consumers.state


def test_offsets_of_topics_that_are_read_do_not_expire(consumers: SimConsumerGroup) -> None:
    member = consumers.joins("a", "t")
    commits(consumers, "a", 2)
    for _ in range(RETENTION_MS // 40_000 + 20):
        consumers.coordinator.pass_time(40_000)
        consumers.beats(member)
    assert fetches(consumers, None, -1) == 5


def test_groups_are_listed_with_their_kind_and_state(consumers: SimConsumerGroup) -> None:
    consumers.joins("a", "t")
    SimGroup(consumers.coordinator, "other").commit({("t", 0): 1})
    token = consumers.coordinator.send(ListGroupsRequest([], ["Consumer"]), version=5)
    (listed,) = SimGroup(consumers.coordinator).answer(token).groups
    assert (listed.group_id, listed.protocol_type, listed.group_state, listed.group_type) == (
        "group", "consumer", "Stable", "consumer",
    )  # fmt: skip
