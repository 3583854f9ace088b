"""AddPartitionsToTxn: the partitions that will need a marker, known before anything is written to them.

A transaction begins with its first partition. Brokers ask too: to add what a producer has just sent (KIP-890), or only
whether it has been added (verification, for producers that add for themselves).
"""

from __future__ import annotations

from collections.abc import Callable

from millstream.coordinator.result import CoordinatorResult
from millstream.coordinator.transaction.context import TransactionContext
from millstream.coordinator.transaction.state import of_add_partitions
from millstream.coordinator.transaction.transaction import TransactionMetadata
from millstream.coordinator.transaction.transactions import Transactions
from millstream.errors import (
    ConcurrentTransactions,
    InvalidProducerIdMapping,
    InvalidRequest,
    ProducerFenced,
    TransactionAbortable,
)
from millstream.model import TopicPartition
from millstream.protocol.enums import TransactionState
from millstream.protocol.generated.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopicResult,
    AddPartitionsToTxnTransaction,
)


def add_partitions(
    context: TransactionContext, request: AddPartitionsToTxnTransaction
) -> CoordinatorResult:
    """Adds or, when the request says so, only verifies.

    Raises InvalidRequest, InvalidProducerIdMapping, ProducerFenced, ConcurrentTransactions: for all partitions alike.
    """
    return _verify(context, request) if request.verify_only else _add(context, request)


def _add(context: TransactionContext, request: AddPartitionsToTxnTransaction) -> CoordinatorResult:
    client_version = of_add_partitions(context.caller.api_version)
    known = _transaction_of(context.transactions, request)
    _check_not_prepared(known)
    _check_producer(known, request)
    wanted = frozenset(_partitions(request))
    if known.state is not TransactionState.ONGOING or not wanted <= known.partitions:
        ongoing = known.with_partitions(wanted, client_version, context.now.wall_ms)
        context.write(ongoing)
        if known.state is not TransactionState.ONGOING:
            context.start_timeout(ongoing)
    return context.reply(_result(request, lambda _partition: 0))


def _verify(
    context: TransactionContext, request: AddPartitionsToTxnTransaction
) -> CoordinatorResult:
    """Changes nothing. A partition that was not added is answered with TRANSACTION_ABORTABLE."""
    known = _transaction_of(context.transactions, request)
    _check_producer(known, request)
    _check_not_prepared(known)
    return context.reply(
        _result(
            request,
            lambda partition: 0 if partition in known.partitions else TransactionAbortable.code,
        ),
    )


def _transaction_of(
    transactions: Transactions, request: AddPartitionsToTxnTransaction
) -> TransactionMetadata:
    if not request.transactional_id:
        raise InvalidRequest("a transactional id must not be empty")
    return transactions.get(request.transactional_id)


def _check_producer(known: TransactionMetadata, request: AddPartitionsToTxnTransaction) -> None:
    if request.producer_id != known.producer_id:
        raise InvalidProducerIdMapping(
            f"transactional id {known.transactional_id} belongs to producer {known.producer_id}, not {request.producer_id}"
        )
    if request.producer_epoch != known.producer_epoch:
        raise ProducerFenced(
            f"{known.transactional_id} is at epoch {known.producer_epoch}, the request says {request.producer_epoch}"
        )


def _check_not_prepared(known: TransactionMetadata) -> None:
    if known.is_prepared:
        raise ConcurrentTransactions(
            f"the previous transaction of {known.transactional_id} is still being completed"
        )


def _partitions(request: AddPartitionsToTxnTransaction) -> list[TopicPartition]:
    return [
        TopicPartition(topic.name, number)
        for topic in request.topics
        for number in topic.partitions
    ]


def _result(
    request: AddPartitionsToTxnTransaction, error_code: Callable[[TopicPartition], int]
) -> AddPartitionsToTxnResult:
    return AddPartitionsToTxnResult(
        transactional_id=request.transactional_id,
        topic_results=[
            AddPartitionsToTxnTopicResult(
                topic.name,
                [
                    AddPartitionsToTxnPartitionResult(
                        number, error_code(TopicPartition(topic.name, number))
                    )
                    for number in topic.partitions
                ],
            )
            for topic in request.topics
        ],
    )
