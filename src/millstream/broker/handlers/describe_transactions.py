"""DescribeTransactions: the state of transactional ids, their producers and the partitions of open transactions.

Version 0. Answered by the coordinator of each id, with an error for each (TRANSACTIONAL_ID_NOT_FOUND).
"""

from __future__ import annotations

from millstream.broker.coordination.transaction_coordination import TransactionCoordination
from millstream.broker.long_work import LongWork
from millstream.broker.requests.access import Access
from millstream.broker.requests.api_spec import ApiSpec, Lists, Permission
from millstream.broker.requests.request_context import RequestContext
from millstream.coordinator.transaction.context import DescribeTransaction
from millstream.errors import InvalidRequest, KafkaError
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    TransactionState,
)
from millstream.security.acl import Operation, ResourceType

API = ApiSpec(
    ApiKey.DESCRIBE_TRANSACTIONS,
    versions=range(1),
    permissions=(
        Permission(Operation.DESCRIBE, ResourceType.TRANSACTIONAL_ID),
        Permission(Operation.DESCRIBE, ResourceType.TOPIC),
    ),
    lists=(Lists(("transactional_ids",), ("transaction_states",)),),
    tells_all=True,
)


async def handle(
    request: DescribeTransactionsRequest,
    context: RequestContext,
    *,
    access: Access,
    long_work: LongWork,
    transaction_coordinator: TransactionCoordination,
) -> DescribeTransactionsResponse:
    described = [
        await _describe(
            each,
            context,
            access=access,
            long_work=long_work,
            transaction_coordinator=transaction_coordinator,
        )
        for each in request.transactional_ids
    ]
    return DescribeTransactionsResponse(transaction_states=described)


def failed(
    request: DescribeTransactionsRequest, _version: int, error: KafkaError
) -> DescribeTransactionsResponse:
    return DescribeTransactionsResponse(
        transaction_states=[
            TransactionState(error_code=error.code, transactional_id=transactional_id)
            for transactional_id in request.transactional_ids
        ]
    )


async def _describe(
    transactional_id: str,
    context: RequestContext,
    *,
    access: Access,
    long_work: LongWork,
    transaction_coordinator: TransactionCoordination,
) -> TransactionState:
    """Tells of the topics that the client may describe."""
    try:
        access.check(context, Operation.DESCRIBE, ResourceType.TRANSACTIONAL_ID, transactional_id)
        if not transactional_id:
            raise InvalidRequest("a transactional id must not be empty")
        state = await transaction_coordinator.ask(
            transactional_id,
            DescribeTransaction(transactional_id),
            TransactionState,
            context.caller,
        )
    except KafkaError as error:
        return TransactionState(error_code=error.code, transactional_id=transactional_id)
    hidden = await access.denied_of_many(
        context,
        Operation.DESCRIBE,
        ResourceType.TOPIC,
        (topic.topic for topic in state.topics),
        long_work=long_work,
    )
    if hidden:
        state.topics = [topic for topic in state.topics if topic.topic not in hidden]
    return state
