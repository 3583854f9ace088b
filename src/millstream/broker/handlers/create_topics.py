"""CreateTopics: new topics, placed by the controller or by hand.

Versions 2-7. 4+ takes -1 for the default numbers of partitions and replicas (served in 2-3 too, as Kafka does), 5+
answers with the topic's configurations and counts, 7 with its id. One result per name; a name given twice is
INVALID_REQUEST. With `validate_only` everything is checked and nothing created. Answered when the topics are committed
and this broker leads its partitions of them. More than 10,000 partitions in one request: POLICY_VIOLATION for all of
it. Above the quota of changes a topic is THROTTLING_QUOTA_EXCEEDED from version 6 on, and before it is created and
waited for (KIP-599). Not supported: creation policies.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Set as AbstractSet

from millstream.broker.requests.access import Access
from millstream.broker.requests.api_spec import ApiSpec, Lists, Permission
from millstream.broker.requests.request_context import RequestContext
from millstream.broker.services import ControllerClient
from millstream.controller.topics.create_topics import CREATE_TOPICS
from millstream.errors import KafkaError, TopicAuthorizationFailed
from millstream.metadata.topic_names import CLUSTER_METADATA_TOPIC
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.create_topics import (
    CreatableTopic,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from millstream.security.acl import Operation, ResourceType


def _records_of_topic(topic: CreatableTopic) -> int:
    partitions = len(topic.assignments) or max(topic.num_partitions, 1)
    return 1 + partitions + len(topic.configs)


API = ApiSpec(
    ApiKey.CREATE_TOPICS,
    versions=range(2, 8),
    permissions=(
        Permission(Operation.CREATE, ResourceType.CLUSTER),
        Permission(Operation.CREATE, ResourceType.TOPIC),
        Permission(Operation.DESCRIBE_CONFIGS, ResourceType.TOPIC),
    ),
    is_forwarded=True,
    lists=(Lists(("topics",), ("topics",), 20, _records_of_topic),),
)


async def handle(
    request: CreateTopicsRequest,
    context: RequestContext,
    *,
    access: Access,
    controller: ControllerClient,
) -> CreateTopicsResponse:
    if access.is_open:
        return await controller.ask(CREATE_TOPICS, request, context)
    counts = Counter(topic.name for topic in request.topics)
    names = [
        name for name, count in counts.items() if count == 1 and name != CLUSTER_METADATA_TOPIC
    ]
    denied: AbstractSet[str] = frozenset()
    if not access.allows_on_cluster(context, Operation.CREATE, quiet=True):
        denied = access.denied(context, Operation.CREATE, ResourceType.TOPIC, names)
    secret = access.denied(
        context, Operation.DESCRIBE_CONFIGS, ResourceType.TOPIC, names, quiet=True
    )
    allowed = [topic for topic in request.topics if topic.name not in denied]
    response = await controller.ask(CREATE_TOPICS, request.replaced(topics=allowed), context)
    for result in response.topics:
        if result.name in secret and not result.error_code:
            _withhold_configs(result)
    response.topics += [
        CreatableTopicResult(
            name=name,
            error_code=TopicAuthorizationFailed.code,
            error_message="Authorization failed.",
        )
        for name in names
        if name in denied
    ]
    return response


def _withhold_configs(result: CreatableTopicResult) -> None:
    result.topic_config_error_code = TopicAuthorizationFailed.code
    result.num_partitions = result.replication_factor = -1
    result.configs = []


def failed(request: CreateTopicsRequest, _version: int, error: KafkaError) -> CreateTopicsResponse:
    return CreateTopicsResponse(
        topics=[
            CreatableTopicResult(name=topic.name, error_code=error.code, error_message=str(error))
            for topic in request.topics
        ]
    )
