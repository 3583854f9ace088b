"""Records that a share group has locked for us: what is given out next, and what brokers are told of them and when.

The broker counts deliveries, and its count is the number of the attempt: a record that failed is released, and whoever
gets it next has the next number. One that is to wait before that stays locked for us until its time has come.
"""

from __future__ import annotations

import heapq
from collections import Counter, deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from millstream.clients.core.values import ConsumerRecord
from millstream.clients.spout.core.attempts import FailOutcome, GivenUp, RecordAttempt
from millstream.clients.spout.core.metrics import SpoutCounts
from millstream.clients.spout.core.retries import MessageId
from millstream.clients.spout.core.settings import ShareSpoutConfig
from millstream.clients.spout.core.waiting import WaitingRecords
from millstream.model import TopicPartition
from millstream.protocol.enums import AcknowledgeType

RENEWALS_IN_A_LOCK: Final = 3
"""A lock is renewed when a third of it is over: the renewal may have to wait for a fetch that is under way."""
_ACCEPT, _RELEASE, _REJECT, _RENEW = AcknowledgeType


@dataclass(slots=True, eq=False)
class _Lock:
    """Our hold on a record, from its delivery until it is accepted, released, rejected or lost."""

    record: ConsumerRecord
    is_failed: bool = False
    """It waits for its release, or for its dead letter."""

    @property
    def message_id(self) -> MessageId:
        return MessageId(self.record.topic_partition, self.record.offset)


class EmittedShareRecords:
    def __init__(self, config: ShareSpoutConfig) -> None:
        self._retries = config.retry_policy()
        self._max_spout_pending = config.max_spout_pending
        self.counts = SpoutCounts()
        self.failures_in_a_row = 0
        self.wants_turn = False
        self.given_up: deque[GivenUp] = deque()
        self._locks: dict[MessageId, _Lock] = {}
        self._waiting = WaitingRecords()
        self._returned: deque[RecordAttempt] = deque()
        self._said: dict[MessageId, tuple[ConsumerRecord, AcknowledgeType]] = {}
        """What brokers have not been told yet."""
        self._releases: list[tuple[int, MessageId, _Lock]] = []
        """A heap by time."""
        self._renewals: deque[tuple[int, _Lock]] = deque()
        """By time, because all locks are equally long."""

    # ---- what is read

    def room(self) -> int:
        """Returns how many records may be asked for: none while some wait to be given out."""
        if self._waiting.partitions():
            return 0
        return max(0, self._max_spout_pending - len(self._locks))

    def receive(self, records: Iterable[ConsumerRecord], now_ms: int, lock_timeout_ms: int) -> None:
        """Takes records as they were delivered. One that we had before is given out anew: its lock had run out."""
        for record in records:
            lock = _Lock(record)
            self._locks[lock.message_id] = lock
            self._renewals.append((now_ms + lock_timeout_ms // RENEWALS_IN_A_LOCK, lock))
            self._waiting.add((record,))

    def lose(self, topic_partition: TopicPartition, offsets: Iterable[int]) -> None:
        """Forgets records that the broker has taken from us. Later acks of them are ignored."""
        for offset in offsets:
            message_id = MessageId(topic_partition, offset)
            self._locks.pop(message_id, None)
            self._said.pop(message_id, None)

    def pending(self) -> Counter[TopicPartition]:
        """Returns how many records are held of each partition."""
        return Counter(message_id.topic_partition for message_id in self._locks)

    # ---- what goes out

    def next(self, now_ms: int) -> RecordAttempt | None:  # noqa: ARG002 - as the other kind has it
        """Returns what is given out next. None: nothing yet."""
        while self._returned:
            attempt = self._returned.popleft()
            if self.is_open(attempt):
                return attempt
        while (record := self._waiting.take(lambda _: True)) is not None:
            if not self._waiting.partitions():
                self.wants_turn = True
            lock = self._locks.get(MessageId(record.topic_partition, record.offset))
            if lock is not None and lock.record is record:
                number = record.delivery_count or 1
                if number > 1:
                    self.counts.retried += 1
                else:
                    self.counts.emitted += 1
                return RecordAttempt(record, number, lock)
        return None

    def next_due_ms(self) -> int | None:
        """None: retries come from the broker, as new records do."""
        return None

    def give_back(self, attempt: RecordAttempt) -> None:
        """Takes back what could not be given out now; it is the next one to go."""
        self._returned.append(attempt)

    # ---- what comes back

    def is_open(self, attempt: RecordAttempt) -> bool:
        """Returns whether the record is still ours."""
        return self._locks.get(attempt.message_id) is attempt.hold

    def ack(self, attempt: RecordAttempt) -> bool:
        """Returns whether the record was ours. One that waits for its release is done by this as well."""
        if not self.is_open(attempt):
            return False
        self._end(attempt.message_id, _ACCEPT)
        self.counts.acked += 1
        self.failures_in_a_row = 0
        return True

    def fail(
        self, attempt: RecordAttempt, now_ms: int, delay_ms: int | None, error: BaseException | None
    ) -> FailOutcome:
        """Has the record released, now or after a delay, or gives it up: after its last retry."""
        lock = self._locks.get(attempt.message_id)
        if lock is None or lock is not attempt.hold or lock.is_failed:
            return FailOutcome.IGNORED
        lock.is_failed = True
        self.counts.failed += 1
        self.failures_in_a_row += 1
        self.wants_turn = True
        if self._retries.retries_max is not None and attempt.number > self._retries.retries_max:
            self.given_up.append(GivenUp(attempt, error))
            return FailOutcome.GIVEN_UP
        if delay_ms is None:
            delay_ms = self._retries.delay_ms(attempt.number)
        heapq.heappush(self._releases, (now_ms + delay_ms, attempt.message_id, lock))
        return FailOutcome.RETRY

    def finish(self, given_up: GivenUp, *, dead_lettered: bool) -> None:
        """Has a record rejected which was given up, and has its dead letter or is counted as lost."""
        if not self.is_open(given_up.attempt):
            return
        self._end(given_up.attempt.message_id, _REJECT)
        if dead_lettered:
            self.counts.dead_lettered += 1
        else:
            self.counts.lost += 1

    # ---- what brokers are told

    def next_turn_ms(self) -> int | None:
        """Returns when a release or a renewal is due; None when none is."""
        times = [each[0] for each in (self._releases[:1] + list(self._renewals)[:1])]
        return min(times, default=None)

    def take_acknowledgements(
        self, now_ms: int, lock_timeout_ms: int
    ) -> list[tuple[ConsumerRecord, AcknowledgeType]]:
        """Takes what brokers are to be told now: of records that are done, and of locks that need more time."""
        while self._releases and self._releases[0][0] <= now_ms:
            _, message_id, lock = heapq.heappop(self._releases)
            if self._locks.get(message_id) is lock:
                self._end(message_id, _RELEASE)
        renewed = [(lock.record, _RENEW) for lock in self._due_renewals(now_ms)]
        renew_ms = now_ms + lock_timeout_ms // RENEWALS_IN_A_LOCK
        self._renewals.extend((renew_ms, self._lock_of(record)) for record, _ in renewed)
        told = [*self._said.values(), *renewed]
        self._said.clear()
        return told

    def _due_renewals(self, now_ms: int) -> list[_Lock]:
        due = []
        while self._renewals and self._renewals[0][0] <= now_ms:
            _, lock = self._renewals.popleft()
            if self._locks.get(lock.message_id) is lock:
                due.append(lock)
        return due

    def _lock_of(self, record: ConsumerRecord) -> _Lock:
        return self._locks[MessageId(record.topic_partition, record.offset)]

    def _end(self, message_id: MessageId, kind: AcknowledgeType) -> None:
        lock = self._locks.pop(message_id)
        self._said[message_id] = (lock.record, kind)
        if len(self._locks) + 1 >= self._max_spout_pending:
            self.wants_turn = True
