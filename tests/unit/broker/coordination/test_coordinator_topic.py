"""Which partitions of an internal topic this broker coordinates, as the metadata change."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any, cast

import pytest

from millstream.broker.coordination.coordinator_partition import CoordinatorServices
from millstream.broker.coordination.coordinator_topic import CoordinatorKind, CoordinatorTopic
from millstream.broker.services import BackgroundTasks, Partitions
from millstream.errors import KafkaStorageError, NotCoordinator
from millstream.metadata.image import MetadataImage, PartitionImage, TopicImage, TopicsImage
from millstream.model import BrokerId, LeaderEpoch, Uuid

ME = BrokerId(1)
TOPIC = "__consumer_offsets"


class Offline:
    """Partitions whose log directory has failed."""

    def get(self, topic: str, partition: int) -> None:
        raise KafkaStorageError(f"{topic}-{partition} is offline")


def image(leader_epoch: int) -> MetadataImage:
    partition = PartitionImage(
        partition=0, replicas=(ME,), isr=(ME,), leader=ME, leader_epoch=LeaderEpoch(leader_epoch)
    )
    topic = TopicImage(name=TOPIC, topic_id=Uuid(b"t" * 16), partitions=(partition,))
    return MetadataImage(topics=TopicsImage(by_name=MappingProxyType({TOPIC: topic})))


def test_a_partition_whose_log_is_offline_is_told_once_in_each_leader_epoch(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Every image is applied, and each would tell it: a cluster may change many times a second."""
    topic = CoordinatorTopic(
        cast(
            "CoordinatorKind[Any]", CoordinatorKind(TOPIC, cast("Any", None), cast("Any", None))
        ),  # Any: no shard is made
        ME,
        partitions=cast("Partitions", Offline()),
        tasks=cast("BackgroundTasks", None),
        services=cast("CoordinatorServices", None),
    )
    for leader_epoch in (1, 1, 1, 2, 2):
        topic.apply(image(leader_epoch))
    assert caplog.text.count(f"{TOPIC}-0 is not coordinated: {TOPIC}-0 is offline") == 2
    with pytest.raises(NotCoordinator):
        topic.shard_of("g")
