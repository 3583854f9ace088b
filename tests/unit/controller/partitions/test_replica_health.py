"""What is out of sync, without a leader, led elsewhere or on the move, counted as Kafka counts it."""

from __future__ import annotations

from typing import Any

import pytest

from millstream.controller.partitions.replica_health import (
    ReplicaHealth,
    all_partitions,
    replica_health,
)
from millstream.controller.partitions.topic_replication import (
    TopicReplication,
    reader_of_all,
    replication_reader,
)
from millstream.metadata.config_resource import ConfigResource
from millstream.metadata.image import (
    NO_LEADER,
    MetadataImage,
    PartitionImage,
    TopicImage,
    TopicsImage,
    frozen_mapping,
)
from millstream.model import ZERO_UUID, BrokerId
from millstream.protocol.enums import ConfigResourceType


def two_in_sync(_topic: str) -> TopicReplication:
    return TopicReplication(min_insync_replicas=2)


def partition(
    replicas: tuple[int, ...], isr: tuple[int, ...], leader: int | None = None, **more: Any
) -> PartitionImage:
    return PartitionImage(
        partition=0,
        replicas=tuple(map(BrokerId, replicas)),
        isr=tuple(map(BrokerId, isr)),
        leader=BrokerId((isr or (NO_LEADER,))[0] if leader is None else leader),
        **more,
    )


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (partition((1, 2, 3), (1, 2, 3)), ReplicaHealth(partitions=1)),
        (partition((1, 2, 3), (1, 3)), ReplicaHealth(1, under_replicated=1, at_min_isr=1)),
        (partition((1, 2, 3), (1,)), ReplicaHealth(1, under_replicated=1, under_min_isr=1)),
        (partition((1, 2, 3), ()), ReplicaHealth(1, 1, 1, 1)),
        (partition((1,), (1,)), ReplicaHealth(1, at_min_isr=1)),
        (partition((1,), ()), ReplicaHealth(1, 1, 1, 1)),
        (partition((1, 2, 3), (1, 2, 3), 2), ReplicaHealth(1, led_elsewhere=1)),
        (
            partition((4, 2, 3, 1), (1, 2, 3), adding_replicas=(4,), removing_replicas=(1,)),
            ReplicaHealth(1, led_elsewhere=1, reassigning=1),
        ),
    ],
)
def test_one_partition_of_which_two_replicas_must_be_in_sync(
    found: PartitionImage, expected: ReplicaHealth
) -> None:
    assert replica_health([("t", found)], two_in_sync) == expected


def test_partitions_are_added_up() -> None:
    some = [partition((1, 2), (1, 2)), partition((1, 2), (2,)), partition((2, 1), ())]
    found = replica_health([("t", each) for each in some], lambda _: TopicReplication())
    assert found == ReplicaHealth(3, 1, 2, 1, 1, 1)


def test_the_least_is_the_topics_own_else_that_of_brokers() -> None:
    names = ("own", "broken", "none")
    topics = {name: TopicImage(name, ZERO_UUID, (partition((1,), (1,)),)) for name in names}
    configs = {
        ConfigResource(ConfigResourceType.TOPIC, name): frozen_mapping(
            {"min.insync.replicas": value, "unclean.leader.election.enable": "true"}
        )
        for name, value in (("own", "3"), ("broken", "many"))
    }
    image = MetadataImage(
        topics=TopicsImage(frozen_mapping(topics)), configs=frozen_mapping(configs)
    )
    for reader in (replication_reader, reader_of_all):
        settings = reader(image, {"min.insync.replicas": "2"})
        assert [settings(name).min_insync_replicas for name in names] == [3, 2, 2]
        assert settings("own").unclean_leader_election_enable
        assert not settings("none").unclean_leader_election_enable
        assert reader(image, {})("none") == TopicReplication()
    assert [name for name, _ in all_partitions(image)] == [*names]
