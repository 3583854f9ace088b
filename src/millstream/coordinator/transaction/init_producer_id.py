"""InitProducerId for a transactional id: who may write under it from now on (KIP-98, KIP-360).

Every call raises the epoch, which fences the producer that wrote before. A transaction that is open is
aborted first, under an epoch of its own, and the caller asks again. A producer that names the id and epoch it
has is only let in if they are the newest.
"""

from __future__ import annotations

from millstream.coordinator.result import CoordinatorResult
from millstream.coordinator.transaction.context import TransactionContext
from millstream.coordinator.transaction.end_transaction import abort_for_good
from millstream.coordinator.transaction.transaction import (
    NO_EPOCH,
    TransactionMetadata,
    is_epoch_exhausted,
)
from millstream.errors import (
    ConcurrentTransactions,
    InvalidRequest,
    InvalidTransactionTimeout,
    ProducerFenced,
)
from millstream.model import NO_PRODUCER_ID, ProducerId
from millstream.protocol.enums import TransactionState
from millstream.protocol.generated.init_producer_id import (
    InitProducerIdRequest,
    InitProducerIdResponse,
)


def init_producer_id(
    context: TransactionContext, request: InitProducerIdRequest
) -> CoordinatorResult:
    """Gives a producer its id and epoch.

    Raises InvalidRequest, InvalidTransactionTimeout, ProducerFenced, ConcurrentTransactions,
    CoordinatorLoadInProgress, PolicyViolation.
    """
    if not request.transactional_id:
        raise InvalidRequest(
            "a transactional id must not be empty; leave it out for an idempotent producer"
        )
    longest_ms = context.config.transaction_max_timeout_ms
    if not 0 < request.transaction_timeout_ms <= longest_ms:
        raise InvalidTransactionTimeout(
            f"a transaction timeout of {request.transaction_timeout_ms} ms is not between 1 and "
            f"transaction.max.timeout.ms={longest_ms}"
        )
    known = context.transactions.find(request.transactional_id)
    if known is None:
        known = _unknown_so_far(context, request.transactional_id)
    elif known.is_prepared:
        raise ConcurrentTransactions(
            f"the previous transaction of {known.transactional_id} is still being completed"
        )
    _check_is_newest(known, request)
    if known.state is TransactionState.ONGOING:
        abort_for_good(context, known)
        return context.fail(
            ConcurrentTransactions(
                f"the open transaction of {known.transactional_id} is being aborted"
            ),
        )
    let_in = _let_in(context, known, request)
    context.write(let_in)
    return context.reply(
        InitProducerIdResponse(
            producer_id=let_in.producer_id, producer_epoch=let_in.producer_epoch
        ),
    )


def _unknown_so_far(context: TransactionContext, transactional_id: str) -> TransactionMetadata:
    context.transactions.check_has_room()
    return TransactionMetadata(transactional_id, context.take_producer_id(), NO_EPOCH, timeout_ms=0)


def _names_itself(request: InitProducerIdRequest) -> bool:
    return request.producer_id != NO_PRODUCER_ID


def _check_is_newest(known: TransactionMetadata, request: InitProducerIdRequest) -> None:
    """A producer may still use the id before the last rotation, if it had used up that one's epochs."""
    if not _names_itself(request) or known.producer_epoch == NO_EPOCH:
        return
    missed_rotation = request.producer_id == known.previous_producer_id and is_epoch_exhausted(
        request.producer_epoch
    )
    if request.producer_id != known.producer_id and not missed_rotation:
        raise ProducerFenced(
            f"transactional id {known.transactional_id} belongs to producer {known.producer_id}, not {request.producer_id}"
        )


def _let_in(
    context: TransactionContext, known: TransactionMetadata, request: InitProducerIdRequest
) -> TransactionMetadata:
    """The id under its next epoch; under the present one when the request is a retry."""
    producer_id, epoch = known.producer_id, known.producer_epoch
    last_epoch = context.transactions.last_epoch(known.transactional_id)
    if known.is_epoch_exhausted and (
        not _names_itself(request) or request.producer_epoch == known.producer_epoch
    ):
        last_epoch = epoch if _names_itself(request) else NO_EPOCH
        producer_id, epoch = context.take_producer_id(), 0
    elif not _names_itself(request) or epoch == NO_EPOCH:
        last_epoch, epoch = NO_EPOCH, epoch + 1
    elif request.producer_epoch == epoch:
        last_epoch, epoch = epoch, epoch + 1
    elif request.producer_epoch != last_epoch:
        raise ProducerFenced(
            f"epoch {request.producer_epoch} of transactional id {known.transactional_id} is not the newest, "
            f"which is {epoch}"
        )
    context.remember_last_epoch(known.transactional_id, last_epoch)
    return known.reinitialized(
        ProducerId(producer_id), epoch, request.transaction_timeout_ms, context.now.wall_ms
    )
