"""CreatePartitions: topics grow, they never shrink; one result per topic."""

from __future__ import annotations

from collections import Counter
from typing import Final

from millstream.controller.operation import ControllerApi, ControllerContext, ControllerResult
from millstream.controller.topics.new_partitions import (
    check_assignment,
    check_has_leader,
    partition_record,
    placed_partitions,
)
from millstream.errors import (
    InvalidPartitions,
    InvalidReplicaAssignment,
    InvalidRequest,
    KafkaError,
    PolicyViolation,
    UnknownTopicOrPartition,
)
from millstream.metadata.delta import MetadataRecord
from millstream.metadata.image import MetadataImage, TopicImage
from millstream.model import BrokerId
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
    CreatePartitionsTopicResult,
)
from millstream.protocol.generated.metadata_records import PartitionRecord
from millstream.quoting import counted
from millstream.runtime.interfaces import Random


def plan_create_partitions(
    context: ControllerContext, request: CreatePartitionsRequest
) -> ControllerResult[CreatePartitionsResponse]:
    """Returns the records of all topics that can grow; none with `validate_only`."""
    counts = Counter(topic.name for topic in request.topics)
    records: list[MetadataRecord] = []
    results: list[CreatePartitionsTopicResult] = []
    for topic in {topic.name: topic for topic in request.topics}.values():
        try:
            if counts[topic.name] > 1:
                raise InvalidRequest("Duplicate topic name.")
            added = _added_partitions(
                topic, context.image, context.random, context.settings.partitions_per_request_max
            )
            context.charge(len(added))
        except KafkaError as error:
            results.append(
                CreatePartitionsTopicResult(
                    name=topic.name, error_code=error.code, error_message=error.detail
                )
            )
        else:
            records += added
            results.append(CreatePartitionsTopicResult(name=topic.name))
    response = CreatePartitionsResponse(context.throttle_time_ms, results)
    return ControllerResult(() if request.validate_only else tuple(records), response)


CREATE_PARTITIONS: Final = ControllerApi(
    ApiKey.CREATE_PARTITIONS,
    plan_create_partitions,
    lambda request, _image: sum(each.count for each in request.topics),
)


def _added_partitions(
    request: CreatePartitionsTopic, image: MetadataImage, random: Random, count_max: int
) -> list[PartitionRecord]:
    topic = image.topic(request.name)
    if topic is None:
        raise UnknownTopicOrPartition
    present = len(topic.partitions)
    if request.count == present:
        raise InvalidPartitions(f"Topic already has {present} partition(s).")
    if request.count < present:
        raise InvalidPartitions(
            f"The topic {topic.name} currently has {present} partition(s); {request.count} would not be an increase."
        )
    added = request.count - present
    if request.assignments is not None and len(request.assignments) != added:
        raise InvalidReplicaAssignment(
            f"Attempted to add {added} additional partition(s), but only {len(request.assignments)} assignment(s) were specified."
        )
    if added > count_max:
        raise PolicyViolation(
            f"{counted(added, 'partition')} more cannot be added with one request, at most {count_max}."
        )
    return [
        partition_record(topic.topic_id, present + number, replicas, image)
        for number, replicas in enumerate(_assignments(request, topic, added, image, random))
    ]


def _assignments(
    request: CreatePartitionsTopic,
    topic: TopicImage,
    added: int,
    image: MetadataImage,
    random: Random,
) -> list[tuple[BrokerId, ...]]:
    replication_factor = len(topic.partitions[0].replicas)
    if request.assignments is None:
        return placed_partitions(image, added, replication_factor, random)
    checked: list[tuple[BrokerId, ...]] = []
    for number, assignment in enumerate(request.assignments, len(topic.partitions)):
        checked.append(check_assignment(assignment.broker_ids, replication_factor, image))
        check_has_leader(number, checked[-1], image)
    return checked
