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
    """Its producer has partitions in it and may write to them."""
    PREPARE_COMMIT = 2
    """Decided: it will be committed, whatever happens. Its markers are being written."""
    PREPARE_ABORT = 3
    """Decided: it will be aborted. Its markers are being written."""
    COMPLETE_COMMIT = 4
    """Every marker is written."""
    COMPLETE_ABORT = 5
    """Every marker is written."""
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
_BEGINS: Final = "its first partition is added"
_INITIALIZED: Final = "its producer asks for an epoch (InitProducerId)"
_ABORT_OF_NOTHING: Final = (
    "its producer aborts although nothing is open (EndTxn from version 5 on): only the epoch rises"
)
_EXPIRES: Final = "it is not used for transactional.id.expiration.ms"

TRANSITIONS: Final[Mapping[TransactionState, Mapping[TransactionState, str]]] = MappingProxyType(
    {
        _S.EMPTY: {
            _S.EMPTY: _INITIALIZED,
            _S.ONGOING: _BEGINS,
            _S.PREPARE_ABORT: _ABORT_OF_NOTHING,
            _S.DEAD: _EXPIRES,
        },
        _S.ONGOING: {
            _S.ONGOING: "another partition is added",
            _S.PREPARE_COMMIT: "its producer commits",
            _S.PREPARE_ABORT: "its producer aborts, its time is up, or its producer starts again",
            _S.PREPARE_EPOCH_FENCE: "in Kafka alone: its epoch is raised before it is aborted",
        },
        _S.PREPARE_COMMIT: {_S.COMPLETE_COMMIT: "every partition has its marker"},
        _S.PREPARE_ABORT: {_S.COMPLETE_ABORT: "every partition has its marker"},
        _S.COMPLETE_COMMIT: {
            _S.EMPTY: _INITIALIZED,
            _S.ONGOING: _BEGINS,
            _S.PREPARE_ABORT: _ABORT_OF_NOTHING,
            _S.DEAD: _EXPIRES,
        },
        _S.COMPLETE_ABORT: {
            _S.EMPTY: _INITIALIZED,
            _S.ONGOING: _BEGINS,
            _S.PREPARE_ABORT: _ABORT_OF_NOTHING,
            _S.DEAD: _EXPIRES,
        },
        _S.DEAD: {},
        _S.PREPARE_EPOCH_FENCE: {_S.PREPARE_ABORT: "in Kafka alone: its epoch is raised"},
    }
)
"""What leads from each state to each that may follow."""
