"""The settings of a transaction coordinator. Durations in milliseconds; named after the broker's keys."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TransactionCoordinatorConfig:
    transaction_max_timeout_ms: int = 900_000
    transactional_id_expiration_ms: int = 604_800_000
    transaction_abort_timed_out_transaction_cleanup_interval_ms: int = 10_000
    """How soon an abort that could not be written is tried again; a transaction's own
    time-out is kept to the millisecond."""
    transaction_remove_expired_transaction_cleanup_interval_ms: int = 3_600_000
