"""Work that the coordinator does by itself: it aborts what takes too long, forgets ids that are not used,
completes what is decided.
"""

from __future__ import annotations

from typing import Final

from millstream.coordinator.result import CoordinatorResult
from millstream.coordinator.transaction.context import (
    MarkersWritten,
    TransactionContext,
    TransactionTimer,
    TransactionTimerKind,
)
from millstream.coordinator.transaction.end_transaction import abort_for_good
from millstream.coordinator.transaction.records import transaction_tombstone
from millstream.coordinator.transaction.transaction import TransactionMetadata
from millstream.errors import CoordinatorLoadInProgress
from millstream.protocol.enums import TransactionState

_TOMBSTONES_MAX: Final = 1_000
"""Ours: in one append, so that others get their turn."""
_EXPIRY_PAUSE_MS: Final = 100
"""Ours: between two batches of tombstones."""


def resume(context: TransactionContext) -> None:
    """Resumes after loading: what was decided is completed, what was open times out when it would have."""
    for known in context.transactions:
        if known.is_prepared:
            context.announce(known)
        elif known.state is TransactionState.ONGOING:
            context.start_timeout(known)


def abort_timed_out(context: TransactionContext, timer: TransactionTimer) -> None:
    """The transaction may have ended, and another begun, between the timer and now: then the timer
    was not of this one.
    """
    known = context.transactions.find(timer.transactional_id)
    if known is None or known.state is not TransactionState.ONGOING:
        return
    try:
        abort_for_good(context, known)
    except CoordinatorLoadInProgress:
        context.restart_timeout(known)  # its epochs are used up and no producer id is at hand


def complete(context: TransactionContext, request: MarkersWritten) -> CoordinatorResult:
    """Completes a transaction. Nothing happens when that has been noticed before."""
    prepared = request.transaction
    known = context.transactions.find(prepared.transactional_id)
    if known is not None and _is_same(known, prepared):
        context.write(known.completed(context.now.wall_ms))
    return context.reply(None)


def _is_same(known: TransactionMetadata, prepared: TransactionMetadata) -> bool:
    """By what every version of the record keeps."""
    return (
        known.state is prepared.state
        and known.producer_id == prepared.producer_id
        and known.producer_epoch == prepared.producer_epoch
        and known.last_update_timestamp_ms == prepared.last_update_timestamp_ms
    )


def start_expiry(context: TransactionContext) -> None:
    delay_ms = context.config.transaction_remove_expired_transaction_cleanup_interval_ms
    context.start_timer(TransactionTimer(TransactionTimerKind.EXPIRY), delay_ms)


def expire(context: TransactionContext, timer: TransactionTimer) -> None:
    """The timer has fired: removes ids that are not used, in batches, and looks again later."""
    if _expire_batch(context):
        start_expiry(context)
    else:
        context.start_timer(timer, _EXPIRY_PAUSE_MS)


def _expire_batch(context: TransactionContext) -> bool:
    """Tombstones for ids not used for `transactional.id.expiration.ms`; False while there are more of them."""
    latest_ms = context.now.wall_ms - context.config.transactional_id_expiration_ms
    expired = [
        known.transactional_id
        for known in context.transactions
        if known.may_expire and known.last_update_timestamp_ms <= latest_ms
    ]
    context.result.records += [transaction_tombstone(each) for each in expired[:_TOMBSTONES_MAX]]
    return len(expired) <= _TOMBSTONES_MAX
