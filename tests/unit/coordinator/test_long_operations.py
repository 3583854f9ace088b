"""What a shard says of what is asked of it: whether it is so much that a thread should do it."""

from __future__ import annotations

import pytest

from millstream.coordinator.group.config import GroupCoordinatorConfig
from millstream.coordinator.group.context import GroupTimer, GroupTimerKind, TopicsDeleted
from millstream.coordinator.group.offsets.records import offset_commit_record
from millstream.coordinator.share.context import InitializeState, ReadState, WriteState
from millstream.coordinator.share.state import SharePartitionKey, StateChange
from millstream.coordinator.share.state_batch import StateBatch
from millstream.metadata.image import MetadataImage
from millstream.model import NO_PRODUCER_ID, Offset, ProducerId
from millstream.protocol.generated.add_partitions_to_txn import (
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from millstream.protocol.generated.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from millstream.protocol.generated.delete_groups import DeleteGroupsRequest
from millstream.protocol.generated.group_records import OffsetCommitValue
from millstream.protocol.generated.join_group import JoinGroupRequest
from millstream.protocol.generated.offset_commit import OffsetCommitRequest
from tests.support.coordinators.classic_group import JoinSettings, SimGroup
from tests.support.coordinators.consumer_group import SimConsumerGroup
from tests.support.coordinators.coordinator import SimCoordinator
from tests.support.coordinators.share_state import SimShareState
from tests.support.coordinators.streams_group import (
    GROUP,
    SimStreamsGroup,
    subtopology,
    topics_image,
)
from tests.support.coordinators.transactions import SimTransactions

MANY = 2_000


def consumers(partitions: int) -> SimConsumerGroup:
    group = SimConsumerGroup(SimCoordinator(GroupCoordinatorConfig()))
    group.set_topics({"t": partitions})
    group.joins("m", "t")
    return group


def takes_long(group: SimConsumerGroup) -> tuple[bool, bool]:
    """A heartbeat of a member, and the end of its session."""
    shard = group.coordinator.shard
    heartbeat = ConsumerGroupHeartbeatRequest(group_id=group.group_id, member_id="m")
    session = GroupTimer(GroupTimerKind.SESSION, group.group_id, "m")
    return shard.takes_long(heartbeat), shard.takes_long(session)


def test_a_group_on_very_many_partitions_takes_long() -> None:
    assert takes_long(consumers(MANY)) == (True, True)
    assert takes_long(consumers(10)) == (False, False)


def test_a_group_whose_topic_grows_takes_long_from_then_on() -> None:
    group = consumers(10)
    assert takes_long(group) == (False, False)
    group.set_topics({"t": MANY})
    assert takes_long(group) == (True, True)


def test_a_member_that_brings_very_many_partitions_takes_long() -> None:
    group = consumers(10)
    group.set_topics({"t": 10, "large": MANY})
    shard = group.coordinator.shard
    heartbeat = ConsumerGroupHeartbeatRequest(group_id="new", subscribed_topic_names=["large"])
    assert shard.takes_long(heartbeat)
    heartbeat.subscribed_topic_names = ["t"]
    assert not shard.takes_long(heartbeat)


def test_commits_of_a_large_group_do_not_take_long() -> None:
    group = consumers(MANY)
    assert not group.coordinator.shard.takes_long(OffsetCommitRequest(group_id=group.group_id))


@pytest.mark.parametrize("producer", [NO_PRODUCER_ID, ProducerId(7)])
def test_what_looks_at_very_many_offsets_takes_long_also_where_they_are_only_staged(
    producer: ProducerId,
) -> None:
    of_all = (
        TopicsDeleted(["t"]),
        GroupTimer(GroupTimerKind.MISSING_TOPICS),
        GroupTimer(GroupTimerKind.OFFSET_EXPIRY),
    )
    of_one = DeleteGroupsRequest(["g"])
    shard = consumers(10).coordinator.shard
    assert not any(map(shard.takes_long, (*of_all, of_one)))
    for partition in range(501):
        record = offset_commit_record("g", "t", partition, OffsetCommitValue(offset=1))
        shard.replay(Offset(partition), record.in_transaction(producer, 0))
    assert all(map(shard.takes_long, (*of_all, of_one)))


def test_a_topology_of_very_many_names_takes_long() -> None:
    for count, expected in ((MANY, True), (10, False)):
        changelogs = [f"c{number}" for number in range(count)]
        group = SimStreamsGroup(
            SimCoordinator(GroupCoordinatorConfig()),
            {"in": 1},
            subtopology(sources=["in"], changelogs=changelogs),
        )
        group.join("a")
        timer = GroupTimer(GroupTimerKind.INITIAL_REBALANCE, GROUP)
        assert group.coordinator.shard.takes_long(timer) is expected


def test_a_classic_group_with_very_many_protocols_takes_long() -> None:
    for count, expected in ((MANY, True), (10, False)):
        group = SimGroup(SimCoordinator(GroupCoordinatorConfig()))
        group.enter(settings=JoinSettings({f"p{number}": b"" for number in range(count)}))
        join = JoinGroupRequest(group_id=group.group_id)
        assert group.coordinator.shard.takes_long(join) is expected


ORDERS = topics_image({"orders": 1}).by_name["orders"].topic_id
KEY = SharePartitionKey("workers", ORDERS, 0)


def test_share_state_of_very_many_ranges_takes_long() -> None:
    world = SimShareState(MetadataImage(topics=topics_image({"orders": 1})))
    world.ask(InitializeState(KEY, 1, 0))
    ranges = tuple(StateBatch(2 * n, 2 * n, 0, 1) for n in range(MANY))
    little, much = (WriteState(KEY, 1, StateChange(0, 0, 0, some)) for some in (ranges[:5], ranges))
    assert [world.shard.takes_long(each) for each in (little, much)] == [False, True]
    world.ask(much)
    asked = (little, ReadState(KEY, 0), InitializeState(KEY, 2, 0))
    assert [world.shard.takes_long(each) for each in asked] == [True, True, True]


def test_one_more_partition_of_a_very_large_transaction_takes_long() -> None:
    world = SimTransactions()
    producer = world.init()
    one = AddPartitionsToTxnTransaction("x", *producer, False, [AddPartitionsToTxnTopic("t", [0])])
    assert not world.shard.takes_long(one)
    world.add(producer, *(("t", number) for number in range(MANY)))
    assert world.shard.takes_long(one)
