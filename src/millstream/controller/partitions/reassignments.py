"""AlterPartitionReassignments: replicas move to other brokers, or a move is called off (KIP-455).

A move first adds replicas, which then catch up; it is done once all of its target is in sync. Where that is
so at once, because it only removes or reorders replicas, one record says it all. What a partition becomes is
decided in `partition_change`.
"""

from __future__ import annotations

from typing import Final

from millstream.controller.operation import ControllerApi, ControllerContext, ControllerResult
from millstream.controller.partitions.partition_change import Election, PartitionTarget
from millstream.controller.partitions.partition_changes import PartitionChanges
from millstream.controller.partitions.replica_health import is_reassigning
from millstream.controller.topics.new_partitions import check_assignment
from millstream.errors import (
    InvalidReplicaAssignment,
    InvalidReplicationFactor,
    KafkaError,
    NoReassignmentInProgress,
    UnknownTopicOrPartition,
)
from millstream.metadata.delta import MetadataRecord
from millstream.metadata.image import PartitionImage, TopicImage
from millstream.model import BrokerId
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartition,
    ReassignablePartitionResponse,
    ReassignableTopicResponse,
)
from millstream.protocol.generated.metadata_records import PartitionChangeRecord


def plan_alter_reassignments(
    context: ControllerContext, request: AlterPartitionReassignmentsRequest
) -> ControllerResult[AlterPartitionReassignmentsResponse]:
    """Returns one result for each partition; no replicas means that the move is called off."""
    changes = context.partition_changes()
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
                record = _planned(topic.name, asked, changes, keep_factor=keep_factor)
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


ALTER_PARTITION_REASSIGNMENTS: Final = ControllerApi(
    ApiKey.ALTER_PARTITION_REASSIGNMENTS,
    plan_alter_reassignments,
    lambda request, _image: sum(len(each.partitions) for each in request.topics),
)


def _planned(
    name: str, asked: ReassignablePartition, changes: PartitionChanges, *, keep_factor: bool
) -> PartitionChangeRecord | None:
    topic = changes.image.topic(name)
    if topic is None:
        raise UnknownTopicOrPartition(f"Unable to find a topic named {name}.")
    partition = changes.image.partition(name, asked.partition_index)
    if partition is None:
        raise UnknownTopicOrPartition(f"Unable to find partition {name}:{asked.partition_index}.")
    if asked.replicas is None:
        return _cancelled(topic, partition, changes)
    target = check_assignment(asked.replicas, None, changes.image)
    present = [r for r in partition.replicas if r not in partition.adding_replicas]
    if keep_factor and len(target) != len(present):
        raise InvalidReplicationFactor(
            f"The replication factor is changed from {len(present)} to {len(target)}"
        )
    return _begun(topic, partition, target, changes)


def _cancelled(
    topic: TopicImage, partition: PartitionImage, changes: PartitionChanges
) -> PartitionChangeRecord | None:
    """The record that restores the replicas before the move.

    Raises NoReassignmentInProgress, InvalidReplicaAssignment.
    """
    if not is_reassigning(partition):
        raise NoReassignmentInProgress
    replicas = tuple(r for r in partition.replicas if r not in partition.adding_replicas)
    isr = tuple(r for r in partition.isr if r in replicas)
    election = Election.UNCLEAN if changes.elects_uncleanly(topic.name) else Election.ONLINE
    if not isr and election is not Election.UNCLEAN:
        raise InvalidReplicaAssignment(
            f"Unable to revert partition assignment for {topic.name}:{partition.partition} because "
            "it would require an unclean leader election."
        )
    target = PartitionTarget(
        replicas=replicas, isr=isr or replicas[:1], adding=(), removing=(), election=election
    )
    return changes.change(topic, partition, target)


def _begun(
    topic: TopicImage,
    partition: PartitionImage,
    wanted: tuple[BrokerId, ...],
    changes: PartitionChanges,
) -> PartitionChangeRecord | None:
    """The record that begins the move to `wanted`, or makes it at once; None when the partition is there already.

    An earlier move that goes on is completed with this one, as in Kafka: where nothing is added, what that one adds
    and is still wanted stays to be waited for. What is not wanted any more does not: Kafka 4.3.1 keeps it in both
    lists, and waits for ever for a replica in sync that it takes away; nor does it take a removal back.
    """
    adding = sorted(r for r in wanted if r not in partition.replicas)
    removing = sorted(r for r in partition.replicas if r not in wanted)
    still_adding = [r for r in partition.adding_replicas if r in wanted]
    target = PartitionTarget(
        replicas=(*wanted, *removing),
        adding=tuple(adding or still_adding),
        removing=tuple(removing),
    )
    return changes.change(topic, partition, target)
