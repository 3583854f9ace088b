"""The timers of transactions, by what they mean."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple


class TransactionTimerKind(Enum):
    TIMEOUT = "timeout"
    """A transaction has been open for as long as its producer allowed."""
    EXPIRY = "expiry"
    """Time to look for transactional ids that are not used any more."""


class TransactionTimer(NamedTuple):
    kind: TransactionTimerKind
    transactional_id: str = ""
