"""EndTxn: commit or abort. The decision is one record; markers follow once it is in the log, and then the completion.

Two sets of rules. Clients up to version 4 keep their epoch, so a late EndTxn of theirs cannot be told from one of the
next transaction: they get what Kafka gives them. From version 5 on (KIP-890) every end raises the epoch: an EndTxn at
the epoch before the present one is a retry of the end that raised it, and nothing else. So it may be answered again,
and can never touch another transaction.
"""

from __future__ import annotations

from millstream.coordinator.result import CoordinatorResult
from millstream.coordinator.transaction.context import TransactionContext
from millstream.coordinator.transaction.state import TransactionVersion, of_end_txn
from millstream.coordinator.transaction.transaction import EPOCH_MAX, NO_EPOCH, TransactionMetadata
from millstream.errors import (
    ConcurrentTransactions,
    InvalidProducerIdMapping,
    InvalidRequest,
    InvalidTxnState,
    ProducerFenced,
)
from millstream.model import NO_PRODUCER_ID
from millstream.protocol.enums import TransactionState
from millstream.protocol.generated.end_txn import EndTxnRequest, EndTxnResponse


def end_transaction(context: TransactionContext, request: EndTxnRequest) -> CoordinatorResult:
    """Commits or aborts a transaction.

    Raises InvalidRequest, InvalidProducerIdMapping, ProducerFenced, ConcurrentTransactions, InvalidTxnState.
    """
    if not request.transactional_id:
        raise InvalidRequest("a transactional id must not be empty")
    client_version = of_end_txn(context.caller.api_version)
    known = context.transactions.get(request.transactional_id)
    if client_version.raises_epoch:
        is_done = _check_raising(known, request)
    else:
        is_done = _check_keeping(known, request)
    if is_done:
        return context.reply(_response(known, client_version))
    state = TransactionState.PREPARE_COMMIT if request.committed else TransactionState.PREPARE_ABORT
    prepared = _prepare(context, known, state, client_version)
    return context.reply(_response(prepared.completed(context.now.wall_ms), client_version))


def abort_for_good(context: TransactionContext, known: TransactionMetadata) -> None:
    """The coordinator ends an open transaction itself: it timed out, or another producer takes its id.

    Its producer is fenced.
    """
    if not context.level.raises_epoch:
        known = known.fenced()
        context.remember_last_epoch(known.transactional_id, NO_EPOCH)
    _prepare(context, known, TransactionState.PREPARE_ABORT, context.level)


def _prepare(
    context: TransactionContext,
    known: TransactionMetadata,
    state: TransactionState,
    version: TransactionVersion,
) -> TransactionMetadata:
    next_producer_id = NO_PRODUCER_ID
    if version.raises_epoch:
        if known.is_epoch_exhausted:
            next_producer_id = context.take_producer_id()
        context.remember_last_epoch(known.transactional_id, known.producer_epoch)
    prepared = known.prepared(
        state,
        version if version.raises_epoch else TransactionVersion.TV_0,
        next_producer_id,
        context.now.wall_ms,
    )
    context.write(prepared)
    return prepared


def _check_keeping(known: TransactionMetadata, request: EndTxnRequest) -> bool:
    """Up to version 4. True when the transaction has ended as asked already."""
    _check_producer_id(known, request)
    if request.producer_epoch != known.producer_epoch:
        raise _fenced(known, request)
    _check_not_prepared(known)
    if known.state is TransactionState.ONGOING:
        return False
    if known.is_complete and known.is_commit == request.committed:
        return True
    raise _wrong_state(known, request)


def _check_raising(known: TransactionMetadata, request: EndTxnRequest) -> bool:
    """From version 5 on. True for a retry of the end that raised the epoch.

    What is being completed is told first: a producer that has seen its commit answered may
    abort at once, at the new epoch.
    """
    _check_not_prepared(known)
    missed_rotation = (
        known.previous_producer_id == request.producer_id
        and request.producer_epoch == EPOCH_MAX - 1
        and known.producer_epoch == 0
    )
    missed_answer = known.producer_epoch == request.producer_epoch + 1
    if not missed_rotation:
        _check_producer_id(known, request)
    is_retry = known.is_complete and (missed_rotation or missed_answer)
    if not is_retry and request.producer_epoch != known.producer_epoch:
        raise _fenced(known, request)
    if known.state is TransactionState.ONGOING:
        return False
    if is_retry:
        return _check_retry(known, request)
    if request.committed:
        raise _wrong_state(known, request)
    return False  # an abort of nothing: it only raises the epoch


def _check_retry(known: TransactionMetadata, request: EndTxnRequest) -> bool:
    """A commit of what the coordinator aborted, because its time was up, is in the wrong state too, as in Kafka 4.3."""
    if known.is_commit == request.committed:
        return True
    raise _wrong_state(known, request)


def _check_producer_id(known: TransactionMetadata, request: EndTxnRequest) -> None:
    if request.producer_id != known.producer_id:
        raise InvalidProducerIdMapping(
            f"transactional id {known.transactional_id} belongs to producer {known.producer_id}, not {request.producer_id}"
        )


def _check_not_prepared(known: TransactionMetadata) -> None:
    if known.is_prepared:
        raise ConcurrentTransactions(
            f"the transaction of {known.transactional_id} is being completed"
        )


def _fenced(known: TransactionMetadata, request: EndTxnRequest) -> ProducerFenced:
    return ProducerFenced(
        f"{known.transactional_id} is at epoch {known.producer_epoch}, the request says {request.producer_epoch}"
    )


def _wrong_state(known: TransactionMetadata, request: EndTxnRequest) -> InvalidTxnState:
    asked = "committed" if request.committed else "aborted"
    return InvalidTxnState(
        f"{known.transactional_id} is in state {known.state}: there is nothing to be {asked}"
    )


def _response(known: TransactionMetadata, client_version: TransactionVersion) -> EndTxnResponse:
    if not client_version.raises_epoch:
        return EndTxnResponse()
    return EndTxnResponse(producer_id=known.producer_id, producer_epoch=known.producer_epoch)
