"""FindCoordinator: which node coordinates a group, a transactional id or a share partition.

Versions 0-6. One key up to version 3, several from 4 on, each with its own error. The first question of a type has the
internal topic of its coordinators created behind the answer, which is COORDINATOR_NOT_AVAILABLE, and the client asks
again. Key types: 0 group, 1 transactional id, 2 share partition (version 6 on), named `group:topic id:partition`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from types import MappingProxyType
from typing import Final

from millstream.broker.cluster.auto_creation import AutoTopicCreation
from millstream.broker.coordination.coordinator_topic import coordinator_of
from millstream.broker.coordination.internal_topics import (
    CONSUMER_OFFSETS,
    SHARE_GROUP_STATE,
    TRANSACTION_STATE,
)
from millstream.broker.requests.access import Access
from millstream.broker.requests.api_spec import ApiSpec, Lists, Permission
from millstream.broker.requests.request_context import RequestContext
from millstream.broker.services import Metadata
from millstream.errors import (
    CoordinatorNotAvailable,
    InvalidRequest,
    KafkaError,
)
from millstream.metadata.broker_registration import Endpoint
from millstream.model import BrokerId, uuid_from_text
from millstream.protocol.api import ApiKey
from millstream.protocol.enums import CoordinatorType
from millstream.protocol.generated.find_coordinator import (
    Coordinator,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from millstream.security.acl import Operation, ResourceType

API = ApiSpec(
    ApiKey.FIND_COORDINATOR,
    versions=range(7),
    permissions=(
        Permission(Operation.DESCRIBE, ResourceType.GROUP),
        Permission(Operation.DESCRIBE, ResourceType.TRANSACTIONAL_ID),
        Permission(Operation.CLUSTER_ACTION, ResourceType.CLUSTER),
    ),
    lists=(Lists(("coordinator_keys",), ("coordinators",)),),
)
_SEVERAL_KEYS_VERSION = 4
_SHARE_VERSION = 6


_TOPICS: Final = MappingProxyType(
    {
        CoordinatorType.GROUP: CONSUMER_OFFSETS,
        CoordinatorType.TRANSACTION: TRANSACTION_STATE,
        CoordinatorType.SHARE: SHARE_GROUP_STATE,
    }
)

_DESCRIBED: Final[Mapping[int, ResourceType]] = MappingProxyType(
    {
        CoordinatorType.GROUP: ResourceType.GROUP,
        CoordinatorType.TRANSACTION: ResourceType.TRANSACTIONAL_ID,
    }
)
"""What the key of a coordinator names."""


def handle(
    request: FindCoordinatorRequest,
    context: RequestContext,
    *,
    access: Access,
    auto_topic_creation: AutoTopicCreation,
    metadata: Metadata,
) -> FindCoordinatorResponse:
    """Finds the coordinator of each key.

    Raises ClusterAuthorizationFailed: coordinators of share state are for brokers.
    """
    if request.key_type == CoordinatorType.SHARE and context.version >= _SHARE_VERSION:
        access.check_cluster(context, Operation.CLUSTER_ACTION)
    find = partial(
        _find,
        key_type=request.key_type,
        context=context,
        access=access,
        auto_topic_creation=auto_topic_creation,
        metadata=metadata,
    )
    if context.version >= _SEVERAL_KEYS_VERSION:
        keys = request.coordinator_keys
        return FindCoordinatorResponse(coordinators=[find(key) for key in keys])
    found = find(request.key)
    return FindCoordinatorResponse(
        error_code=found.error_code,
        error_message=found.error_message if found.error_code else "NONE",
        node_id=found.node_id,
        host=found.host,
        port=found.port,
    )


def failed(
    request: FindCoordinatorRequest, version: int, error: KafkaError
) -> FindCoordinatorResponse:
    if version < 4:
        return FindCoordinatorResponse(
            error_code=error.code, error_message=str(error), node_id=-1, port=-1
        )
    return FindCoordinatorResponse(
        coordinators=[
            Coordinator(
                key=key, node_id=-1, port=-1, error_code=error.code, error_message=str(error)
            )
            for key in request.coordinator_keys
        ]
    )


def _find(
    key: str,
    *,
    key_type: int,
    context: RequestContext,
    access: Access,
    auto_topic_creation: AutoTopicCreation,
    metadata: Metadata,
) -> Coordinator:
    try:
        resource_type = _DESCRIBED.get(key_type)
        if resource_type is not None:
            access.check(context, Operation.DESCRIBE, resource_type, key)
        topic = check_key_type(key_type, context.version)
        if key_type == CoordinatorType.SHARE:
            check_share_key(key)
        leader = _leader(topic, key, context, auto_topic_creation, metadata)
        endpoint = _endpoint(leader, context.listener_name, metadata)
    except KafkaError as error:
        return Coordinator(
            key=key, node_id=-1, port=-1, error_code=error.code, error_message=str(error)
        )
    return Coordinator(
        key=key, node_id=leader, host=endpoint.host, port=endpoint.port, error_message=""
    )


def check_key_type(key_type: int, version: int) -> str:
    """Returns the internal topic whose leaders coordinate keys of this type.

    Raises InvalidRequest, which clients do not retry.
    """
    if key_type not in list(CoordinatorType) or (
        key_type == CoordinatorType.SHARE and version < _SHARE_VERSION
    ):
        raise InvalidRequest(f"version {version} knows no coordinator of type {key_type}")
    return _TOPICS[CoordinatorType(key_type)]


def check_share_key(key: str) -> None:
    """Raises InvalidRequest for what is not `group:topic id:partition`; groups may have colons in their names."""
    group_and_topic, _, partition = key.rpartition(":")
    group_id, _, topic_id = group_and_topic.rpartition(":")
    try:
        uuid_from_text(topic_id)
        int(partition)
    except ValueError as error:
        raise InvalidRequest(f"{key} is not group:topicId:partition: {error}") from error
    if not group_id:
        raise InvalidRequest(f"{key} names no group")


def _leader(
    topic_name: str,
    key: str,
    context: RequestContext,
    auto_topic_creation: AutoTopicCreation,
    metadata: Metadata,
) -> BrokerId:
    """Creates the topic whatever `auto.create.topics.enable` says: it is the coordinators' own."""
    topic = metadata.image.topic(topic_name)
    if topic is None:
        refusal = auto_topic_creation.refusal_of(topic_name)
        auto_topic_creation.create([topic_name], context, as_broker=True)
        raise CoordinatorNotAvailable(
            f"{topic_name} cannot be created: {refusal}"
            if refusal
            else f"{topic_name} is being created; ask again"
        )
    return coordinator_of(topic, key)


def _endpoint(leader: BrokerId, listener_name: str, metadata: Metadata) -> Endpoint:
    broker = metadata.image.brokers.get(leader)
    endpoint = None if broker is None else broker.endpoint(listener_name)
    if endpoint is None:
        raise CoordinatorNotAvailable
    return endpoint
