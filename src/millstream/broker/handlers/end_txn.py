"""EndTxn: commits or aborts the transaction of a transactional id.

Versions 0-5. Answered when the decision is in the log; the markers follow. From version 5 on (KIP-890) every end raises
the epoch and the answer gives the one to go on with, a new producer id when the epochs of the old one are used up; a
repeated EndTxn is answered alike, and an abort without a transaction is one. Up to version 4 the epoch stays. A commit
that comes after the coordinator has aborted the transaction is told INVALID_TXN_STATE; up to version 4, whose producer
has lost its epoch then, PRODUCER_FENCED (before version 2 INVALID_PRODUCER_EPOCH).
"""

from __future__ import annotations

from typing import Final

from millstream.broker.coordination.transaction_coordination import TransactionCoordination
from millstream.broker.requests.access import Access
from millstream.broker.requests.api_spec import ApiSpec, Permission, error_code
from millstream.broker.requests.request_context import RequestContext
from millstream.errors import InvalidRequest, KafkaError
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.end_txn import EndTxnRequest, EndTxnResponse
from millstream.security.acl import Operation, ResourceType

API = ApiSpec(
    ApiKey.END_TXN,
    versions=range(6),
    permissions=(Permission(Operation.WRITE, ResourceType.TRANSACTIONAL_ID),),
)
_KNOWS_FENCED_FROM: Final = 2


async def handle(
    request: EndTxnRequest,
    context: RequestContext,
    *,
    access: Access,
    transaction_coordinator: TransactionCoordination,
) -> EndTxnResponse:
    """Ends a transaction. Raises TransactionalIdAuthorizationFailed, InvalidRequest."""
    access.check(context, Operation.WRITE, ResourceType.TRANSACTIONAL_ID, request.transactional_id)
    if not request.transactional_id:
        raise InvalidRequest("a transactional id must not be empty")
    try:
        return await transaction_coordinator.ask(
            request.transactional_id,
            request,
            EndTxnResponse,
            context.caller,
        )
    except KafkaError as error:
        return EndTxnResponse(error_code=error_code(error, context.version, _KNOWS_FENCED_FROM))
