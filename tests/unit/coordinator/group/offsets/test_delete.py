"""What removes offsets, with those that open transactions have staged: their commit must not bring them back."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from millstream.coordinator.group.config import GroupCoordinatorConfig
from millstream.coordinator.group.context import TopicsDeleted, TransactionalCommit
from millstream.errors import NotEnoughReplicas
from millstream.metadata.image import MetadataImage, TopicImage, TopicsImage, frozen_mapping
from millstream.model import Offset, ProducerId, Uuid
from millstream.protocol.generated.delete_groups import DeleteGroupsRequest
from millstream.protocol.generated.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from millstream.protocol.generated.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from tests.support.coordinators.classic_group import SimGroup
from tests.support.coordinators.coordinator import SimCoordinator

PRODUCER, OTHER_PRODUCER = ProducerId(7), ProducerId(8)
FIRST, SECOND = Uuid(b"first topic of t"), Uuid(b"second one of t.")


def image(topics: Mapping[str, Uuid], offset: int = 1) -> MetadataImage:
    found = [TopicImage(name, topic_id, ()) for name, topic_id in topics.items()]
    return MetadataImage(
        offset=Offset(offset),
        topics=TopicsImage(
            frozen_mapping({topic.name: topic for topic in found}),
            frozen_mapping({topic.topic_id: topic for topic in found}),
        ),
    )


@pytest.fixture
def group() -> SimGroup:
    return SimGroup(SimCoordinator(GroupCoordinatorConfig(), image=image({"t": FIRST})))


def stage(
    group: SimGroup, offset: int, topic_id: Uuid = FIRST, producer: ProducerId = PRODUCER
) -> None:
    partition = TxnOffsetCommitRequestPartition(0, offset, -1, "")
    topics = [TxnOffsetCommitRequestTopic("t", [partition])]
    request = TxnOffsetCommitRequest("x", group.group_id, producer, 0, topics=topics)
    token = group.coordinator.send(TransactionalCommit(request, {"t": topic_id}), version=5)
    assert group.answer(token).topics[0].partitions[0].error_code == 0


def topics_become(group: SimGroup, topics: Mapping[str, Uuid]) -> None:
    before = group.coordinator.shard.image
    group.coordinator.shard.apply_image(image(topics, before.offset + 1))


def end(group: SimGroup, producer: ProducerId = PRODUCER) -> None:
    group.coordinator.end_transaction(producer, committed=True)


def position(group: SimGroup) -> int:
    (found,) = group.answer(group.fetch({"t": [0]})).groups[0].topics[0].partitions
    return int(found.committed_offset)


def held(group: SimGroup) -> list[tuple[str, int]]:
    return group.coordinator.shard.offsets.held_by_group(group.group_id)


def test_a_topic_that_is_deleted_and_made_again_has_no_offset_of_a_transaction(
    group: SimGroup,
) -> None:
    stage(group, 7)
    topics_become(group, {"t": SECOND})
    group.coordinator.send(TopicsDeleted(["t"]), version=0)
    assert held(group) == []
    end(group)
    assert position(group) == -1


def test_deleted_offsets_and_groups_have_none_either(group: SimGroup) -> None:
    named = [OffsetDeleteRequestTopic("t", [OffsetDeleteRequestPartition(0)])]
    for request, version in (
        (OffsetDeleteRequest("group", named), 0),
        (DeleteGroupsRequest(["group"]), 2),
    ):
        group.commit({("t", 0): 5}, topic_id=FIRST)
        stage(group, 7)
        group.coordinator.send(request, version=version)
        end(group)
        assert position(group) == -1
        assert held(group) == []


def test_a_coordinator_that_is_loaded_forgets_topics_that_were_deleted_meanwhile(
    group: SimGroup,
) -> None:
    """The broker died between the deletion and the tombstones."""
    group.commit({("t", 0): 5}, topic_id=FIRST)
    stage(group, 7)
    topics_become(group, {})
    loaded = SimGroup(group.coordinator.restarted())
    assert held(loaded) == []
    topics_become(loaded, {"t": SECOND})
    end(loaded)
    assert position(loaded) == -1


def test_what_a_loaded_coordinator_cannot_forget_at_once_it_forgets_later(group: SimGroup) -> None:
    group.commit({("t", 0): 5}, topic_id=FIRST)
    topics_become(group, {"t": SECOND})
    loaded = SimGroup(group.coordinator.restarted(next_append_error=NotEnoughReplicas()))
    assert held(loaded) == [("t", 0)]
    assert position(loaded) == -1
    loaded.coordinator.pass_time(1_000)
    assert held(loaded) == []


def test_an_offset_without_a_topic_id_is_kept_by_the_topic_of_its_name(group: SimGroup) -> None:
    """As Kafka writes those of transactions, and clients that say when their offsets expire get them."""
    group.commit({("t", 0): 5})
    group.commit({("gone", 0): 6})
    assert held(SimGroup(group.coordinator.restarted())) == [("t", 0)]


def test_a_coordinator_that_is_told_late_keeps_what_is_of_the_new_topic(group: SimGroup) -> None:
    stage(group, 7)
    topics_become(group, {"t": SECOND})
    group.commit({("t", 0): 3}, topic_id=SECOND)
    group.coordinator.send(TopicsDeleted(["t"]), version=0)
    end(group)
    assert position(group) == 3


def test_so_does_one_that_is_loaded(group: SimGroup) -> None:
    group.commit({("t", 0): 5}, topic_id=FIRST)
    topics_become(group, {"t": SECOND})
    stage(group, 3, SECOND, OTHER_PRODUCER)
    loaded = SimGroup(group.coordinator.restarted())
    assert position(loaded) == -1
    end(loaded, OTHER_PRODUCER)
    assert position(loaded) == 3
