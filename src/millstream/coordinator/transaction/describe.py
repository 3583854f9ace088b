"""DescribeTransactions and ListTransactions (KIP-664, KIP-994, KIP-1152): what a shard knows of its
transactional ids.
"""

from __future__ import annotations

from itertools import groupby

from millstream.coordinator.result import CoordinatorResult
from millstream.coordinator.transaction.context import DescribeTransaction, TransactionContext
from millstream.coordinator.transaction.state import TRANSITIONS
from millstream.coordinator.transaction.transaction import TransactionMetadata
from millstream.errors import InvalidRequest, TransactionalIdNotFound
from millstream.protocol.generated.describe_transactions import TopicData
from millstream.protocol.generated.describe_transactions import (
    TransactionState as DescribedTransaction,
)
from millstream.protocol.generated.list_transactions import (
    ListTransactionsRequest,
    ListTransactionsResponse,
)
from millstream.protocol.generated.list_transactions import TransactionState as ListedTransaction


def describe_transaction(
    context: TransactionContext, request: DescribeTransaction
) -> CoordinatorResult:
    """Describes a transaction. Raises InvalidRequest, TransactionalIdNotFound."""
    transactional_id = request.transactional_id
    if not transactional_id:
        raise InvalidRequest("a transactional id must not be empty")
    known = context.transactions.find(transactional_id)
    if known is None:
        raise TransactionalIdNotFound
    described = DescribedTransaction(
        transactional_id=transactional_id,
        transaction_state=known.state,
        transaction_timeout_ms=known.timeout_ms,
        transaction_start_time_ms=known.start_timestamp_ms,
        producer_id=known.producer_id,
        producer_epoch=known.producer_epoch,
        topics=[
            TopicData(topic, [p.partition for p in partitions])
            for topic, partitions in groupby(sorted(known.partitions), lambda p: p.topic)
        ],
    )
    return context.reply(described)


def list_transactions(
    context: TransactionContext, request: ListTransactionsRequest
) -> CoordinatorResult:
    """Lists them whatever the pattern of the request says of their ids. Unknown states are named and match nothing."""
    states, producer_ids = frozenset(request.state_filters), frozenset(request.producer_id_filters)
    listed = [
        ListedTransaction(known.transactional_id, known.producer_id, known.state)
        for known in context.transactions
        if (not producer_ids or known.producer_id in producer_ids)
        and (not states or known.state in states)
        and _has_run_for(known, request.duration_filter, context.now.wall_ms)
    ]
    unknown = [name for name in request.state_filters if name not in TRANSITIONS]
    return context.reply(
        ListTransactionsResponse(unknown_state_filters=unknown, transaction_states=listed)
    )


def _has_run_for(known: TransactionMetadata, duration_ms: int, now_ms: int) -> bool:
    return duration_ms < 0 or now_ms - known.start_timestamp_ms > duration_ms
