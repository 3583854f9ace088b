"""DescribeTopicPartitions: topics and their partitions in pages (KIP-966).

Version 0. No topics named: all of them. Topics come in the order of their names; a page holds at most as many
partitions as the client and `max.request.partition.size.limit` allow, at least one, and the cursor says where the next
one starts. A topic the cursor does not reach is left out. A cursor at a topic that is not among those named is
INVALID_REQUEST; where all are described, one that exists no more is skipped. Unknown topics are
UNKNOWN_TOPIC_OR_PARTITION.
"""

from __future__ import annotations

from millstream.broker.cluster.cluster_view import advertised_brokers, partition_view
from millstream.broker.config.dynamic_config import DynamicConfig
from millstream.broker.long_work import LongWork
from millstream.broker.requests.access import Access
from millstream.broker.requests.api_spec import ApiSpec, Permission
from millstream.broker.requests.request_context import RequestContext
from millstream.broker.services import Metadata
from millstream.errors import (
    InvalidRequest,
    InvalidTopic,
    KafkaError,
    TopicAuthorizationFailed,
    UnknownTopicOrPartition,
)
from millstream.metadata.image import MetadataImage, PartitionImage, TopicImage
from millstream.metadata.topic_names import check_topic_name, is_internal
from millstream.model import BrokerId
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
)
from millstream.security.acl import Operation, ResourceType

API = ApiSpec(
    ApiKey.DESCRIBE_TOPIC_PARTITIONS,
    versions=range(1),
    permissions=(Permission(Operation.DESCRIBE, ResourceType.TOPIC),),
    kept_whole="answers 2000 partitions at most, and a cursor",
    tells_all=True,
)


async def handle(
    request: DescribeTopicPartitionsRequest,
    context: RequestContext,
    *,
    access: Access,
    config: DynamicConfig,
    long_work: LongWork,
    metadata: Metadata,
) -> DescribeTopicPartitionsResponse:
    """Describes topics a page of partitions at a time. Raises InvalidRequest for a cursor that cannot be one."""
    image = metadata.image
    start = request.cursor or Cursor()
    if request.cursor is not None:
        _check_cursor(request.cursor, request)
    limit_max = config.current.max_request_partition_size_limit
    room = max(1, min(request.response_partition_limit, limit_max))
    reachable = frozenset(b.id for b in advertised_brokers(image, context.listener_name))
    response = DescribeTopicPartitionsResponse()
    hidden: list[str] = []
    async for name in long_work.in_turns(_names(request, image, start.topic_name)):
        if not access.allows(context, Operation.DESCRIBE, ResourceType.TOPIC, name):
            hidden.append(name)
            continue
        topic = image.topic(name)
        first = start.partition_index if name == start.topic_name else 0
        if topic is not None and room == 0:
            response.next_cursor = Cursor(topic_name=name, partition_index=first)
            break
        described = _unknown(name) if topic is None else _described(topic)
        described.topic_authorized_operations = access.operations(context, ResourceType.TOPIC, name)
        response.topics.append(described)
        if topic is None:
            continue
        page = topic.partitions[first : first + room]
        described.partitions = [_partition(p, reachable, image) for p in page]
        room -= len(page)
        if first + len(page) < len(topic.partitions):
            response.next_cursor = Cursor(topic_name=name, partition_index=first + len(page))
            break
    if (
        request.topics
    ):  # of topics that were not asked for by name nobody learns whether they are there
        response.topics += [_refused(name, TopicAuthorizationFailed) for name in hidden]
    return response


def failed(
    request: DescribeTopicPartitionsRequest, _version: int, error: KafkaError
) -> DescribeTopicPartitionsResponse:
    return DescribeTopicPartitionsResponse(
        topics=[
            DescribeTopicPartitionsResponseTopic(error_code=error.code, name=topic.name)
            for topic in request.topics
        ]
    )


def _check_cursor(cursor: Cursor, request: DescribeTopicPartitionsRequest) -> None:
    if request.topics and all(topic.name != cursor.topic_name for topic in request.topics):
        raise InvalidRequest(
            "DescribeTopicPartitionsRequest topic list should contain the cursor topic: "
            f"{cursor.topic_name}"
        )
    if cursor.partition_index < 0:
        raise InvalidRequest(f"A cursor cannot stand at partition {cursor.partition_index}")


def _names(request: DescribeTopicPartitionsRequest, image: MetadataImage, start: str) -> list[str]:
    """Returns the topics asked for from the cursor on. A cursor past a topic that is gone goes on with the next."""
    asked = {topic.name for topic in request.topics} or set(image.topics.by_name)
    return sorted(name for name in asked if name >= start)


def _unknown(name: str) -> DescribeTopicPartitionsResponseTopic:
    error: type[KafkaError] = UnknownTopicOrPartition
    try:
        check_topic_name(name)
    except InvalidTopic:
        error = InvalidTopic
    described = _refused(name, error)
    described.is_internal = is_internal(name)
    return described


def _refused(name: str, error: type[KafkaError]) -> DescribeTopicPartitionsResponseTopic:
    return DescribeTopicPartitionsResponseTopic(error_code=error.code, name=name)


def _described(topic: TopicImage) -> DescribeTopicPartitionsResponseTopic:
    return DescribeTopicPartitionsResponseTopic(
        name=topic.name, topic_id=topic.topic_id, is_internal=is_internal(topic.name)
    )


def _partition(
    partition: PartitionImage, reachable: frozenset[BrokerId], image: MetadataImage
) -> DescribeTopicPartitionsResponsePartition:
    """A partition without a leader is no error here, as in Kafka, where Metadata has one."""
    view = partition_view(partition, reachable, image)
    return DescribeTopicPartitionsResponsePartition(
        partition_index=partition.partition,
        leader_id=view.leader_id,
        leader_epoch=view.leader_epoch,
        replica_nodes=list(view.replicas),
        isr_nodes=list(view.isr),
        eligible_leader_replicas=list(partition.eligible_leader_replicas),
        last_known_elr=list(partition.last_known_eligible_leader_replicas),
        offline_replicas=list(view.offline),
    )
