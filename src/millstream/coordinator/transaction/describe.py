"""DescribeTransactions and ListTransactions (KIP-664, KIP-994, KIP-1152): what a shard knows of its transactional ids."""

from __future__ import annotations

from collections.abc import Callable
from itertools import groupby

from millstream.coordinator.transaction.state import STATES_BY_LABEL
from millstream.coordinator.transaction.transaction import Transaction
from millstream.coordinator.transaction.transactions import Transactions
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


def describe_transaction(transactions: Transactions, transactional_id: str) -> DescribedTransaction:
    """Raises InvalidRequest, TransactionalIdNotFound."""
    if not transactional_id:
        raise InvalidRequest("a transactional id must not be empty")
    known = transactions.find(transactional_id)
    if known is None:
        raise TransactionalIdNotFound
    return DescribedTransaction(
        transactional_id=transactional_id,
        transaction_state=known.state.label,
        transaction_timeout_ms=known.timeout_ms,
        transaction_start_time_ms=known.start_timestamp_ms,
        producer_id=known.producer_id,
        producer_epoch=known.producer_epoch,
        topics=[
            TopicData(topic, [p.partition for p in partitions])
            for topic, partitions in groupby(sorted(known.partitions), lambda p: p.topic)
        ],
    )


def list_transactions(
    transactions: Transactions,
    request: ListTransactionsRequest,
    is_wanted: Callable[[str], bool],
    now_ms: int,
) -> ListTransactionsResponse:
    """`is_wanted`: whether a transactional id matches the pattern of the request. Unknown states are named and match nothing."""
    listed = [
        ListedTransaction(known.transactional_id, known.producer_id, known.state.label)
        for known in transactions
        if _passes(known, request, now_ms) and is_wanted(known.transactional_id)
    ]
    unknown = [label for label in request.state_filters if label not in STATES_BY_LABEL]
    return ListTransactionsResponse(unknown_state_filters=unknown, transaction_states=listed)


def _passes(known: Transaction, request: ListTransactionsRequest, now_ms: int) -> bool:
    if request.producer_id_filters and known.producer_id not in request.producer_id_filters:
        return False
    if request.state_filters and known.state.label not in request.state_filters:
        return False
    running_ms = now_ms - known.start_timestamp_ms
    return request.duration_filter < 0 or running_ms > request.duration_filter
