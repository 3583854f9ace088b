"""The context of one operation on transactions: settings, timers by what they mean, and what a record sets off; and the
messages between the transaction coordinator and this node, besides the requests of clients.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from millstream.coordinator.context import OperationContext
from millstream.coordinator.transaction.records import transaction_record
from millstream.coordinator.transaction.state import TransactionVersion
from millstream.coordinator.transaction.transaction import TransactionMetadata
from millstream.coordinator.transaction.transactions import Transactions
from millstream.model import ProducerId
from millstream.protocol.enums import TransactionState


@dataclass(frozen=True, slots=True)
class PreparedTransaction:
    """Notice to the edge: this is decided and in the log, so write its markers and then tell the shard so."""

    transaction: TransactionMetadata


@dataclass(frozen=True, slots=True)
class MarkersWritten:
    """Every partition of a prepared transaction has its marker, for good. Answered with None."""

    transaction: TransactionMetadata


@dataclass(frozen=True, slots=True)
class DescribeTransaction:
    """One of the ids of a DescribeTransactions. Answered with the transaction as that response has it."""

    transactional_id: str


@dataclass(frozen=True, slots=True)
class TransactionCoordinatorConfig:
    """Durations in milliseconds; named after the broker's keys."""

    transaction_max_timeout_ms: int = 900_000
    transactional_id_expiration_ms: int = 604_800_000
    transaction_abort_timed_out_transaction_cleanup_interval_ms: int = 10_000
    """How soon an abort that could not be written is tried again; a transaction's own
    time-out is kept to the millisecond."""
    transaction_remove_expired_transaction_cleanup_interval_ms: int = 3_600_000


class TransactionTimerKind(Enum):
    TIMEOUT = "timeout"
    """A transaction has been open for as long as its producer allowed."""
    EXPIRY = "expiry"
    """Time to look for transactional ids that are not used any more."""


class TransactionTimer(NamedTuple):
    kind: TransactionTimerKind
    transactional_id: str = ""


TakeProducerId = Callable[[], ProducerId]
"""A producer id that no producer has had. Raises CoordinatorLoadInProgress while the next block of ids is not here
yet."""


@dataclass(slots=True)
class TransactionContext(OperationContext):
    transactions: Transactions
    config: TransactionCoordinatorConfig
    level: TransactionVersion
    """The finalized transaction.version."""
    take_producer_id: TakeProducerId

    def write(self, transaction: TransactionMetadata) -> None:
        """Writes the next record of a transactional id, and what follows from it."""
        self.result.records.append(transaction_record(transaction, self.level))
        if transaction.is_prepared:
            self.cancel_timer(_timeout_of(transaction))
            self.on_append_failure(
                lambda later: later.postpone_timeout(transaction.transactional_id)
            )
            self.announce(transaction)

    def announce(self, prepared: TransactionMetadata) -> None:
        assert prepared.is_prepared, "only what is decided gets markers"
        self.result.notices.append(PreparedTransaction(prepared))

    def start_timeout(self, transaction: TransactionMetadata) -> None:
        self._start_timeout(transaction, self._remaining_ms(transaction))

    def restart_timeout(self, transaction: TransactionMetadata) -> None:
        """Starts the time-out anew for a transaction that could not be ended just now, so that it
        is not tried again at once.
        """
        pause_ms = self.config.transaction_abort_timed_out_transaction_cleanup_interval_ms
        self._start_timeout(transaction, max(self._remaining_ms(transaction), pause_ms))

    def postpone_timeout(self, transactional_id: str) -> None:
        """Starts the time-out anew of a transaction that could not be ended: it is as open as it was."""
        known = self.transactions.find(transactional_id)
        if known is not None and known.state is TransactionState.ONGOING:
            self.restart_timeout(known)

    def remember_last_epoch(self, transactional_id: str, epoch: int) -> None:
        """Does as `Transactions.remember_last_epoch` does; undone if the record that goes with it is not written."""
        before = self.transactions.last_epoch(transactional_id)
        self.transactions.remember_last_epoch(transactional_id, epoch)
        self.on_append_failure(
            lambda later: later.transactions.remember_last_epoch(transactional_id, before)
        )

    def _remaining_ms(self, transaction: TransactionMetadata) -> int:
        """From when it began; a wall clock that jumps back does not stretch it beyond its time-out."""
        assert transaction.state is TransactionState.ONGOING, "only an open transaction times out"
        elapsed_ms = self.now.wall_ms - transaction.start_timestamp_ms
        return min(max(transaction.timeout_ms - elapsed_ms, 0), transaction.timeout_ms)

    def _start_timeout(self, transaction: TransactionMetadata, delay_ms: int) -> None:
        self.start_timer(_timeout_of(transaction), delay_ms)


def _timeout_of(transaction: TransactionMetadata) -> TransactionTimer:
    return TransactionTimer(TransactionTimerKind.TIMEOUT, transaction.transactional_id)
