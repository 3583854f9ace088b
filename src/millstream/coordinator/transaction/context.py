"""What one operation on transactions works with: time, limits, producer ids, and the result it fills."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

from millstream.coordinator.result import CoordinatorResult
from millstream.coordinator.transaction.config import TransactionCoordinatorConfig
from millstream.coordinator.transaction.records import transaction_record
from millstream.coordinator.transaction.state import TransactionState
from millstream.coordinator.transaction.transaction import Transaction
from millstream.coordinator.transaction.transaction_version import TransactionVersion
from millstream.model import ProducerId
from millstream.runtime import Instant

TakeProducerId = Callable[[], ProducerId]
"""A producer id nobody has had. Raises CoordinatorLoadInProgress while the next block of ids is not here yet."""


class TimerKind(Enum):
    TIMEOUT = "timeout"
    """A transaction has been open for as long as its producer allowed."""
    EXPIRY = "expiry"
    """Time to look for transactional ids that nobody uses any more."""


class TransactionTimer(NamedTuple):
    kind: TimerKind
    transactional_id: str = ""


@dataclass(frozen=True, slots=True)
class PreparedTransaction:
    """Notice to the edge: this is decided and in the log, so write its markers and then tell the shard so."""

    transaction: Transaction


@dataclass(slots=True)
class TransactionContext:
    """One operation. `level` is the finalized transaction.version."""

    now: Instant
    config: TransactionCoordinatorConfig
    level: TransactionVersion
    take_producer_id: TakeProducerId
    result: CoordinatorResult = field(default_factory=CoordinatorResult)

    def write(self, transaction: Transaction) -> None:
        """The next record of a transactional id, and what follows from it."""
        self.result.records.append(transaction_record(transaction, self.level))
        if transaction.state.is_prepared:
            self.result.cancel_timer(_timeout_of(transaction))
            self.announce(transaction)

    def announce(self, prepared: Transaction) -> None:
        assert prepared.state.is_prepared, "only what is decided gets markers"
        self.result.notices.append(PreparedTransaction(prepared))

    def start_timeout(self, transaction: Transaction) -> None:
        self._start_timeout(transaction, self._remaining_ms(transaction))

    def restart_timeout(self, transaction: Transaction) -> None:
        """It could not be ended just now: not again at once."""
        pause_ms = self.config.transaction_abort_timed_out_transaction_cleanup_interval_ms
        self._start_timeout(transaction, max(self._remaining_ms(transaction), pause_ms))

    def _remaining_ms(self, transaction: Transaction) -> int:
        """From when it began; a wall clock that jumps back does not stretch it beyond its time-out."""
        assert transaction.state is TransactionState.ONGOING, "only an open transaction times out"
        elapsed_ms = self.now.wall_ms - transaction.start_timestamp_ms
        return min(max(transaction.timeout_ms - elapsed_ms, 0), transaction.timeout_ms)

    def _start_timeout(self, transaction: Transaction, delay_ms: int) -> None:
        self.result.start_timer(_timeout_of(transaction), self.now.monotonic_ms + delay_ms)


def _timeout_of(transaction: Transaction) -> TransactionTimer:
    return TransactionTimer(TimerKind.TIMEOUT, transaction.transactional_id)
