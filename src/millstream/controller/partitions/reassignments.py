"""AlterPartitionReassignments: replicas move to other brokers, or a move is called off (KIP-455).

A move first adds replicas, which then catch up; it is done once all of its target is in sync. Where that is so at once, because it
only removes or reorders replicas, one record says it all.
"""

from __future__ import annotations

from collections.abc import Sequence

from millstream.controller.partitions.leadership import elected_leader
from millstream.controller.result import ControllerResult
from millstream.controller.topics.new_partitions import check_assignment
from millstream.errors import (
    InvalidReplicaAssignment,
    InvalidReplicationFactor,
    KafkaError,
    NoReassignmentInProgress,
    UnknownTopicOrPartition,
)
from millstream.metadata.delta import MetadataRecord
from millstream.metadata.image import MetadataImage, PartitionImage, TopicImage
from millstream.metadata.topics_delta import NO_LEADER_CHANGE
from millstream.model import BrokerId
from millstream.protocol.generated.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartition,
    ReassignablePartitionResponse,
    ReassignableTopicResponse,
)
from millstream.protocol.generated.metadata_records import PartitionChangeRecord


def plan_alter_reassignments(
    request: AlterPartitionReassignmentsRequest, image: MetadataImage, *, brokers_replicate: bool
) -> ControllerResult[AlterPartitionReassignmentsResponse]:
    """Returns one result for each partition; no replicas means that the move is called off."""
    keep_factor = not request.allow_replication_factor_change
    records: dict[tuple[str, int], MetadataRecord] = {}
    responses = []
    for topic in request.topics:
        results = []
        for asked in topic.partitions:
            result = ReassignablePartitionResponse(
                partition_index=asked.partition_index, error_message=None
            )
            results.append(result)
            try:
                record = _planned(topic.name, asked, image, keep_factor=keep_factor)
                if record is not None and record.adding_replicas and not brokers_replicate:
                    raise InvalidReplicaAssignment(
                        "This version of Millstream does not copy partitions to other brokers: the partition stays where it is."
                    )
            except KafkaError as error:
                result.error_code, result.error_message = error.code, error.detail
            else:
                if record is not None:
                    records[topic.name, asked.partition_index] = record
        responses.append(ReassignableTopicResponse(name=topic.name, partitions=results))
    response = AlterPartitionReassignmentsResponse(
        allow_replication_factor_change=request.allow_replication_factor_change,
        error_message=None if responses else "",
        responses=responses,
    )
    return ControllerResult(tuple(records.values()), response)


def is_reassigning(partition: PartitionImage) -> bool:
    return bool(partition.adding_replicas or partition.removing_replicas)


def _planned(
    name: str, asked: ReassignablePartition, image: MetadataImage, *, keep_factor: bool
) -> PartitionChangeRecord | None:
    topic = image.topic(name)
    if topic is None:
        raise UnknownTopicOrPartition(f"Unable to find a topic named {name}.")
    partition = image.partition(name, asked.partition_index)
    if partition is None:
        raise UnknownTopicOrPartition(f"Unable to find partition {name}:{asked.partition_index}.")
    if asked.replicas is None:
        return _cancel_reassignment(topic, partition, image)
    target = check_assignment(asked.replicas, None, image)
    present = [r for r in partition.replicas if r not in partition.adding_replicas]
    if keep_factor and len(target) != len(present):
        raise InvalidReplicationFactor(
            f"The replication factor is changed from {len(present)} to {len(target)}"
        )
    return _change_reassignment(topic, partition, target, image)


def _cancel_reassignment(
    topic: TopicImage, partition: PartitionImage, image: MetadataImage
) -> PartitionChangeRecord | None:
    """The record that restores the replicas before the move. Raises NoReassignmentInProgress, InvalidReplicaAssignment."""
    if not is_reassigning(partition):
        raise NoReassignmentInProgress
    replicas = tuple(r for r in partition.replicas if r not in partition.adding_replicas)
    isr = tuple(r for r in partition.isr if r in replicas)
    if not isr:
        raise InvalidReplicaAssignment(
            f"Unable to revert partition assignment for {topic.name}:{partition.partition} because "
            "it would require an unclean leader election."
        )
    return _change(topic, partition, replicas, isr, image)


def _change_reassignment(
    topic: TopicImage,
    partition: PartitionImage,
    target: tuple[BrokerId, ...],
    image: MetadataImage,
) -> PartitionChangeRecord | None:
    """The record that begins the move to `target`, or makes it at once; None when the partition is there already."""
    adding = [r for r in target if r not in partition.replicas]
    removing = sorted(r for r in partition.replicas if r not in target)
    isr = tuple(r for r in partition.isr if r in target)
    if not adding and set(target) <= set(isr):
        return _change(topic, partition, target, isr, image)
    merged = (*target, *removing)
    same_lists = tuple(adding) == partition.adding_replicas
    if (
        merged == partition.replicas
        and same_lists
        and tuple(removing) == partition.removing_replicas
    ):
        return None
    return PartitionChangeRecord(
        partition_id=partition.partition,
        topic_id=topic.topic_id,
        replicas=list(merged),
        adding_replicas=list(adding),
        removing_replicas=list(removing),
    )


def _change(
    topic: TopicImage,
    partition: PartitionImage,
    replicas: tuple[BrokerId, ...],
    isr: tuple[BrokerId, ...],
    image: MetadataImage,
) -> PartitionChangeRecord | None:
    """The record after which the partition has exactly these replicas; None when it has them already."""
    keeps_leader = partition.leader in isr
    leader = partition.leader if keeps_leader else elected_leader(replicas, isr, image)
    same = (replicas, isr, leader) == (partition.replicas, partition.isr, partition.leader)
    if same and not is_reassigning(partition):
        return None
    return PartitionChangeRecord(
        partition_id=partition.partition,
        topic_id=topic.topic_id,
        replicas=_unless_same(replicas, partition.replicas),
        isr=_unless_same(isr, partition.isr),
        leader=NO_LEADER_CHANGE if leader == partition.leader else leader,
        adding_replicas=_unless_same((), partition.adding_replicas),
        removing_replicas=_unless_same((), partition.removing_replicas),
    )


def _unless_same(after: Sequence[BrokerId], before: Sequence[BrokerId]) -> list[int] | None:
    return None if after == before else list(after)
