"""Start offsets of a share group, set and forgotten by administrators; deleting the group (KIP-932)."""

from __future__ import annotations

import pytest

from millstream.coordinator.group.share.offsets import AlterOutcome, DeleteOutcome, Deletion
from millstream.coordinator.group.share.requests import (
    DeleteGroupState,
    InitializedPartitions,
    OffsetsDeleted,
    PartitionsInitialized,
)
from millstream.errors import GroupIdNotFound, NonEmptyGroup, UnknownTopicOrPartition
from millstream.protocol.generated.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsRequestPartition,
    AlterShareGroupOffsetsRequestTopic,
)
from millstream.protocol.generated.delete_share_group_offsets import (
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsRequestTopic,
)
from millstream.protocol.generated.group_records import (
    ShareGroupStatePartitionMetadataValue,
    TopicPartitionsInfo,
)
from millstream.protocol.record_frames import decode_group_record
from tests.support.coordinators.coordinator import LogEntry, topics_image
from tests.support.coordinators.share_group import GROUP, SimShareGroup

ORDERS = topics_image({"orders": 1}).by_name["orders"].topic_id


def alter(group: SimShareGroup, *places: tuple[str, int, int]) -> AlterOutcome:
    topics = [
        AlterShareGroupOffsetsRequestTopic(
            name, [AlterShareGroupOffsetsRequestPartition(number, offset)]
        )
        for name, number, offset in places
    ]
    outcome = group.ask(AlterShareGroupOffsetsRequest(group_id=GROUP, topics=topics))
    assert isinstance(outcome, AlterOutcome)
    return outcome


def delete(group: SimShareGroup, *names: str) -> DeleteOutcome:
    topics = [DeleteShareGroupOffsetsRequestTopic(name) for name in names]
    outcome = group.ask(DeleteShareGroupOffsetsRequest(group_id=GROUP, topics=topics))
    assert isinstance(outcome, DeleteOutcome)
    return outcome


def used(group: SimShareGroup) -> None:
    """A group that has read all four partitions of `orders` and has no members now."""
    group.join("ann")
    group.settle()
    group.leave("ann")


def test_setting_offsets_makes_the_group(group: SimShareGroup) -> None:
    outcome = alter(group, ("orders", 1, 40))
    asked = outcome.to_initialize
    assert asked is not None
    assert asked.start_offsets == {(ORDERS, 1): 40}
    assert asked.partitions == {ORDERS: {1}}
    assert group.state.state_partitions.initializing == {ORDERS: {1}}
    described = group.describe()
    assert (described.group_state, described.group_epoch, described.assignment_epoch) == (
        "Empty", 1, 1,
    )  # fmt: skip


def test_setting_offsets_fences_whoever_leads_the_partition(group: SimShareGroup) -> None:
    used(group)
    asked = alter(group, ("orders", 0, 40)).to_initialize
    assert asked is not None
    assert asked.state_epoch == group.state.epoch


def test_offsets_of_what_does_not_exist(group: SimShareGroup) -> None:
    outcome = alter(group, ("orders", 9, 1), ("nothing", 0, 1))
    assert outcome.to_initialize is None
    codes = [p.error_code for topic in outcome.response.responses for p in topic.partitions]
    assert codes == [UnknownTopicOrPartition.code] * 2


def test_unknown_partitions_of_a_topic_make_the_group(group: SimShareGroup) -> None:
    """What Kafka 4.3.1 writes (kafka-dump-log): record 15 with the topic to initialise and no partitions of it."""
    alter(group, ("orders", 9, 1), ("orders", -1, 1))
    described = group.describe()
    assert (described.error_code, described.group_state, described.group_epoch) == (0, "Empty", 1)
    (entry,) = group.coordinator.log
    assert isinstance(entry, LogEntry)
    _, value = decode_group_record(entry.key, entry.value)
    assert value == ShareGroupStatePartitionMetadataValue(
        initializing_topics=[TopicPartitionsInfo(ORDERS, "orders", [])]
    )


def test_unknown_topics_make_no_group(group: SimShareGroup) -> None:
    alter(group, ("nothing", 0, 1))
    alter(group)
    assert group.describe().error_code == GroupIdNotFound.code


def test_a_group_that_unknown_partitions_made_is_used_like_any_other(group: SimShareGroup) -> None:
    alter(group, ("orders", 9, 1))
    refused = delete(group, "orders").refused
    assert [each.error_code for each in refused] == [UnknownTopicOrPartition.code]
    group.join("ann")
    assert group.settle() == {"ann": "orders:0 orders:1 orders:2 orders:3"}


def test_a_topic_named_twice_has_the_partitions_of_both(group: SimShareGroup) -> None:
    asked = alter(group, ("orders", 0, 40), ("orders", 1, 41)).to_initialize
    assert asked is not None
    assert asked.partitions == {ORDERS: {0, 1}}
    assert asked.start_offsets == {(ORDERS, 0): 40, (ORDERS, 1): 41}


def test_a_group_with_members_is_left_alone(group: SimShareGroup) -> None:
    group.join("ann")
    with pytest.raises(NonEmptyGroup):
        alter(group, ("orders", 0, 1))
    with pytest.raises(NonEmptyGroup):
        delete(group, "orders")
    with pytest.raises(NonEmptyGroup):
        group.ask(DeleteGroupState(GROUP))


def test_deleted_offsets_are_not_assigned_until_they_are_initialised_again(
    group: SimShareGroup,
) -> None:
    used(group)
    outcome = delete(group, "orders")
    assert outcome.to_delete == Deletion(GROUP, {ORDERS: frozenset(range(4))})
    assert group.state.state_partitions.deleting == {ORDERS}
    group.ask(OffsetsDeleted(GROUP, frozenset({ORDERS})))
    assert group.state.state_partitions.is_empty()
    group.join("ann")
    assert len(group.asked) == 2
    assert group.settle() == {"ann": "orders:0 orders:1 orders:2 orders:3"}


def test_a_deletion_that_failed_half_way_can_be_asked_for_again(group: SimShareGroup) -> None:
    used(group)
    first = delete(group, "orders")
    assert delete(group, "orders").to_delete == first.to_delete


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("nothing", UnknownTopicOrPartition.sentence),
        ("returns", "There is no offset information to delete."),
    ],
)
def test_offsets_that_are_not_there(group: SimShareGroup, name: str, sentence: str) -> None:
    group.set_topics(orders=4, returns=1)
    used(group)
    outcome = delete(group, name)
    (refused,) = outcome.refused
    assert (refused.error_code, refused.error_message) == (UnknownTopicOrPartition.code, sentence)
    assert outcome.to_delete.partitions == {}


def test_deleting_offsets_of_a_group_that_does_not_exist(group: SimShareGroup) -> None:
    with pytest.raises(GroupIdNotFound):
        delete(group, "orders")


def test_the_state_of_a_group_goes_before_the_group(group: SimShareGroup) -> None:
    used(group)
    assert group.ask(DeleteGroupState(GROUP)) == Deletion(GROUP, {ORDERS: frozenset(range(4))})
    assert group.ask(InitializedPartitions(GROUP)) == {}


def test_a_group_of_no_known_name_has_no_state(group: SimShareGroup) -> None:
    assert group.ask(DeleteGroupState("nobody")) == Deletion("nobody", {})
    assert group.ask(InitializedPartitions("nobody")) == {}


def test_what_is_initialised_after_the_group_is_gone_is_nobodys(group: SimShareGroup) -> None:
    assert group.ask(PartitionsInitialized("nobody", {ORDERS: frozenset({0})})) is None
