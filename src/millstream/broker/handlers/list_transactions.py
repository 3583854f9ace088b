"""ListTransactions: the transactional ids this node coordinates.

Versions 0-2. Filtered by state and producer id, from version 1 on by how long the transaction has been open, from 2 on
by a regular expression that matches the whole transactional id (see metadata.client_pattern). Unknown states are named
in the answer and match nothing. While a partition of `__transaction_state` loads: COORDINATOR_LOAD_IN_PROGRESS.
"""

from __future__ import annotations

from functools import partial

from millstream.broker.coordination.transaction_coordination import TransactionCoordination
from millstream.broker.long_work import LongWork
from millstream.broker.patterns.pattern_matcher import PatternMatcher
from millstream.broker.requests.access import Access
from millstream.broker.requests.api_spec import ApiSpec, Permission
from millstream.broker.requests.request_context import RequestContext
from millstream.coordinator.transaction.state import TRANSITIONS
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.list_transactions import (
    ListTransactionsRequest,
    ListTransactionsResponse,
)
from millstream.security.acl import Operation, ResourceType

API = ApiSpec(
    ApiKey.LIST_TRANSACTIONS,
    versions=range(3),
    permissions=(Permission(Operation.DESCRIBE, ResourceType.TRANSACTIONAL_ID),),
    kept_whole="filters, made sets",
    tells_all=True,
)


async def handle(
    request: ListTransactionsRequest,
    context: RequestContext,
    *,
    access: Access,
    long_work: LongWork,
    patterns: PatternMatcher,
    transaction_coordinator: TransactionCoordination,
) -> ListTransactionsResponse:
    pattern = request.transactional_id_pattern
    if pattern:
        await patterns.matching(pattern, (), context.client_host)  # refused whatever there is
    answers, failure = await transaction_coordinator.shards.ask_all(
        request, ListTransactionsResponse, context.caller
    )
    if failure is not None:
        return ListTransactionsResponse(error_code=failure.code)
    states = [state for answer in answers for state in answer.transaction_states]
    if pattern and states:
        ids = [state.transactional_id for state in states]
        wanted = await patterns.matching(pattern, ids, context.client_host)
        states = [state for state in states if state.transactional_id in wanted]
    if not access.is_open:
        may = partial(access.allows, context, Operation.DESCRIBE, ResourceType.TRANSACTIONAL_ID)
        states = [
            state async for state in long_work.in_turns(states) if may(state.transactional_id)
        ]
    return ListTransactionsResponse(
        unknown_state_filters=[name for name in request.state_filters if name not in TRANSITIONS],
        transaction_states=states,
    )
