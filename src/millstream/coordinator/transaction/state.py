"""The states of a transactional id, as numbers of the log and names of the admin APIs, and which may follow which."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from types import MappingProxyType
from typing import Final


class TransactionState(IntEnum):
    """The number is what `TransactionLogValue.transaction_status` holds."""

    EMPTY = 0
    """A producer has its id and epoch and has not written in a transaction yet."""
    ONGOING = 1
    PREPARE_COMMIT = 2
    """Decided: it will be committed, whatever happens. Its markers are being written."""
    PREPARE_ABORT = 3
    COMPLETE_COMMIT = 4
    """Every marker is written."""
    COMPLETE_ABORT = 5
    DEAD = 6
    """Expired. Never in the log: a tombstone is."""
    PREPARE_EPOCH_FENCE = 7
    """Kafka's name for an ongoing transaction whose epoch is being raised so that it can be aborted.

    Never in the log, and never seen here: raising the epoch and preparing the abort are one record. Listing knows the name.
    """

    @property
    def label(self) -> str:
        """As ListTransactions and DescribeTransactions give it."""
        return _LABELS[self]

    @property
    def is_prepared(self) -> bool:
        return self in (TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT)

    @property
    def is_complete(self) -> bool:
        return self in (TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT)

    @property
    def may_expire(self) -> bool:
        return self is TransactionState.EMPTY or self.is_complete


_LABELS: Final[Mapping[TransactionState, str]] = MappingProxyType(
    {state: state.name.title().replace("_", "") for state in TransactionState}
)
STATES_BY_LABEL: Final[Mapping[str, TransactionState]] = MappingProxyType(
    {label: state for state, label in _LABELS.items()}
)

_S = TransactionState
VALID_PREVIOUS_STATES: Final[Mapping[TransactionState, frozenset[TransactionState]]] = (
    MappingProxyType(
        {
            _S.EMPTY: frozenset({_S.EMPTY, _S.COMPLETE_ABORT, _S.COMPLETE_COMMIT}),
            _S.ONGOING: frozenset({_S.ONGOING, _S.COMPLETE_ABORT, _S.EMPTY, _S.COMPLETE_COMMIT}),
            _S.PREPARE_COMMIT: frozenset({_S.ONGOING}),
            _S.PREPARE_ABORT: frozenset(
                {
                    _S.EMPTY,
                    _S.PREPARE_EPOCH_FENCE,
                    _S.ONGOING,
                    _S.COMPLETE_ABORT,
                    _S.COMPLETE_COMMIT,
                }
            ),
            _S.COMPLETE_COMMIT: frozenset({_S.PREPARE_COMMIT}),
            _S.COMPLETE_ABORT: frozenset({_S.PREPARE_ABORT}),
            _S.DEAD: frozenset({_S.EMPTY, _S.COMPLETE_ABORT, _S.COMPLETE_COMMIT}),
            _S.PREPARE_EPOCH_FENCE: frozenset({_S.ONGOING}),
        }
    )
)
