"""ElectLeaders: the preferred replica leads again, or any replica that is up where none in sync is (KIP-460)."""

from __future__ import annotations

from typing import Final

from millstream.controller.operation import (
    ControllerApi,
    ControllerContext,
    ControllerResult,
    every_partition,
)
from millstream.controller.partitions.partition_change import Election, PartitionTarget
from millstream.controller.partitions.partition_changes import PartitionChanges
from millstream.errors import (
    ElectionNotNeeded,
    EligibleLeadersNotAvailable,
    InvalidRequest,
    KafkaError,
    PreferredLeaderNotAvailable,
    UnknownTopicOrPartition,
)
from millstream.metadata.delta import MetadataRecord
from millstream.metadata.image import MetadataImage
from millstream.protocol.api import ApiKey
from millstream.protocol.enums import ElectionType
from millstream.protocol.generated.elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    PartitionResult,
    ReplicaElectionResult,
)
from millstream.protocol.generated.metadata_records import PartitionChangeRecord

_NOT_NEEDED: Final = ElectionNotNeeded.code


def plan_elect_leaders(
    context: ControllerContext, request: ElectLeadersRequest
) -> ControllerResult[ElectLeadersResponse]:
    """Returns one result for each partition named; of all partitions, only those where something happened.

    Raises InvalidRequest for an unknown election type.
    """
    try:
        election = ElectionType(request.election_type)
    except ValueError:
        raise InvalidRequest(f"Unknown election type {request.election_type}") from None
    changes, everywhere = context.partition_changes(), request.topic_partitions is None
    named = (
        [(topic.name, list(range(len(topic.partitions)))) for topic in changes.image.topics]
        if request.topic_partitions is None
        else [(asked.topic, asked.partitions) for asked in request.topic_partitions]
    )
    records: dict[tuple[str, int], MetadataRecord] = {}
    results = []
    for topic, partitions in named:
        result = ReplicaElectionResult(topic=topic)
        results.append(result)
        for partition in partitions:
            outcome = PartitionResult(partition_id=partition, error_message=None)
            try:
                records.setdefault((topic, partition), elected(topic, partition, election, changes))
            except KafkaError as error:
                outcome.error_code, outcome.error_message = error.code, str(error)
            if not everywhere or outcome.error_code != _NOT_NEEDED:
                result.partition_result.append(outcome)
    response = ElectLeadersResponse(replica_election_results=results)
    return ControllerResult(tuple(records.values()), response)


def _partitions(request: ElectLeadersRequest, image: MetadataImage) -> int:
    if request.topic_partitions is None:
        return every_partition(request, image)
    return sum(len(each.partitions) for each in request.topic_partitions)


ELECT_LEADERS: Final = ControllerApi(ApiKey.ELECT_LEADERS, plan_elect_leaders, _partitions)


def elected(
    name: str, number: int, election: ElectionType, changes: PartitionChanges
) -> PartitionChangeRecord:
    """Returns the change of one partition.

    Raises UnknownTopicOrPartition, ElectionNotNeeded, and an error when no replica can be elected.
    """
    topic = changes.image.topic(name)
    if topic is None:
        raise UnknownTopicOrPartition(f"No such topic as {name}")
    partition = changes.image.partition(name, number)
    if partition is None:
        raise UnknownTopicOrPartition(f"No such partition as {name}-{number}")
    preferred = election is ElectionType.PREFERRED
    needed = (
        partition.leader != partition.preferred_leader if preferred else not partition.has_leader
    )
    if not needed:
        raise ElectionNotNeeded
    wanted = Election.PREFERRED if preferred else Election.UNCLEAN
    change = changes.change(topic, partition, PartitionTarget(election=wanted))
    if change is None:
        raise PreferredLeaderNotAvailable if preferred else EligibleLeadersNotAvailable
    return change
