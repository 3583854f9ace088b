"""The transaction coordinator of one `__transaction_state` partition: the front of everything in this package.

Handlers plan, `replay` changes: a transactional id is what its last record says. The one thing kept beside the log is
the epoch before the present one (`Transactions.last_epoch`), which only lets a lost answer be given again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from millstream.coordinator.context import Operations
from millstream.coordinator.record import CoordinatorRecord
from millstream.coordinator.result import NODE_ITSELF, Caller, CoordinatorResult, TimerKey
from millstream.coordinator.transaction import (
    add_partitions,
    describe,
    end_transaction,
    init_producer_id,
    upkeep,
)
from millstream.coordinator.transaction.context import (
    DescribeTransaction,
    MarkersWritten,
    TakeProducerId,
    TransactionContext,
    TransactionCoordinatorConfig,
    TransactionTimer,
    TransactionTimerKind,
)
from millstream.coordinator.transaction.records import transaction_from_value
from millstream.coordinator.transaction.state import TransactionVersion
from millstream.coordinator.transaction.transactions import Transactions
from millstream.model import Offset, ProducerId
from millstream.protocol.generated.add_partitions_to_txn import AddPartitionsToTxnTransaction
from millstream.protocol.generated.end_txn import EndTxnRequest
from millstream.protocol.generated.init_producer_id import InitProducerIdRequest
from millstream.protocol.generated.list_transactions import ListTransactionsRequest
from millstream.protocol.generated.transaction_records import (
    TransactionLogKey,
    TransactionLogValue,
)
from millstream.runtime import Instant

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


_PARTITIONS_AT_ONCE: Final = 1_000
"""Of a transaction, written and read again in some milliseconds."""


class TransactionShard:
    """Satisfies `coordinator.runtime.Shard`."""

    def __init__(
        self, config: TransactionCoordinatorConfig, take_producer_id: TakeProducerId
    ) -> None:
        self.level = TransactionVersion.TV_0
        """The finalized transaction.version; the edge sets it with every image."""
        self._config = config
        self._take_producer_id = take_producer_id
        self._transactions = Transactions()

    @property
    def transactions(self) -> Transactions:
        """The transactions, to look at, not to change."""
        return self._transactions

    # What the runtime asks for

    def handle(self, request: object, caller: Caller, now: Instant) -> CoordinatorResult:
        """Handles any request of `OPERATIONS`.

        A KafkaError that it raises is the answer; nothing has changed then.
        """
        return OPERATIONS[type(request)](self._context(caller, now), request)

    def handle_loaded(self, now: Instant) -> CoordinatorResult:
        context = self._context(NODE_ITSELF, now)
        upkeep.resume(context)
        upkeep.start_expiry(context)
        return context.result

    def handle_timer(self, key: TimerKey, now: Instant) -> CoordinatorResult:
        assert isinstance(key, TransactionTimer), "a timer of another shard"
        context = self._context(NODE_ITSELF, now)
        TIMERS[key.kind](context, key)
        return context.result

    def takes_long(self, asked: object) -> bool:
        """A record of a transaction has all of its partitions, also when one is added.

        Nothing that may take a producer id: a thread would take it beside other shards, which take theirs on the loop.
        """
        match asked:
            case AddPartitionsToTxnTransaction():
                known = self._transactions.find(asked.transactional_id)
                added = sum(len(topic.partitions) for topic in asked.topics)
                return added + (0 if known is None else len(known.partitions)) > _PARTITIONS_AT_ONCE
            case _:
                return False

    def handle_append_failed(self, failed: CoordinatorResult, now: Instant) -> CoordinatorResult:
        return self._context(NODE_ITSELF, now).undo(failed)

    # Hard state

    def replay(self, offset: Offset, record: CoordinatorRecord) -> None:
        del offset
        match record.key, record.value:
            case TransactionLogKey() as key, None:
                self._transactions.remove(key.transactional_id)
            case TransactionLogKey() as key, TransactionLogValue() as value:
                self._transactions.put(transaction_from_value(key.transactional_id, value))
            case _:
                raise AssertionError("a record of another coordinator")

    def transaction_size(self, producer_id: ProducerId) -> int:
        """The log of transactions is never written in a transaction."""
        del producer_id
        return 0

    def replay_end_transaction(self, producer_id: ProducerId, *, committed: bool) -> None:
        del committed
        raise AssertionError(f"a marker of producer {producer_id} in the log of transactions")

    def _context(self, caller: Caller, now: Instant) -> TransactionContext:
        return TransactionContext(
            caller, now, self._transactions, self._config, self.level, self._take_producer_id
        )
