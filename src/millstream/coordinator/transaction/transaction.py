"""One transactional id as its last record says it, and the transitions to the next.

Pure values: nothing is stored here.

A transition gives a new `TransactionMetadata`; the shard writes it as a record, and its replay is what makes it true.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import Any, Final

from millstream.coordinator.transaction.state import TRANSITIONS, TransactionVersion
from millstream.model import NO_PRODUCER_ID, ProducerId, TopicPartition
from millstream.protocol.enums import TransactionState

EPOCH_MAX: Final = 2**15 - 1
NO_EPOCH: Final = -1
NO_TIMESTAMP: Final = -1


def is_epoch_exhausted(epoch: int) -> bool:
    """The last epoch is kept for fencing: a producer that reached the one before it gets a new producer id."""
    return epoch >= EPOCH_MAX - 1


@dataclass(frozen=True, slots=True)
class TransactionMetadata:
    """Times in milliseconds since 1970. `state_version` of the record's writer is not kept: only what it says."""

    transactional_id: str
    producer_id: ProducerId
    producer_epoch: int
    timeout_ms: int
    state: TransactionState = TransactionState.EMPTY
    partitions: frozenset[TopicPartition] = frozenset()
    start_timestamp_ms: int = NO_TIMESTAMP
    last_update_timestamp_ms: int = NO_TIMESTAMP
    previous_producer_id: ProducerId = NO_PRODUCER_ID
    """The id before the last transition: what a client that missed an answer may still be using."""
    next_producer_id: ProducerId = NO_PRODUCER_ID
    """While prepared: the id that follows when the epochs of the present one are used up."""
    client_version: TransactionVersion = TransactionVersion.TV_0

    @property
    def is_epoch_exhausted(self) -> bool:
        return is_epoch_exhausted(self.producer_epoch)

    @property
    def is_prepared(self) -> bool:
        return self.state in (TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT)

    @property
    def is_complete(self) -> bool:
        return self.state in (TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT)

    @property
    def may_expire(self) -> bool:
        return self.state is TransactionState.EMPTY or self.is_complete

    @property
    def is_commit(self) -> bool:
        return self.state in (TransactionState.PREPARE_COMMIT, TransactionState.COMPLETE_COMMIT)

    def reinitialized(
        self, producer_id: ProducerId, producer_epoch: int, timeout_ms: int, now_ms: int
    ) -> TransactionMetadata:
        """InitProducerId: no transaction, under this id and epoch."""
        return self._moved(
            TransactionState.EMPTY,
            now_ms,
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            timeout_ms=timeout_ms,
            partitions=frozenset(),
            start_timestamp_ms=NO_TIMESTAMP,
        )

    def with_partitions(
        self, added: AbstractSet[TopicPartition], client_version: TransactionVersion, now_ms: int
    ) -> TransactionMetadata:
        """The transaction begins with its first partition."""
        begins = self.state is not TransactionState.ONGOING
        return self._moved(
            TransactionState.ONGOING,
            now_ms,
            partitions=self.partitions | added,
            start_timestamp_ms=now_ms if begins else self.start_timestamp_ms,
            client_version=client_version,
        )

    def prepared(
        self,
        state: TransactionState,
        client_version: TransactionVersion,
        next_producer_id: ProducerId,
        now_ms: int,
    ) -> TransactionMetadata:
        """Decided. At transaction version 2 the epoch rises with it; markers carry the raised one."""
        epoch = self.producer_epoch
        if client_version.raises_epoch:
            epoch = min(epoch + 1, EPOCH_MAX)
        had_begun = self.state is TransactionState.ONGOING
        return self._moved(
            state,
            now_ms,
            producer_epoch=epoch,
            next_producer_id=next_producer_id,
            start_timestamp_ms=self.start_timestamp_ms if had_begun else now_ms,
            client_version=client_version,
        )

    def completed(self, now_ms: int) -> TransactionMetadata:
        """Returns the transaction after every marker is written.

        Where the epochs are used up, the next producer id takes over from epoch 0.
        """
        rotates = self.client_version.raises_epoch and self.next_producer_id != NO_PRODUCER_ID
        committed = self.state is TransactionState.PREPARE_COMMIT
        return self._moved(
            TransactionState.COMPLETE_COMMIT if committed else TransactionState.COMPLETE_ABORT,
            now_ms,
            producer_id=self.next_producer_id if rotates else self.producer_id,
            producer_epoch=0 if rotates else self.producer_epoch,
            next_producer_id=NO_PRODUCER_ID,
            partitions=frozenset(),
        )

    def fenced(self) -> TransactionMetadata:
        """Returns the transaction with an epoch that no producer uses: so its abort is told from
        what its producer still sends.
        """
        return replace(self, producer_epoch=min(self.producer_epoch + 1, EPOCH_MAX))

    def _moved(
        self,
        state: TransactionState,
        now_ms: int,
        **changes: Any,  # Any: fields of this class, checked by `replace`
    ) -> TransactionMetadata:
        assert state in TRANSITIONS[self.state], (
            f"{self.transactional_id} cannot go from {self.state} to {state}"
        )
        return replace(
            self,
            state=state,
            last_update_timestamp_ms=now_ms,
            previous_producer_id=self.producer_id,
            **changes,
        )
