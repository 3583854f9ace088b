"""The states of a transactional id: their numbers in the log, and which may follow which; and the levels of the feature
`transaction.version` (KIP-890), with what each of them means.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from types import MappingProxyType
from typing import Final

from millstream.protocol.enums import TransactionState

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

STATE_BY_STATUS: Final[Mapping[int, TransactionState]] = MappingProxyType(
    {
        0: _S.EMPTY,
        1: _S.ONGOING,
        2: _S.PREPARE_COMMIT,
        3: _S.PREPARE_ABORT,
        4: _S.COMPLETE_COMMIT,
        5: _S.COMPLETE_ABORT,
        6: _S.DEAD,
        7: _S.PREPARE_EPOCH_FENCE,
    }
)
"""By the number that `TransactionLogValue.transaction_status` holds."""
STATUS_BY_STATE: Final[Mapping[TransactionState, int]] = MappingProxyType(
    {state: status for status, state in STATE_BY_STATUS.items()}
)


TRANSACTION_VERSION: Final = "transaction.version"


class TransactionVersion(IntEnum):
    """The protocol by which a transaction is run. A client's own level follows from the versions of its requests."""

    TV_0 = 0
    """Partitions are added by the client; an epoch lasts until another producer takes the transactional id."""
    TV_1 = 1
    """As 0; the records of the log may hold tagged fields."""
    TV_2 = 2
    """Every end of a transaction raises the epoch, so that what is late cannot reach the next transaction."""

    @property
    def raises_epoch(self) -> bool:
        return self >= TransactionVersion.TV_2

    @property
    def value_version(self) -> int:
        """The version of `TransactionLogValue`."""
        return 1 if self >= TransactionVersion.TV_1 else 0


_FIRST_VERSION_OF_END_TXN: Final = 5
_FIRST_VERSION_OF_ADD_PARTITIONS: Final = 4


def of_end_txn(api_version: int) -> TransactionVersion:
    """Returns the level of a client that sends EndTxn in this version."""
    raises = api_version >= _FIRST_VERSION_OF_END_TXN
    return TransactionVersion.TV_2 if raises else TransactionVersion.TV_0


def of_add_partitions(api_version: int) -> TransactionVersion:
    """Returns the version of the protocol that a request uses.

    From version 4 on brokers add the partitions, for producers that do not.
    """
    by_broker = api_version >= _FIRST_VERSION_OF_ADD_PARTITIONS
    return TransactionVersion.TV_2 if by_broker else TransactionVersion.TV_0
