"""The unsettled batches of one partition, and the sequence numbers that keep them in order and unique (KIP-98).

Two lists hold them: `waiting` (to be sent, in order) and `in_flight` (sent, unanswered). With idempotence every batch
gets a producer id, an epoch and consecutive sequences when it is first sent, and keeps them when it is sent again, so
that the broker recognises it.

When a batch fails for good its sequences are a hole that the broker will not step over. Then the epoch is bumped and
numbering starts at 0 again, but only once the fate of every numbered batch is known: a batch that may have been
appended under its old numbers must never be sent under new ones.
"""

from __future__ import annotations

from collections import deque
from typing import Final

from millstream.clients.producer.core.producer_batch import ProducerBatch
from millstream.model import TopicPartition

_SEQUENCE_MASK = 0x7FFFFFFF
_EPOCH_MAX = 32_767
_REMEMBERED_BATCHES: Final = 5
"""A broker recognises the last five batches of a producer in a partition when they come again, as Kafka's."""


class PartitionQueue:
    __slots__ = (
        "acknowledged",
        "in_flight",
        "next_sequence",
        "producer_epoch",
        "producer_id",
        "reset_wanted",
        "sent_count",
        "tail",
        "topic_partition",
        "waiting",
    )

    def __init__(self, topic_partition: TopicPartition) -> None:
        self.topic_partition = topic_partition
        self.waiting: deque[ProducerBatch] = deque()
        self.in_flight: list[ProducerBatch] = []
        self.tail: ProducerBatch | None = None
        """The newest batch, which takes more records while it is open."""
        self.producer_id = -1
        self.producer_epoch = -1
        self.next_sequence = 0
        self.sent_count = 0
        """Of batches, however often each was sent."""
        self.reset_wanted = False
        self.acknowledged = False
        """The broker has taken a batch under the current producer id and epoch."""

    def next_candidate(self, in_flight_max: int) -> ProducerBatch | None:
        """Returns the batch that may go next, as far as order is concerned.

        New batches may follow each other closely, because one connection keeps them in order. A batch that is sent
        again goes alone: a broker without memory of the producer takes whatever sequence comes first.
        """
        if not self.waiting or len(self.in_flight) >= in_flight_max:
            return None
        head = self.waiting[0]
        if self.reset_wanted:
            if self.in_flight:
                return None
            return next((batch for batch in self.waiting if batch.maybe_appended), None)
        if self.in_flight and not self._may_follow(head):
            return None
        return head

    def _may_follow(self, batch: ProducerBatch) -> bool:
        """Behind what is in flight: first attempts only, once the broker has shown that it knows the producer."""
        unknown = self.producer_id >= 0 and not self.acknowledged
        if unknown or batch.attempts or any(b.attempts > 1 for b in self.in_flight):
            return False
        # A former leader may keep a request unanswered while the new one takes batch after batch. Had it
        # taken five, it would not recognise what is in flight there, and refuse it as out of order: it
        # would be taken for lost and written twice. Kafka counts requests for each connection alone.
        is_numbered = self.producer_id >= 0
        return (
            not is_numbered or self.sent_count - self.in_flight[0].place + 1 < _REMEMBERED_BATCHES
        )

    def take(self, batch: ProducerBatch) -> None:
        """Move `batch` from waiting to in flight."""
        if self.waiting[0] is batch:
            self.waiting.popleft()
        else:
            self.waiting.remove(batch)
        if not batch.attempts:
            self.sent_count += 1
            batch.place = self.sent_count
        batch.attempts += 1
        batch.is_open = False
        self.in_flight.append(batch)

    def put_back(self, batch: ProducerBatch) -> None:
        """Queue `batch` (again) at its place in the order."""
        later = (i for i, other in enumerate(self.waiting) if other.order > batch.order)
        self.waiting.insert(next(later, len(self.waiting)), batch)

    def number(self, batch: ProducerBatch) -> None:
        """Give `batch` the next sequences, unless it has some."""
        if batch.base_sequence >= 0:
            return
        assert self.producer_id >= 0, "batches are numbered after the producer id is known"
        batch.producer_id = self.producer_id
        batch.producer_epoch = self.producer_epoch
        batch.base_sequence = self.next_sequence
        self.next_sequence = (self.next_sequence + batch.record_count) & _SEQUENCE_MASK

    def is_oldest(self, batch: ProducerBatch) -> bool:
        """Tells whether no earlier batch is unsettled."""
        return all(
            other.order >= batch.order
            for group in (self.in_flight, self.waiting)
            for other in group
        )

    def may_reset(self) -> bool:
        return (
            self.reset_wanted
            and not self.in_flight
            and not any(batch.maybe_appended for batch in self.waiting)
        )

    def reset(self) -> bool:
        """Start numbering again under a bumped epoch; False when epochs ran out and a new producer id is needed."""
        assert self.may_reset(), "numbers are reset only when the fate of every batch is known"
        for batch in self.waiting:
            batch.base_sequence = -1
        self.next_sequence = 0
        self.reset_wanted = False
        self.acknowledged = False
        if self.producer_epoch >= _EPOCH_MAX:
            self.producer_id = -1
            return False
        self.producer_epoch += 1
        return True

    def adopt(self, producer_id: int, producer_epoch: int) -> None:
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.next_sequence = 0
        self.acknowledged = False
