"""CreateTopics: one result per named topic; what is wrong with one topic does not touch the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Final

from millstream.controller.operation import ControllerApi, ControllerContext, ControllerResult
from millstream.controller.settings import RECORDS_PER_REQUEST_MAX, ControllerSettings
from millstream.controller.topics.new_partitions import (
    check_assignment,
    check_has_leader,
    partition_record,
    placed_partitions,
)
from millstream.errors import (
    InvalidConfig,
    InvalidPartitions,
    InvalidReplicaAssignment,
    InvalidReplicationFactor,
    InvalidRequest,
    InvalidTopic,
    KafkaError,
    PolicyViolation,
    TopicAlreadyExists,
)
from millstream.metadata.delta import MetadataRecord
from millstream.metadata.effective_config import BrokerSettings, topic_entries
from millstream.metadata.image import MetadataImage
from millstream.metadata.topic_config import check_topic_overrides
from millstream.metadata.topic_names import CLUSTER_METADATA_TOPIC, check_topic_name, colliding_name
from millstream.model import (
    METADATA_TOPIC_ID,
    ZERO_UUID,
    BrokerId,
    Uuid,
    uuid_from_random,
    uuid_text,
)
from millstream.protocol.api import ApiKey
from millstream.protocol.enums import ConfigResourceType
from millstream.protocol.generated.create_topics import (
    CreatableTopic,
    CreatableTopicConfigs,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from millstream.protocol.generated.metadata_records import (
    ConfigRecord,
    PartitionRecord,
    TopicRecord,
)
from millstream.quoting import counted
from millstream.runtime.interfaces import Random


@dataclass(frozen=True, slots=True)
class _Plan:
    """A topic that may be created."""

    topic_id: Uuid
    replication_factor: int
    partitions: tuple[PartitionRecord, ...]
    overrides: dict[str, str]


def plan_create_topics(
    context: ControllerContext, request: CreateTopicsRequest
) -> ControllerResult[CreateTopicsResponse]:
    """Returns the records of all topics that can be created; none with `validate_only`.

    Raises PolicyViolation when the request wants more partitions than one metadata batch should hold.
    """
    image, settings = context.image, context.settings
    _check_size(request, settings)
    counts = Counter(topic.name for topic in request.topics)
    broker = BrokerSettings.of(image, settings.node_id, settings.static)
    inherited = cache(partial(_configs, {}, broker))
    records: list[MetadataRecord] = []
    results: list[CreatableTopicResult] = []
    for topic in {topic.name: topic for topic in request.topics}.values():
        try:
            if counts[topic.name] > 1:
                raise InvalidRequest("Duplicate topic name.")
            _check_name(topic.name, image)
            overrides = _overrides(topic, broker)
            plan = _plan_topic(topic, overrides, image, settings, context.random)
            context.charge(len(plan.partitions))
        except KafkaError as error:
            results.append(_refused(topic.name, error))
        else:
            records += _records(topic.name, plan)
            configs = _configs(overrides, broker) if overrides else inherited()
            results.append(_created(topic.name, plan, configs))
    if len(records) > RECORDS_PER_REQUEST_MAX:
        raise PolicyViolation("Unable to perform excessively large batch operation.")
    response = CreateTopicsResponse(context.throttle_time_ms, results)
    return ControllerResult(() if request.validate_only else tuple(records), response)


CREATE_TOPICS: Final = ControllerApi(
    ApiKey.CREATE_TOPICS,
    plan_create_topics,
    lambda request, _image: sum(
        max(len(each.assignments), each.num_partitions) for each in request.topics
    ),
)


def new_topic_id(random: Random) -> Uuid:
    """Returns a random id; never a reserved one, nor one whose text reads like a command line option."""
    while True:
        topic_id = uuid_from_random(random.randbytes(16))
        if topic_id not in {ZERO_UUID, METADATA_TOPIC_ID} and not uuid_text(topic_id).startswith(
            "-"
        ):
            return topic_id


def _check_size(request: CreateTopicsRequest, settings: ControllerSettings) -> None:
    total = sum(
        len(topic.assignments)
        or (settings.num_partitions if topic.num_partitions == -1 else max(topic.num_partitions, 0))
        for topic in request.topics
    )
    if total > settings.partitions_per_request_max:
        raise PolicyViolation(
            f"The request asks for {counted(total, 'partition')}, at most {settings.partitions_per_request_max} go into one: split it."
        )


def _check_name(name: str, image: MetadataImage) -> None:
    """Against topics that exist; those of one request may collide with each other, as in Kafka."""
    check_topic_name(name)
    if name == CLUSTER_METADATA_TOPIC:
        raise InvalidRequest(f"Creation of internal topic {name} is prohibited.")
    if name in image.topics:
        raise TopicAlreadyExists(f"Topic '{name}' already exists.")
    other = colliding_name(name, image.topics.by_name)
    if other is not None:
        raise InvalidTopic(f"Topic '{name}' collides with existing topic: {other}")


def _overrides(topic: CreatableTopic, broker: BrokerSettings) -> dict[str, str]:
    """Raises InvalidConfig for what a topic cannot have.

    A topic without any has what the broker's own settings allow.
    """
    overrides: dict[str, str] = {}
    for config in topic.configs:
        if config.value is None:
            raise InvalidConfig(f"Null value not supported for topic configs: {config.name}")
        overrides[config.name] = config.value
    if overrides:
        check_topic_overrides(overrides, broker.topic_defaults())
    return overrides


def _plan_topic(
    topic: CreatableTopic,
    overrides: dict[str, str],
    image: MetadataImage,
    settings: ControllerSettings,
    random: Random,
) -> _Plan:
    assignments = (
        _manual_assignments(topic, image)
        if topic.assignments
        else _placed_assignments(topic, image, settings, random)
    )
    replication_factor = len(assignments[0])
    topic_id = new_topic_id(random)
    partitions = tuple(
        partition_record(topic_id, number, replicas, image)
        for number, replicas in enumerate(assignments)
    )
    return _Plan(topic_id, replication_factor, partitions, overrides)


def _manual_assignments(
    topic: CreatableTopic, image: MetadataImage
) -> Sequence[tuple[BrokerId, ...]]:
    if topic.replication_factor != -1:
        raise InvalidRequest(
            "A manual partition assignment was specified, but replication factor was not set to -1."
        )
    if topic.num_partitions != -1:
        raise InvalidRequest(
            "A manual partition assignment was specified, but numPartitions was not set to -1."
        )
    given = {assignment.partition_index: assignment.broker_ids for assignment in topic.assignments}
    if len(given) != len(topic.assignments):
        counts = Counter(assignment.partition_index for assignment in topic.assignments)
        twice = next(number for number, count in counts.items() if count > 1)
        raise InvalidReplicaAssignment(
            f"Found multiple manual partition assignments for partition {twice}"
        )
    if sorted(given) != list(range(len(given))):
        raise InvalidReplicaAssignment(
            "partitions should be a consecutive 0-based integer sequence"
        )
    checked: list[tuple[BrokerId, ...]] = []
    for number in range(len(given)):
        replication_factor = len(checked[0]) if checked else None
        checked.append(check_assignment(given[number], replication_factor, image))
        check_has_leader(number, checked[-1], image)
    return checked


def _placed_assignments(
    topic: CreatableTopic, image: MetadataImage, settings: ControllerSettings, random: Random
) -> Sequence[tuple[BrokerId, ...]]:
    count, replication_factor = topic.num_partitions, topic.replication_factor
    if replication_factor < -1 or replication_factor == 0:
        raise InvalidReplicationFactor(
            "Replication factor must be larger than 0, or -1 to use the default value."
        )
    if count < -1 or count == 0:
        raise InvalidPartitions("Number of partitions was set to an invalid non-positive value.")
    if replication_factor == -1:
        replication_factor = settings.default_replication_factor
    try:
        return placed_partitions(
            image, settings.num_partitions if count == -1 else count, replication_factor, random
        )
    except InvalidReplicationFactor as error:
        raise InvalidReplicationFactor(
            f"Unable to replicate the partition {replication_factor} time(s): {error.detail}"
        ) from error


def _records(name: str, plan: _Plan) -> list[MetadataRecord]:
    topic = TopicRecord(name=name, topic_id=plan.topic_id)
    configs = [
        ConfigRecord(
            resource_type=ConfigResourceType.TOPIC, resource_name=name, name=key, value=value
        )
        for key, value in plan.overrides.items()
    ]
    return [topic, *configs, *plan.partitions]


def _configs(overrides: Mapping[str, str], broker: BrokerSettings) -> list[CreatableTopicConfigs]:
    """Every configuration of the topic: its own as it was given, the others as the broker has them."""
    return [
        CreatableTopicConfigs(
            name=entry.key.name,
            value=overrides.get(entry.key.name, entry.value),
            config_source=entry.source,
            is_sensitive=entry.key.sensitive,
        )
        for entry in topic_entries(overrides, broker)
    ]


def _created(name: str, plan: _Plan, configs: list[CreatableTopicConfigs]) -> CreatableTopicResult:
    return CreatableTopicResult(
        name=name,
        topic_id=plan.topic_id,
        error_message=None,
        num_partitions=len(plan.partitions),
        replication_factor=plan.replication_factor,
        configs=configs,
    )


def _refused(name: str, error: KafkaError) -> CreatableTopicResult:
    return CreatableTopicResult(
        name=name, error_code=error.code, error_message=str(error), configs=[]
    )
