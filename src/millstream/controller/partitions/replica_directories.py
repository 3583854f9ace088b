"""Brokers with several data directories tell which one each of their replicas lives in (KIP-858). Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from millstream.controller.brokers.broker_lifecycle import registered_broker
from millstream.controller.operation import ControllerApi, ControllerContext, ControllerResult
from millstream.controller.partitions.leadership import plan_replicas_lost
from millstream.controller.partitions.partition_change import PartitionTarget
from millstream.errors import (
    NotLeaderOrFollower,
    UnknownTopicId,
    UnknownTopicOrPartition,
    UnsupportedVersion,
)
from millstream.metadata.directory_ids import is_online
from millstream.metadata.features import Capability, can
from millstream.metadata.image import MetadataImage, PartitionImage, TopicImage
from millstream.model import BrokerId, Uuid
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.assign_replicas_to_dirs import (
    AssignReplicasToDirsRequest,
    AssignReplicasToDirsRequestDirectoryData,
    AssignReplicasToDirsRequestTopicData,
    AssignReplicasToDirsResponse,
    AssignReplicasToDirsResponseDirectoryData,
    AssignReplicasToDirsResponsePartitionData,
    AssignReplicasToDirsResponseTopicData,
)
from millstream.protocol.generated.metadata_records import PartitionChangeRecord


def plan_replica_directories(
    context: ControllerContext, request: AssignReplicasToDirsRequest
) -> ControllerResult[AssignReplicasToDirsResponse]:
    """Assigns replicas to data directories.

    Raises UnsupportedVersion, StaleBrokerEpoch; a partition's own error is in the response.
    """
    image, changes = context.image, context.partition_changes()
    if not can(image, Capability.DIRECTORY_ASSIGNMENT):
        raise UnsupportedVersion("Directory assignment is not supported yet.")
    broker = registered_broker(image, request.broker_id, request.broker_epoch)
    broker_id = broker.broker_id
    records: list[PartitionChangeRecord] = []
    lost: dict[tuple[Uuid, int], tuple[TopicImage, PartitionImage]] = {}
    for directory in request.directories:
        moved = PartitionTarget(directories={broker_id: directory.id})
        for topic, partition in _assigned(directory, image, broker_id):
            record = changes.change(topic, partition, moved)
            if record is not None:
                records.append(record)
            if not is_online(directory.id, broker.log_directories):
                lost[topic.topic_id, partition.partition] = topic, partition
    records += plan_replicas_lost(changes, broker_id, lost.values())
    response = AssignReplicasToDirsResponse(
        directories=[
            AssignReplicasToDirsResponseDirectoryData(
                id=directory.id,
                topics=[_answer(topic, image, broker_id) for topic in directory.topics],
            )
            for directory in request.directories
        ]
    )
    return ControllerResult(tuple(records), response)


ASSIGN_REPLICAS_TO_DIRS: Final = ControllerApi(
    ApiKey.ASSIGN_REPLICAS_TO_DIRS,
    plan_replica_directories,
    lambda request, _image: sum(
        len(topic.partitions) for directory in request.directories for topic in directory.topics
    ),
)


def _assigned(
    directory: AssignReplicasToDirsRequestDirectoryData, image: MetadataImage, broker_id: BrokerId
) -> Iterator[tuple[TopicImage, PartitionImage]]:
    for topic in directory.topics:
        for asked in topic.partitions:
            if not _error_code(image, topic.topic_id, asked.partition_index, broker_id):
                known = image.topics.by_id[topic.topic_id]
                yield known, known.partitions[asked.partition_index]


def _answer(
    topic: AssignReplicasToDirsRequestTopicData, image: MetadataImage, broker_id: BrokerId
) -> AssignReplicasToDirsResponseTopicData:
    return AssignReplicasToDirsResponseTopicData(
        topic_id=topic.topic_id,
        partitions=[
            AssignReplicasToDirsResponsePartitionData(
                partition_index=asked.partition_index,
                error_code=_error_code(image, topic.topic_id, asked.partition_index, broker_id),
            )
            for asked in topic.partitions
        ],
    )


def _error_code(image: MetadataImage, topic_id: Uuid, number: int, broker_id: BrokerId) -> int:
    topic = image.topic_by_id(topic_id)
    if topic is None:
        return UnknownTopicId.code
    if not 0 <= number < len(topic.partitions):
        return UnknownTopicOrPartition.code
    return 0 if broker_id in topic.partitions[number].replicas else NotLeaderOrFollower.code
