"""Brokers with several data directories tell which one each of their replicas lives in (KIP-858). Pure."""

from __future__ import annotations

from collections.abc import Iterator

from millstream.controller.brokers.broker_lifecycle import registered_broker
from millstream.controller.result import ControllerResult
from millstream.errors import NotLeaderOrFollower, UnknownTopicId, UnknownTopicOrPartition
from millstream.metadata.directory_ids import assigned_directory
from millstream.metadata.image import MetadataImage, PartitionImage
from millstream.model import BrokerId, Uuid
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
    request: AssignReplicasToDirsRequest, image: MetadataImage
) -> ControllerResult[AssignReplicasToDirsResponse]:
    """Assigns replicas to data directories.

    Raises BrokerIdNotRegistered, StaleBrokerEpoch; a partition's own error is in the response.
    """
    broker_id = registered_broker(image, request.broker_id, request.broker_epoch).broker_id
    records = [
        record
        for directory in request.directories
        for record in _assignments(directory, image, broker_id)
    ]
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


def _assignments(
    directory: AssignReplicasToDirsRequestDirectoryData, image: MetadataImage, broker_id: BrokerId
) -> Iterator[PartitionChangeRecord]:
    for topic in directory.topics:
        for asked in topic.partitions:
            if _error_code(image, topic.topic_id, asked.partition_index, broker_id):
                continue
            partition = image.topics.by_id[topic.topic_id].partitions[asked.partition_index]
            if assigned_directory(partition, broker_id) != directory.id:
                yield PartitionChangeRecord(
                    partition_id=asked.partition_index,
                    topic_id=topic.topic_id,
                    directories=_moved(partition, broker_id, directory.id),
                )


def _moved(partition: PartitionImage, broker_id: BrokerId, directory_id: Uuid) -> list[Uuid]:
    return [
        directory_id if replica == broker_id else assigned_directory(partition, replica)
        for replica in partition.replicas
    ]


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
