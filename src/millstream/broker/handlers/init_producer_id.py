"""InitProducerId: a producer id and epoch, for producers that want their retries recognised or write in transactions.

Versions 0-5. A producer without a transactional id always gets a new id with epoch 0, whatever id and epoch it says it
had (from version 3 on it may say so). With one, its transaction coordinator gives it the id that belongs to it and an
epoch that fences the producer that used it before; an open transaction is aborted first and the producer asks again
(CONCURRENT_TRANSACTIONS). PRODUCER_FENCED is told from version 4 on, before INVALID_PRODUCER_EPOCH. Not supported:
two-phase commit (version 6, unstable in Kafka 4.3).
"""

from __future__ import annotations

from typing import Final

from millstream.broker.coordination.transaction_coordination import TransactionCoordination
from millstream.broker.requests.access import Access
from millstream.broker.requests.api_spec import ApiSpec, Permission, error_code
from millstream.broker.requests.request_context import RequestContext
from millstream.broker.transactions.producer_ids import ProducerIds
from millstream.errors import ClusterAuthorizationFailed, InvalidRequest, KafkaError
from millstream.model import NO_PRODUCER_ID
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.init_producer_id import (
    InitProducerIdRequest,
    InitProducerIdResponse,
)
from millstream.security.acl import Operation, ResourceType

API = ApiSpec(
    ApiKey.INIT_PRODUCER_ID,
    versions=range(6),
    permissions=(
        Permission(Operation.WRITE, ResourceType.TRANSACTIONAL_ID),
        Permission(Operation.TWO_PHASE_COMMIT, ResourceType.TRANSACTIONAL_ID),
        Permission(Operation.IDEMPOTENT_WRITE, ResourceType.CLUSTER),
        Permission(Operation.WRITE, ResourceType.TOPIC),
    ),
)
_KNOWS_FENCED_FROM: Final = 4
_NO_EPOCH: Final = -1


async def handle(
    request: InitProducerIdRequest,
    context: RequestContext,
    *,
    access: Access,
    producer_ids: ProducerIds,
    transaction_coordinator: TransactionCoordination,
) -> InitProducerIdResponse:
    """Gives a producer its id.

    Raises TransactionalIdAuthorizationFailed, ClusterAuthorizationFailed, InvalidRequest.
    """
    _check_allowed(request, context, access)
    if (request.producer_id == NO_PRODUCER_ID) != (request.producer_epoch == _NO_EPOCH):
        raise InvalidRequest("a producer names both its id and its epoch, or neither")
    if request.transactional_id is None:
        producer_id = await producer_ids.next()
        return InitProducerIdResponse(producer_id=producer_id, producer_epoch=0)
    if not request.transactional_id:
        raise InvalidRequest(
            "a transactional id must not be empty; leave it out for an idempotent producer"
        )
    try:
        return await transaction_coordinator.ask(
            request.transactional_id,
            request,
            InitProducerIdResponse,
            context.caller,
        )
    except KafkaError as error:
        return InitProducerIdResponse(
            error_code=error_code(error, context.version, _KNOWS_FENCED_FROM),
            producer_id=NO_PRODUCER_ID,
            producer_epoch=_NO_EPOCH,
        )


def _check_allowed(request: InitProducerIdRequest, context: RequestContext, access: Access) -> None:
    """Whoever may write to some topic may be an idempotent producer."""
    name = request.transactional_id
    if name is not None:
        access.check(context, Operation.WRITE, ResourceType.TRANSACTIONAL_ID, name)
        if request.enable_2pc:
            access.check(context, Operation.TWO_PHASE_COMMIT, ResourceType.TRANSACTIONAL_ID, name)
    elif not access.allows_on_cluster(
        context, Operation.IDEMPOTENT_WRITE, quiet=True
    ) and not access.allows_any(context, Operation.WRITE, ResourceType.TOPIC):
        raise ClusterAuthorizationFailed


def failed(
    _request: InitProducerIdRequest, _version: int, error: KafkaError
) -> InitProducerIdResponse:
    return InitProducerIdResponse(error_code=error.code, producer_id=-1, producer_epoch=-1)
