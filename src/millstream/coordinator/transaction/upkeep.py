"""What the coordinator does by itself: aborts what takes too long, forgets ids that nobody uses, completes what is decided."""

from __future__ import annotations

from typing import Final

from millstream.coordinator.transaction.context import TransactionContext
from millstream.coordinator.transaction.end_transaction import abort_for_good
from millstream.coordinator.transaction.records import transaction_tombstone
from millstream.coordinator.transaction.state import TransactionState
from millstream.coordinator.transaction.transaction import Transaction
from millstream.coordinator.transaction.transactions import Transactions
from millstream.errors import CoordinatorLoadInProgress

_TOMBSTONES_MAX: Final = 1_000
"""In one append, so that others get their turn."""


def resume(transactions: Transactions, context: TransactionContext) -> None:
    """After loading: what was decided is completed, what was open times out when it would have."""
    for known in transactions:
        if known.state.is_prepared:
            context.announce(known)
        elif known.state is TransactionState.ONGOING:
            context.start_timeout(known)


def abort_timed_out(
    transactions: Transactions, transactional_id: str, context: TransactionContext
) -> None:
    """The transaction may have ended, and another begun, between the timer and now: then the timer was not of this one."""
    known = transactions.find(transactional_id)
    if known is None or known.state is not TransactionState.ONGOING:
        return
    try:
        abort_for_good(transactions, known, context)
    except CoordinatorLoadInProgress:
        context.restart_timeout(known)  # its epochs are used up and no producer id is at hand


def complete(
    transactions: Transactions, prepared: Transaction, context: TransactionContext
) -> None:
    """Its markers are written. Nothing happens when that has been noticed before."""
    known = transactions.find(prepared.transactional_id)
    if known is not None and _is_same(known, prepared):
        context.write(known.completed(context.now.wall_ms))


def _is_same(known: Transaction, prepared: Transaction) -> bool:
    """By what every version of the record keeps."""
    return (
        known.state is prepared.state
        and known.producer_id == prepared.producer_id
        and known.producer_epoch == prepared.producer_epoch
        and known.last_update_timestamp_ms == prepared.last_update_timestamp_ms
    )


def expire(transactions: Transactions, context: TransactionContext) -> bool:
    """Tombstones for ids not used for `transactional.id.expiration.ms`; False while there are more of them."""
    latest_ms = context.now.wall_ms - context.config.transactional_id_expiration_ms
    expired = [
        known.transactional_id
        for known in transactions
        if known.state.may_expire and known.last_update_timestamp_ms <= latest_ms
    ]
    context.result.records += [transaction_tombstone(each) for each in expired[:_TOMBSTONES_MAX]]
    return len(expired) <= _TOMBSTONES_MAX
