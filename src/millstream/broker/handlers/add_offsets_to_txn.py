"""AddOffsetsToTxn: a producer is about to commit offsets of a group in its transaction.

Versions 0-4. Adds the group's partition of `__consumer_offsets` to the transaction, as AddPartitionsToTxn does with
others. That topic need not exist yet: who commits the offsets has looked for their coordinator, which creates it.
PRODUCER_FENCED is told from version 2 on, before INVALID_PRODUCER_EPOCH.
"""

from __future__ import annotations

from typing import Final

from millstream.broker.config.dynamic_config import DynamicConfig
from millstream.broker.coordination.internal_topics import CONSUMER_OFFSETS
from millstream.broker.coordination.transaction_coordination import TransactionCoordination
from millstream.broker.requests.access import Access
from millstream.broker.requests.api_spec import ApiSpec, Permission, error_code
from millstream.broker.requests.request_context import RequestContext
from millstream.broker.services import Metadata
from millstream.coordinator.record import partition_for
from millstream.coordinator.result import NODE_ITSELF
from millstream.errors import InvalidRequest, KafkaError
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.add_offsets_to_txn import (
    AddOffsetsToTxnRequest,
    AddOffsetsToTxnResponse,
)
from millstream.protocol.generated.add_partitions_to_txn import (
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from millstream.security.acl import Operation, ResourceType

API = ApiSpec(
    ApiKey.ADD_OFFSETS_TO_TXN,
    versions=range(5),
    permissions=(
        Permission(Operation.WRITE, ResourceType.TRANSACTIONAL_ID),
        Permission(Operation.READ, ResourceType.GROUP),
    ),
)
_KNOWS_FENCED_FROM: Final = 2


async def handle(
    request: AddOffsetsToTxnRequest,
    context: RequestContext,
    *,
    access: Access,
    config: DynamicConfig,
    metadata: Metadata,
    transaction_coordinator: TransactionCoordination,
) -> AddOffsetsToTxnResponse:
    """Adds the offsets of a group.

    Raises TransactionalIdAuthorizationFailed, GroupAuthorizationFailed, InvalidRequest.
    """
    access.check(context, Operation.WRITE, ResourceType.TRANSACTIONAL_ID, request.transactional_id)
    access.check(context, Operation.READ, ResourceType.GROUP, request.group_id)
    if not request.transactional_id:
        raise InvalidRequest("a transactional id must not be empty")
    offsets = metadata.image.topic(CONSUMER_OFFSETS)
    will_have = config.current.offsets_topic_num_partitions
    count = will_have if offsets is None else len(offsets.partitions)
    partition = partition_for(request.group_id, count)
    added = AddPartitionsToTxnTransaction(
        transactional_id=request.transactional_id,
        producer_id=request.producer_id,
        producer_epoch=request.producer_epoch,
        topics=[AddPartitionsToTxnTopic(CONSUMER_OFFSETS, [partition])],
    )
    try:
        # As a client that adds for itself, whatever the version: NODE_ITSELF speaks version 0.
        await transaction_coordinator.ask(
            request.transactional_id,
            added,
            AddPartitionsToTxnResult,
            NODE_ITSELF,
        )
    except KafkaError as error:
        return AddOffsetsToTxnResponse(
            error_code=error_code(error, context.version, _KNOWS_FENCED_FROM)
        )
    return AddOffsetsToTxnResponse()
