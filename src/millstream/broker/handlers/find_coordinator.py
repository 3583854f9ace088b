"""FindCoordinator: which node coordinates a group.

Versions 0-6. One key up to version 3, several from 4 on, each with its own error. The first question for a group creates
`__consumer_offsets`. Key types: 0 group, 1 transactional id, 2 share partition (version 6 on).
Not supported: coordinators of transactions and of share groups. A transactional id is refused with
TRANSACTIONAL_ID_AUTHORIZATION_FAILED and a sentence that says why: of all answers it is the only one on which every client's
`init_transactions` fails at once; librdkafka asks again on any other until its time is up. A share partition is refused with
INVALID_REQUEST.
"""

from __future__ import annotations

from enum import IntEnum

from millstream.broker.api_spec import ApiSpec
from millstream.broker.internal_topics import ensure_consumer_offsets
from millstream.broker.request_context import RequestContext
from millstream.coordinator.placement import partition_for
from millstream.errors import (
    CoordinatorNotAvailable,
    InvalidRequest,
    KafkaError,
    TransactionalIdAuthorizationFailed,
)
from millstream.metadata.broker_registration import Endpoint
from millstream.model import BrokerId
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.find_coordinator import (
    Coordinator,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)

API = ApiSpec(ApiKey.FIND_COORDINATOR, versions=range(7))
_SEVERAL_KEYS_VERSION = 4
_SHARE_VERSION = 6


class KeyType(IntEnum):
    GROUP = 0
    TRANSACTION = 1
    SHARE = 2


async def handle(
    request: FindCoordinatorRequest, context: RequestContext
) -> FindCoordinatorResponse:
    if context.version >= _SEVERAL_KEYS_VERSION:
        keys = request.coordinator_keys
        return FindCoordinatorResponse(
            coordinators=[await _find(key, request.key_type, context) for key in keys]
        )
    found = await _find(request.key, request.key_type, context)
    return FindCoordinatorResponse(
        error_code=found.error_code,
        error_message=found.error_message if found.error_code else "NONE",
        node_id=found.node_id,
        host=found.host,
        port=found.port,
    )


async def _find(key: str, key_type: int, context: RequestContext) -> Coordinator:
    try:
        check_key_type(key_type, context.version)
        node_id, endpoint = await _group_coordinator(key, context)
    except KafkaError as error:
        return Coordinator(
            key=key, node_id=-1, port=-1, error_code=error.code, error_message=str(error)
        )
    return Coordinator(
        key=key, node_id=node_id, host=endpoint.host, port=endpoint.port, error_message=""
    )


def check_key_type(key_type: int, version: int) -> None:
    """Raises InvalidRequest and TransactionalIdAuthorizationFailed, after which no client asks again."""
    if key_type not in list(KeyType) or (key_type == KeyType.SHARE and version < _SHARE_VERSION):
        raise InvalidRequest(f"version {version} knows no coordinator of type {key_type}")
    if key_type == KeyType.TRANSACTION:
        raise TransactionalIdAuthorizationFailed(
            "this broker does not serve transactions yet; produce without a transactional id"
        )
    if key_type == KeyType.SHARE:
        raise InvalidRequest("this broker does not serve share groups yet")


async def _group_coordinator(group_id: str, context: RequestContext) -> tuple[BrokerId, Endpoint]:
    try:
        topic = await ensure_consumer_offsets(context.node)
    except KafkaError as error:
        raise CoordinatorNotAvailable(f"__consumer_offsets cannot be created: {error}") from error
    leader = topic.partitions[partition_for(group_id, len(topic.partitions))].leader
    broker = context.node.metadata.image.brokers.get(leader)
    endpoint = None if broker is None else broker.endpoint(context.listener_name)
    if endpoint is None:
        raise CoordinatorNotAvailable
    return leader, endpoint
