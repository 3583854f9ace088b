"""ListTransactions: the transactional ids this node coordinates.

Versions 0-2. Filtered by state and producer id, from version 1 on by how long the transaction has been open, from 2 on by a
regular expression that matches the whole transactional id (RE2, so that no expression takes long). Unknown states are
named in the answer and match nothing. While a partition of `__transaction_state` loads: COORDINATOR_LOAD_IN_PROGRESS.
"""

from __future__ import annotations

from collections.abc import Callable

import re2

from millstream.broker.api_spec import ApiSpec
from millstream.broker.request_context import RequestContext
from millstream.coordinator.result import CoordinatorContext, CoordinatorResult
from millstream.coordinator.transaction.shard import TransactionShard
from millstream.coordinator.transaction.state import STATES_BY_LABEL
from millstream.errors import InvalidRegularExpression
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.list_transactions import (
    ListTransactionsRequest,
    ListTransactionsResponse,
)
from millstream.runtime import Instant

API = ApiSpec(ApiKey.LIST_TRANSACTIONS, versions=range(3))


async def handle(
    request: ListTransactionsRequest, context: RequestContext
) -> ListTransactionsResponse:
    is_wanted = _matcher(request.transactional_id_pattern)

    def list_shard(
        shard: TransactionShard,
        asked: ListTransactionsRequest,
        caller: CoordinatorContext,
        now: Instant,
    ) -> CoordinatorResult:
        return shard.handle_list_transactions(asked, is_wanted, caller, now)

    answers, failure = await context.node.transaction_coordinator.shards.ask_all(
        list_shard, request, ListTransactionsResponse, context.caller
    )
    if failure is not None:
        return ListTransactionsResponse(error_code=failure.code)
    return ListTransactionsResponse(
        unknown_state_filters=[
            label for label in request.state_filters if label not in STATES_BY_LABEL
        ],
        transaction_states=[state for answer in answers for state in answer.transaction_states],
    )


def _matcher(pattern: str | None) -> Callable[[str], bool]:
    """Raises InvalidRegularExpression."""
    if not pattern:
        return lambda _transactional_id: True
    options = re2.Options()
    options.log_errors = False
    try:
        compiled = re2.compile(pattern, options)
    except re2.error as error:
        raise InvalidRegularExpression(
            f"transactional id pattern {pattern!r} is not a valid regular expression: {error}"
        ) from error
    return lambda transactional_id: compiled.fullmatch(transactional_id) is not None
