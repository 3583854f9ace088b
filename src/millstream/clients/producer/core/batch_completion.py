"""Decides what becomes of batches that were answered, or not: written, tried again, cut in two, or given up.

Every method returns the batches that are settled by it. Order and numbers are `partition_queue`'s; when
anything is sent is `sender`'s.
"""

from __future__ import annotations

import logging

from millstream.clients.producer.core.accumulator import RecordAccumulator
from millstream.clients.producer.core.batch_encoding import records_of
from millstream.clients.producer.core.partition_queue import PartitionQueue
from millstream.clients.producer.core.producer_batch import BatchOutcome, ProducerBatch
from millstream.clients.producer.core.refusals import Refusals
from millstream.clients.producer.core.sender_policy import SenderPolicy
from millstream.clients.producer.transaction.core.transaction import Transaction
from millstream.errors import (
    CorruptMessage,
    InvalidProducerEpoch,
    KafkaError,
    KafkaStorageError,
    MessageTooLarge,
    MillstreamError,
    NetworkException,
    NotEnoughReplicasAfterAppend,
    OutOfOrderSequenceNumber,
    ProducerFenced,
    RecordListTooLarge,
    RequestTimedOut,
    UnknownProducerId,
    UnknownServerError,
)
from millstream.model import TopicPartition
from millstream.quoting import counted
from millstream.runtime import Random

_LOGGER = logging.getLogger(__name__)
_FATE_UNKNOWN = (
    NetworkException,
    RequestTimedOut,
    NotEnoughReplicasAfterAppend,
    KafkaStorageError,
    UnknownServerError,
)
"""After these the batch may or may not be in the log."""
_IDENTITY_LOST = (UnknownProducerId, InvalidProducerEpoch, ProducerFenced)

_EPOCH_SPENT = 32_767
"""No epoch follows it, so the next reset takes a new producer id."""


class BatchCompletion:
    def __init__(
        self,
        policy: SenderPolicy,
        accumulator: RecordAccumulator,
        random: Random,
        transaction: Transaction | None,
    ) -> None:
        self._policy = policy
        self._accumulator = accumulator
        self._random = random
        self._transaction = transaction
        self._refusals = Refusals()
        self.identity: tuple[int, int] | None = None
        """Producer id and epoch for partitions that are new or start over; None while a new one is wanted."""

    @property
    def refusal(self) -> MillstreamError | None:
        """The reason why the transaction takes nothing more; None while it does."""
        return None if self._transaction is None else self._transaction.refusal

    def note_waiting(
        self, partition: TopicPartition, kind: object, reason: str, now_ms: int
    ) -> None:
        """Notes that records of a partition cannot be written now. Says so in the log once that lasts."""
        said = self._refusals.note_waiting(partition, kind, reason, now_ms)
        if said is not None:
            _LOGGER.warning("%s", said)

    def succeed(
        self, batch: ProducerBatch, offset: int, append_time_ms: int, now_ms: int
    ) -> list[ProducerBatch]:
        said = self._refusals.settled(batch.topic_partition, now_ms)
        if said is not None:
            _LOGGER.info("%s", said)
        queue = self._accumulator.queue(*batch.topic_partition)
        queue.acknowledged = True
        self._maybe_reset(queue)
        return self._settle(batch, BatchOutcome(offset, append_time_ms))

    def fail(self, batch: ProducerBatch, error: KafkaError, now_ms: int) -> list[ProducerBatch]:
        """The batch was in flight, and has left its queue."""
        queue = self._accumulator.queue(*batch.topic_partition)
        settled = self._weigh(queue, batch, error, now_ms)
        self._maybe_reset(queue)
        return settled

    def expire(self, now_ms: int) -> list[ProducerBatch]:
        """Fail the waiting batches whose delivery time is over, or whose transaction has failed."""
        settled: list[ProducerBatch] = []
        for queue in self._accumulator.busy_queues:
            while queue.waiting:  # the oldest are first
                batch = queue.waiting[0]
                error = self.refusal or (_expired(batch) if batch.deadline_ms <= now_ms else None)
                if error is None:
                    break
                settled += self._give_up(queue, batch, error, waiting=True)
            self._maybe_reset(queue)
        return settled

    def abandon(self, error: MillstreamError) -> list[ProducerBatch]:
        """Fail everything that is not settled, at a close that does not wait."""
        settled: list[ProducerBatch] = []
        for queue in self._accumulator.busy_queues:
            batches = [*queue.in_flight, *queue.waiting]
            queue.in_flight.clear()
            queue.waiting.clear()
            for batch in batches:
                settled += self._settle(batch, BatchOutcome(error=error))
        return settled

    def _weigh(
        self, queue: PartitionQueue, batch: ProducerBatch, error: KafkaError, now_ms: int
    ) -> list[ProducerBatch]:
        """Cut in two what is too large, try again what may succeed, give up the rest.

        A batch that may be in the log is not cut: the broker knows it by its sequences as a whole, and would not know
        its halves.
        """
        batch.last_error = error
        if isinstance(error, _FATE_UNKNOWN):
            batch.maybe_appended = True
        if (
            isinstance(error, MessageTooLarge | RecordListTooLarge)
            and batch.record_count > 1
            and not batch.maybe_appended
        ):
            self._accumulator.split(batch, records_of(batch))
            return [batch]
        if self._policy.idempotent and self._lost_its_place(queue, batch, error):
            return self._try_again(queue, batch, error, now_ms)
        if error.retriable or isinstance(error, UnknownServerError | CorruptMessage):
            return self._try_again(queue, batch, error, now_ms)
        return self._give_up(queue, batch, error)

    def _lost_its_place(
        self, queue: PartitionQueue, batch: ProducerBatch, error: KafkaError
    ) -> bool:
        """True when the broker refused the batch's numbers: it is not in the log and may be sent again.

        Behind an earlier unsettled batch that is only a matter of order. Otherwise the broker will never take these
        numbers, and the partition must start over; a transaction is aborted then.
        """
        if self._transaction is not None:
            return isinstance(error, OutOfOrderSequenceNumber) and not queue.is_oldest(batch)
        if isinstance(error, _IDENTITY_LOST):
            self.identity = None
            queue.producer_epoch = _EPOCH_SPENT
            queue.reset_wanted = True
        elif isinstance(error, OutOfOrderSequenceNumber):
            queue.reset_wanted = queue.reset_wanted or queue.is_oldest(batch)
        else:
            return False
        batch.maybe_appended = False
        return True

    def _try_again(
        self, queue: PartitionQueue, batch: ProducerBatch, error: KafkaError, now_ms: int
    ) -> list[ProducerBatch]:
        if self.refusal is not None:
            return self._give_up(queue, batch, self.refusal)
        if now_ms >= batch.deadline_ms:
            return self._give_up(queue, batch, _expired(batch))
        if batch.attempts > self._policy.retries:
            return self._give_up(queue, batch, error)
        self.note_waiting(batch.topic_partition, type(error), str(error), now_ms)
        batch.retry_at_ms = now_ms + self._policy.backoff.delay_ms(batch.attempts, self._random)
        queue.put_back(batch)
        return []

    def _give_up(
        self,
        queue: PartitionQueue,
        batch: ProducerBatch,
        error: MillstreamError,
        *,
        waiting: bool = False,
    ) -> list[ProducerBatch]:
        """Gives up a batch. One with numbers leaves a hole.

        If it may be in the log, the next answer will tell; else start over.
        """
        self._refusals.forget(batch.topic_partition)
        if waiting:
            queue.waiting.remove(batch)
        if self._transaction is not None:
            self._transaction.handle_failed_batch(error, has_numbers=batch.base_sequence >= 0)
        elif batch.base_sequence >= 0 and not batch.maybe_appended:
            queue.reset_wanted = True
        return self._settle(batch, BatchOutcome(error=error))

    def _maybe_reset(self, queue: PartitionQueue) -> None:
        if queue.may_reset() and not queue.reset():
            self.identity = None

    def _settle(self, batch: ProducerBatch, outcome: BatchOutcome) -> list[ProducerBatch]:
        batch.outcome = outcome
        batch.encoded = None
        if outcome.error is not None:  # else the holder of a delivery may still ask for timestamps
            batch.records = None
        self._accumulator.settle(batch)
        return [batch]


def _expired(batch: ProducerBatch) -> RequestTimedOut:
    waited = batch.deadline_ms - batch.created_ms
    cause = f"; the last attempt ended with: {batch.last_error}" if batch.last_error else ""
    was = "was" if batch.record_count == 1 else "were"
    certainty = "may have been" if batch.maybe_appended else f"{was} not"
    return RequestTimedOut(
        f"{counted(batch.record_count, 'record')} for {batch.topic_partition} {certainty} written within delivery_timeout_ms"
        f" ({waited} ms), {counted(batch.attempts, 'attempt')}{cause}"
    )
