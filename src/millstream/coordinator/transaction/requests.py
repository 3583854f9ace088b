"""The messages between the transaction coordinator and this node, besides the requests of clients."""

from __future__ import annotations

from dataclasses import dataclass

from millstream.coordinator.transaction.transaction import TransactionMetadata


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
