"""Who may commit and read the offsets of a streams group (KIP-1071, as KIP-848 has it for consumer groups)."""

from __future__ import annotations

import pytest

from millstream.errors import (
    KafkaError,
    StaleMemberEpoch,
    UnknownMemberId,
    UnsupportedVersion,
)
from millstream.protocol.generated.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from tests.support.coordinators.coordinator import topics_image
from tests.support.coordinators.streams_group import GROUP, SimStreamsGroup, Tasks


def commit(
    group: SimStreamsGroup, member_id: str, epoch: int, partition: int = 0, version: int = 9
) -> None:
    """Of one partition of the topic `in`. Raises the error it is refused with."""
    request = OffsetCommitRequest(
        group_id=GROUP,
        member_id=member_id,
        generation_id_or_member_epoch=epoch,
        topics=[
            OffsetCommitRequestTopic(
                name="in",
                topic_id=topics_image({"in": 1}).by_name["in"].topic_id,
                partitions=[
                    OffsetCommitRequestPartition(partition_index=partition, committed_offset=5)
                ],
            )
        ],
    )
    token = group.coordinator.send(request, version=version)
    outcome = group.coordinator.outcomes[token]
    if isinstance(outcome, KafkaError):
        raise outcome
    assert isinstance(outcome, OffsetCommitResponse)


def committed(group: SimStreamsGroup, partition: int = 0) -> bool:
    return group.coordinator.shard.offsets.find(GROUP, "in", partition) is not None


def test_a_member_commits_in_its_epoch(group: SimStreamsGroup) -> None:
    group.join("a")
    commit(group, "a", 2)
    assert committed(group)


def test_an_older_epoch_may_commit_tasks_that_were_held_in_it(group: SimStreamsGroup) -> None:
    group.join("a")
    group.join("b")
    group.settle()
    assert group.members["a"].epoch == 3
    commit(group, "a", 2, partition=1)
    assert committed(group, 1)


def test_an_older_epoch_may_not_commit_tasks_that_are_gone(group: SimStreamsGroup) -> None:
    group.join("a")
    group.join("b")
    group.settle()
    assert group.members["b"].held == Tasks("0_2 0_3")
    with pytest.raises(StaleMemberEpoch):
        commit(group, "a", 2, partition=2)


def test_tasks_that_are_being_given_back_may_still_be_committed(group: SimStreamsGroup) -> None:
    group.join("a")
    group.join("b")
    group.heartbeat("a")
    commit(group, "a", 2, partition=3)
    assert committed(group, 3)


def test_an_epoch_that_has_not_come_yet_is_refused(group: SimStreamsGroup) -> None:
    group.join("a")
    with pytest.raises(StaleMemberEpoch, match="newer than current member epoch 2"):
        commit(group, "a", 3)


def test_members_need_a_version_that_knows_their_errors(group: SimStreamsGroup) -> None:
    group.join("a")
    with pytest.raises(UnsupportedVersion):
        commit(group, "a", 2, version=8)


def test_only_members_commit_while_there_are_any(group: SimStreamsGroup) -> None:
    group.join("a")
    with pytest.raises(UnknownMemberId):
        commit(group, "", -1)
    group.leave("a")
    commit(group, "", -1)
    assert committed(group)


def test_readers_must_be_in_their_epoch(group: SimStreamsGroup) -> None:
    group.join("a")
    group.state.check_may_fetch_offsets(None, -1)
    group.state.check_may_fetch_offsets("a", 2)
    with pytest.raises(StaleMemberEpoch):
        group.state.check_may_fetch_offsets("a", 1)
    with pytest.raises(UnknownMemberId):
        group.state.check_may_fetch_offsets("b", 2)


def test_topics_that_are_read_are_subscribed_to_while_there_are_members(
    group: SimStreamsGroup,
) -> None:
    group.join("a")
    assert set(group.state.subscribed_topics()) == {"in"}
    group.leave("a")
    assert set(group.state.subscribed_topics()) == set()
