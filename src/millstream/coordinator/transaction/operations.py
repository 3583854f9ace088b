"""Every operation on transactions by its request, and what its timers set off."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from millstream.coordinator.context import Operations
from millstream.coordinator.transaction import (
    add_partitions,
    describe,
    end_transaction,
    init_producer_id,
    upkeep,
)
from millstream.coordinator.transaction.context import TransactionContext
from millstream.coordinator.transaction.requests import DescribeTransaction, MarkersWritten
from millstream.coordinator.transaction.timers import TransactionTimer, TransactionTimerKind
from millstream.protocol.generated.add_partitions_to_txn import AddPartitionsToTxnTransaction
from millstream.protocol.generated.end_txn import EndTxnRequest
from millstream.protocol.generated.init_producer_id import InitProducerIdRequest
from millstream.protocol.generated.list_transactions import ListTransactionsRequest

OPERATIONS: Final[Operations[TransactionContext]] = MappingProxyType(
    {
        InitProducerIdRequest: init_producer_id.init_producer_id,
        AddPartitionsToTxnTransaction: add_partitions.add_partitions,
        EndTxnRequest: end_transaction.end_transaction,
        MarkersWritten: upkeep.complete,
        DescribeTransaction: describe.describe_transaction,
        ListTransactionsRequest: describe.list_transactions,
    }
)

TIMERS: Final[
    Mapping[TransactionTimerKind, Callable[[TransactionContext, TransactionTimer], None]]
] = MappingProxyType(
    {
        TransactionTimerKind.TIMEOUT: upkeep.abort_timed_out,
        TransactionTimerKind.EXPIRY: upkeep.expire,
    }
)
