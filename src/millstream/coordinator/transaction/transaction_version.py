"""The levels of the feature `transaction.version` (KIP-890), and what each of them means."""

from __future__ import annotations

from enum import IntEnum
from typing import Final

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
