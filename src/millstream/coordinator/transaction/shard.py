"""The transaction coordinator of one `__transaction_state` partition: the front of everything in this package.

Handlers plan, `replay` changes: a transactional id is what its last record says. The one thing kept beside the log is the
epoch before the present one (`Transactions.last_epoch`), which only lets a lost answer be given again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from millstream.coordinator.record import CoordinatorRecord
from millstream.coordinator.result import Caller, CoordinatorResult, TimerKey
from millstream.coordinator.transaction import (
    add_partitions,
    describe,
    end_transaction,
    init_producer_id,
    upkeep,
)
from millstream.coordinator.transaction.config import TransactionCoordinatorConfig
from millstream.coordinator.transaction.context import (
    PreparedTransaction,
    TakeProducerId,
    TimerKind,
    TransactionContext,
    TransactionTimer,
)
from millstream.coordinator.transaction.records import transaction_from_value
from millstream.coordinator.transaction.state import TransactionState
from millstream.coordinator.transaction.transaction_version import (
    TransactionVersion,
    of_add_partitions,
    of_end_txn,
)
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

_EXPIRY_PAUSE_MS: Final = 100
"""Between two batches of tombstones."""


class TransactionShard:
    """Satisfies `coordinator.runtime.Shard`. A KafkaError raised by a handler is the answer; nothing has changed then."""

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
        """To look at, not to change."""
        return self._transactions

    # Producers

    def handle_init_producer_id(
        self, request: InitProducerIdRequest, caller: Caller, now: Instant
    ) -> CoordinatorResult:
        context = self._context(now)
        init_producer_id.init_producer_id(self._transactions, request, caller.token, context)
        return context.result

    def handle_add_partitions(
        self, request: AddPartitionsToTxnTransaction, caller: Caller, now: Instant
    ) -> CoordinatorResult:
        """Adds or, when the request says so, only verifies. `caller.api_version` is that of AddPartitionsToTxn."""
        context = self._context(now)
        if request.verify_only:
            add_partitions.verify_partitions(self._transactions, request, caller.token, context)
        else:
            version = of_add_partitions(caller.api_version)
            add_partitions.add_partitions(
                self._transactions, request, version, caller.token, context
            )
        return context.result

    def handle_end_transaction(
        self, request: EndTxnRequest, caller: Caller, now: Instant
    ) -> CoordinatorResult:
        context = self._context(now)
        version = of_end_txn(caller.api_version)
        end_transaction.end_transaction(self._transactions, request, version, caller.token, context)
        return context.result

    def handle_markers_written(
        self, prepared: PreparedTransaction, caller: Caller, now: Instant
    ) -> CoordinatorResult:
        """Every partition of `prepared` has its marker, for good."""
        context = self._context(now)
        upkeep.complete(self._transactions, prepared.transaction, context)
        context.result.reply(caller.token, None)
        return context.result

    # Administration

    def handle_describe_transaction(
        self, transactional_id: str, caller: Caller, now: Instant
    ) -> CoordinatorResult:
        context = self._context(now)
        described = describe.describe_transaction(self._transactions, transactional_id)
        context.result.reply(caller.token, described)
        return context.result

    def handle_list_transactions(
        self,
        request: ListTransactionsRequest,
        caller: Caller,
        now: Instant,
    ) -> CoordinatorResult:
        """The pattern of the request is the edge's business."""
        context = self._context(now)
        listed = describe.list_transactions(self._transactions, request, now.wall_ms)
        context.result.reply(caller.token, listed)
        return context.result

    # What the runtime asks for

    def handle_loaded(self, now: Instant) -> CoordinatorResult:
        context = self._context(now)
        upkeep.resume(self._transactions, context)
        self._start_expiry(context, self._expiry_interval_ms)
        return context.result

    def handle_timer(self, key: TimerKey, now: Instant) -> CoordinatorResult:
        assert isinstance(key, TransactionTimer), "a timer of another shard"
        context = self._context(now)
        match key.kind:
            case TimerKind.TIMEOUT:
                upkeep.abort_timed_out(self._transactions, key.transactional_id, context)
            case TimerKind.EXPIRY:
                is_done = upkeep.expire(self._transactions, context)
                self._start_expiry(
                    context, self._expiry_interval_ms if is_done else _EXPIRY_PAUSE_MS
                )
        return context.result

    def handle_append_failed(
        self, records: Sequence[CoordinatorRecord], now: Instant
    ) -> CoordinatorResult:
        """A transaction that could not be ended is still open and times out; everything else its client tries again."""
        context = self._context(now)
        for record in records:
            assert isinstance(record.key, TransactionLogKey), "a record of another shard"
            known = self._transactions.find(record.key.transactional_id)
            if known is not None and known.state is TransactionState.ONGOING:
                context.restart_timeout(known)
        return context.result

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

    def replay_end_transaction(self, producer_id: ProducerId, *, committed: bool) -> None:
        del committed
        raise AssertionError(f"a marker of producer {producer_id} in the log of transactions")

    def _start_expiry(self, context: TransactionContext, delay_ms: int) -> None:
        context.result.start_timer(
            TransactionTimer(TimerKind.EXPIRY), context.now.monotonic_ms + delay_ms
        )

    @property
    def _expiry_interval_ms(self) -> int:
        return self._config.transaction_remove_expired_transaction_cleanup_interval_ms

    def _context(self, now: Instant) -> TransactionContext:
        return TransactionContext(now, self._config, self.level, self._take_producer_id)
