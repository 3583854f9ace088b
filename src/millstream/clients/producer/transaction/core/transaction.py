"""The state of a transactional producer: what may be called, what must be sent, what an error
leaves (KIP-98, 360, 890).

Two flows, by what the cluster announces. From transaction.version 2 on a partition joins with its first batch, and each
end of a transaction gives the producer a new epoch, so that nothing late can reach the next one. Before that partitions
are added by a request of their own, and the epoch stays: there the producer asks for a new epoch (`renewal_wanted`)
before it goes on after anything that may still arrive late or that left a hole in its sequences.

Knows no requests and no time; `transaction.transactions` performs what is due here.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from millstream.clients.core.illegal_state import IllegalState
from millstream.clients.producer.transaction.core.errors import (
    TransactionAborted,
    TransactionalProducerFailed,
    TransactionFailed,
    as_fencing,
    fenced,
    is_fatal_for_batch,
)
from millstream.errors import MillstreamError, ProducerFenced
from millstream.model import TopicPartition

ProducerIdentity = tuple[int, int]
"""Producer id and epoch."""

NOBODY: ProducerIdentity = (-1, -1)


class SharedTransaction(NamedTuple):
    """An open transaction, as other producers join it, which write to partitions of their own, or
    as one takes it over to end it.
    """

    transactional_id: str
    producer_id: int
    producer_epoch: int
    is_implicit: bool


class ProducerTransactionState(Enum):
    """The state of a transactional producer as it sees itself. Values are what its errors say."""

    UNINITIALIZED = "init_transactions() was not called"
    READY = "no transaction is open"
    OPEN = "a transaction is open"
    COMMITTING = "the transaction is being committed"
    HANDING_OVER = "the transaction is being handed over"
    ABORTING = "the transaction is being aborted"
    FAILED = "the transaction failed and must be aborted"
    FATAL = "the producer failed"


_MAY_FAIL = (
    ProducerTransactionState.OPEN,
    ProducerTransactionState.COMMITTING,
    ProducerTransactionState.HANDING_OVER,
)


class Transaction:
    """Of one producer, over all the transactions it makes one after the other."""

    def __init__(self, transactional_id: str) -> None:
        self.transactional_id = transactional_id
        self.state = ProducerTransactionState.UNINITIALIZED
        self.identity: ProducerIdentity = NOBODY
        self.is_implicit = False
        """Partitions and groups join without a request of their own (transaction.version 2)."""
        self.renewal_wanted = False
        self.error: MillstreamError | None = None
        self.wanted: set[TopicPartition] = set()
        """Partitions that wait to be added; only in the older flow."""
        self.unanswered = 0
        """Requests that were sent and not answered: each may be carried out late."""
        self._has_new_epoch = False
        """No record has sequence numbers of this epoch before the transaction."""
        self.is_shared = False
        """Others write in it: whether the coordinator knows of it is not known here."""
        self.is_joined = False
        """It is another producer's, who ends it."""
        self._partitions: set[TopicPartition] = set()
        self._started = False
        self._end_sent = False

    @property
    def end_needed(self) -> bool:
        """The coordinator may know of the transaction. An empty one ends without a word."""
        return self._started

    @property
    def refusal(self) -> MillstreamError | None:
        """The reason why batches that are not sent yet must fail; None while they may go."""
        if self.state is ProducerTransactionState.FATAL:
            return self.error
        if self.state in (ProducerTransactionState.FAILED, ProducerTransactionState.ABORTING):
            cause = f" after: {self.error}" if self.error is not None else ""
            return TransactionAborted(f"the record's transaction was aborted{cause}")
        if self.state is ProducerTransactionState.UNINITIALIZED:
            return TransactionAborted("the producer started over before the record was written")
        return None

    @property
    def may_abort(self) -> bool:
        """A transaction of its own is open, in whatever shape, and no commit of it may have happened."""
        if self.is_joined:
            return False
        if self.state is ProducerTransactionState.COMMITTING:
            return not self._end_sent
        return self.state in (
            ProducerTransactionState.OPEN,
            ProducerTransactionState.HANDING_OVER,
            ProducerTransactionState.FAILED,
            ProducerTransactionState.ABORTING,
        )

    def restart(self) -> None:
        """init_transactions() begins: whatever was open is left to the coordinator, which aborts it."""
        is_alone = not (self.is_shared or self.is_joined)
        is_open = self.state in (ProducerTransactionState.OPEN, ProducerTransactionState.FAILED)
        if is_alone and is_open:
            raise IllegalState(
                "a transaction is open; call abort_transaction() before init_transactions()"
            )
        self.state = ProducerTransactionState.UNINITIALIZED

    def complete_initialization(self, identity: ProducerIdentity) -> None:
        """Takes a fresh identity: every earlier one of this transactional id is fenced, and
        none of its transactions open.
        """
        self.identity = identity
        self.renewal_wanted = False
        self.unanswered = 0
        self._has_new_epoch = True
        self._close()

    def share(self) -> SharedTransaction:
        """Gives the open transaction to others. When they have written, this producer ends it, or starts over."""
        self._check_own()
        self.check_open()
        if not self._has_new_epoch:
            raise IllegalState(
                "call init_transactions() before each transaction that is shared: sequence numbers begin anew with an epoch"
            )
        self.is_shared = self._started = True
        return SharedTransaction(self.transactional_id, *self.identity, self.is_implicit)

    def begin_join(self, shared: SharedTransaction) -> bool:
        """Leaves the transaction that it is in: what is not sent yet fails.

        Returns False where that is the one to join.
        """
        self._check_id(shared)
        is_new = self.state is ProducerTransactionState.UNINITIALIZED
        if not is_new and not self.is_joined:
            raise IllegalState("a producer that has begun transactions of its own joins none")
        self.raise_failure()
        if not is_new and self.identity == (shared.producer_id, shared.producer_epoch):
            return False
        self.state = ProducerTransactionState.UNINITIALIZED
        return True

    def join(self, shared: SharedTransaction) -> None:
        """Takes the identity of a transaction that another producer has begun. No record of the one before is left."""
        if not self.begin_join(shared):
            return
        self.complete_initialization((shared.producer_id, shared.producer_epoch))
        self.begin(is_implicit=shared.is_implicit)
        self.is_joined = True

    def begin_hand_over(self) -> None:
        """Takes no more records: what is not sent when the transaction is given away would be in no transaction.

        Also when an earlier call did not see the end of it.
        """
        self._check_own()
        if self.state is not ProducerTransactionState.HANDING_OVER:
            self.check_open()
        self.state = ProducerTransactionState.HANDING_OVER

    def hand_over(self) -> SharedTransaction:
        """Gives the transaction away, all of whose records are sent: whoever takes it ends it.

        This producer has none then, and starts over for the next.
        """
        self.raise_failure()
        assert self.state is ProducerTransactionState.HANDING_OVER, "one call at a time"
        self.state = ProducerTransactionState.UNINITIALIZED
        return SharedTransaction(self.transactional_id, *self.identity, self.is_implicit)

    def take_over(self, shared: SharedTransaction) -> None:
        """Takes a transaction that another producer has handed over, to end it."""
        self._check_id(shared)
        if self.state is not ProducerTransactionState.UNINITIALIZED:
            raise IllegalState("a producer that has begun or joined transactions takes none over")
        self.complete_initialization((shared.producer_id, shared.producer_epoch))
        self.begin(is_implicit=shared.is_implicit)
        self._has_new_epoch = False
        self._started = True

    def _check_id(self, shared: SharedTransaction) -> None:
        if shared.transactional_id != self.transactional_id:
            raise IllegalState(
                f"the producer has transactional_id {self.transactional_id!r}, the transaction {shared.transactional_id!r}"
            )

    def _check_own(self) -> None:
        if self.is_joined:
            raise IllegalState("another producer has begun the transaction, and ends it")

    def check_begin(self) -> None:
        self._check_own()
        if self.state is ProducerTransactionState.READY:
            return
        self.raise_failure()
        if self.state is ProducerTransactionState.UNINITIALIZED:
            raise IllegalState("call init_transactions() before begin_transaction()")
        raise IllegalState(f"{self.state.value}; end it before you begin another")

    def begin(self, *, is_implicit: bool) -> None:
        self.check_begin()
        assert not self.renewal_wanted, "a spent epoch is renewed before a transaction begins"
        self.is_implicit = is_implicit
        self.state = ProducerTransactionState.OPEN

    def check_open(self) -> None:
        """Raises unless records and offsets may be sent."""
        if self.state is ProducerTransactionState.OPEN:
            return
        self.raise_failure()
        raise IllegalState(f"{self.state.value}; call begin_transaction() before you send")

    def admit(self, topic_partition: TopicPartition) -> bool:
        """Whether a batch may be sent to the partition now; if not, it is wanted."""
        if topic_partition in self._partitions:
            return True
        if not self.is_implicit:
            self.wanted.add(topic_partition)
            return False
        self._started = True
        self._partitions.add(topic_partition)
        return True

    def start(self) -> None:
        """A request that opens the transaction at its coordinator goes out."""
        self._started = True

    def add_partitions(self, partitions: frozenset[TopicPartition]) -> None:
        self._partitions |= partitions
        self.wanted -= partitions

    def begin_commit(self) -> None:
        """Begins to commit, also when an earlier call did not see the end of it."""
        self._check_own()
        self.raise_failure()
        if self.state not in (ProducerTransactionState.OPEN, ProducerTransactionState.COMMITTING):
            raise IllegalState(f"{self.state.value}; there is nothing to commit")
        self.state = ProducerTransactionState.COMMITTING

    def begin_abort(self) -> None:
        """Begins to abort, also when an earlier call did not see the end of it."""
        self._check_own()
        if self.state is ProducerTransactionState.FATAL:
            self.raise_failure()
        if self.state is ProducerTransactionState.COMMITTING and self._end_sent:
            raise IllegalState(
                "the outcome of the commit is unknown: call commit_transaction() again, or init_transactions()"
                " to give it up"
            )
        if self.state in (ProducerTransactionState.UNINITIALIZED, ProducerTransactionState.READY):
            raise IllegalState(f"{self.state.value}; there is nothing to abort")
        self.state = ProducerTransactionState.ABORTING

    def note_end_sent(self) -> None:
        self._end_sent = True

    def complete(self, identity: ProducerIdentity | None = None) -> None:
        """Notes that the transaction is committed or aborted.

        Newer coordinators give the identity for the next transaction.
        """
        if identity is not None:
            self.identity = identity
            self.renewal_wanted = False
        elif self.unanswered:
            self.renewal_wanted = True
        self.unanswered = 0
        self._has_new_epoch = identity is not None
        self._close()

    def handle_failed_batch(self, error: MillstreamError, *, has_numbers: bool) -> None:
        """A batch will not be written; if it had sequence numbers they are a hole now."""
        if has_numbers:
            self.renewal_wanted = True
        self.fail(error, is_fatal=is_fatal_for_batch(error))

    def fail(self, error: MillstreamError, *, is_fatal: bool) -> None:
        """The first error counts; a transaction that is being aborted has failed anyway."""
        if self.state is ProducerTransactionState.FATAL:
            return
        if is_fatal:
            self.state = ProducerTransactionState.FATAL
            self.error = as_fencing(error, self.transactional_id)
        elif self.state in _MAY_FAIL:
            self.state = ProducerTransactionState.FAILED
            self.error = error
            self._end_sent = False

    def raise_failure(self) -> None:
        """Raises if the transaction, or the producer, has failed."""
        if self.state is ProducerTransactionState.FAILED:
            raise TransactionFailed(
                f"the transaction failed: {str(self.error).rstrip('.')}; call abort_transaction(), then do its work again"
            ) from self.error
        if self.state is ProducerTransactionState.FATAL:
            if isinstance(self.error, ProducerFenced):
                raise fenced(self.transactional_id) from self.error
            raise TransactionalProducerFailed(
                f"the transactional producer failed: {str(self.error).rstrip('.')}; close it, or call init_transactions() to start"
                " over"
            ) from self.error

    def _close(self) -> None:
        self.state = ProducerTransactionState.READY
        self.error = None
        self.is_shared = self.is_joined = False
        self.wanted.clear()
        self._partitions.clear()
        self._started = False
        self._end_sent = False
