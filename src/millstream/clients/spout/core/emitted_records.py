"""The order in which records are given out, and the effect of acks, fails and rebalances on it."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from millstream.clients.core.values import ConsumerRecord
from millstream.clients.spout.core.attempts import FailOutcome, GivenUp, RecordAttempt
from millstream.clients.spout.core.metrics import SpoutCounts
from millstream.clients.spout.core.offsets import EmittedOffsets
from millstream.clients.spout.core.retries import MessageId, RetrySchedule
from millstream.clients.spout.core.settings import SpoutConfig
from millstream.clients.spout.core.waiting import WaitingRecords
from millstream.model import TopicPartition


class EmittedRecords:
    def __init__(self, config: SpoutConfig) -> None:
        self._guarantee = config.processing_guarantee
        self._tracked = config.processing_guarantee == "at_least_once"
        self._max_uncommitted_offsets = config.max_uncommitted_offsets
        self._max_offset_behind = config.max_offset_behind
        self._knows_out = self._tracked and config.max_offset_behind is not None
        self.partitions: dict[TopicPartition, EmittedOffsets] = {}
        self.retries = RetrySchedule(config.retry_policy())
        self.counts = SpoutCounts()
        self.failures_in_a_row = 0
        self.wants_turn = False
        """Set when there is room for more records, or a commit that makes room."""
        self.given_up: deque[GivenUp] = deque()
        """Still pending: whoever takes one says `finish`."""
        self._waiting = WaitingRecords()
        self._returned: deque[RecordAttempt] = deque()
        self._failed: dict[MessageId, ConsumerRecord] = {}
        self._out: dict[MessageId, RecordAttempt] = {}
        """The last attempt of each record that is neither done nor given up, where a record may be too far behind."""

    # ---- partitions

    def assign(self, partitions: Iterable[TopicPartition]) -> None:
        for topic_partition in partitions:
            self.partitions.setdefault(topic_partition, EmittedOffsets())

    def forget(self, partitions: Iterable[TopicPartition]) -> None:
        """Drops everything about partitions that have another owner. Later acks of their records are ignored."""
        for topic_partition in partitions:
            self.partitions.pop(topic_partition, None)
            self._waiting.forget(topic_partition)
            self.retries.forget_partition(topic_partition)
            for kept in (self._failed, self._out):
                for message_id in [m for m in kept if m.topic_partition == topic_partition]:
                    kept.pop(message_id)

    def full_partitions(self) -> set[TopicPartition]:
        """Returns the partitions of which nothing new is to be read now."""
        return self._at_limit() | self._waiting.partitions()

    def drop_before(self, topic_partition: TopicPartition, log_start: int) -> None:
        """Gives up retries of records that the log no longer has."""
        for offset in self.retries.scheduled(topic_partition):
            if offset < log_start:
                self._finish(MessageId(topic_partition, offset), self.partitions[topic_partition])
                self.counts.lost += 1

    # ---- what goes out

    def receive(self, records: Iterable[ConsumerRecord]) -> None:
        """Takes records as they were read. A partition that was rewound begins anew."""
        for record in records:
            topic_partition = record.topic_partition
            offsets = self.partitions.get(topic_partition)
            last = self._waiting.last_offset(topic_partition)
            expected = last
            if last is None and offsets is not None:
                expected = offsets.next_offset
            if expected is not None and record.offset < expected:
                self.forget((topic_partition,))
            self.assign((topic_partition,))
            self._waiting.add((record,))

    def next(self, now_ms: int) -> RecordAttempt | None:
        """Returns what is given out next: what was given back, a retry that is due, or a new record.

        None: nothing yet.
        """
        while self._returned:
            attempt = self._returned.popleft()
            if self.is_open(attempt):
                return attempt
        message_id = self.retries.next_due(now_ms)
        if message_id is not None:
            self.retries.start(message_id)
            self.counts.retried += 1
            record = self._failed.pop(message_id)
            offsets = self.partitions[message_id.topic_partition]
            return self._given_out(record, self.retries.failures(message_id) + 1, offsets)
        new = self._waiting.take(self._may_emit)
        if new is None:
            return None
        if self._waiting.first_offset(new.topic_partition) is None:
            self.wants_turn = True
        offsets = self.partitions[new.topic_partition]
        offsets.emit(new.offset)
        if not self._tracked:
            offsets.ack(new.offset)
        self.counts.emitted += 1
        return self._given_out(new, 1, offsets)

    def give_back(self, attempt: RecordAttempt) -> None:
        """Takes back what could not be given out now; it is the next one to go."""
        self._returned.append(attempt)

    def next_due_ms(self) -> int | None:
        """Returns when the next retry is due; None when there is none."""
        return self.retries.next_due_ms()

    # ---- what comes back

    def ack(self, attempt: RecordAttempt) -> bool:
        """Returns whether the record was pending. One that waits for its retry is done by this as well."""
        if not self.is_open(attempt):
            return False
        offsets = self.partitions[attempt.record.topic_partition]
        self._finish(attempt.message_id, offsets)
        self.counts.acked += 1
        self.failures_in_a_row = 0
        if offsets.uncommitted_count >= self._max_uncommitted_offsets:
            self.wants_turn = True
        self._give_up_what_is_too_far_behind(attempt)
        return True

    def fail(
        self, attempt: RecordAttempt, now_ms: int, delay_ms: int | None, error: BaseException | None
    ) -> FailOutcome:
        """Schedules the retry of the record, or gives it up: after its last one, and where it is too far behind."""
        message_id = attempt.message_id
        is_latest = attempt.number == self.retries.failures(message_id) + 1
        is_given_up = self._knows_out and message_id not in self._out
        if not self.is_open(attempt) or not is_latest or is_given_up:
            return FailOutcome.IGNORED
        self.counts.failed += 1
        self.failures_in_a_row += 1
        if not self._tracked:
            return FailOutcome.NOT_RETRIED
        has_retry = self.retries.fail(message_id, now_ms, delay_ms)
        if has_retry and self._is_too_far_behind(attempt):
            self.retries.cancel(message_id)
            has_retry = False
        if has_retry:
            self._failed[message_id] = attempt.record
            return FailOutcome.RETRY
        self._out.pop(message_id, None)
        self.given_up.append(GivenUp(attempt, error))
        self.wants_turn = True
        return FailOutcome.GIVEN_UP

    def is_open(self, attempt: RecordAttempt) -> bool:
        """Returns whether the record is neither done nor another owner's by now."""
        offsets = self.partitions.get(attempt.record.topic_partition)
        if offsets is None or offsets is not attempt.hold:
            return False
        return not self._tracked or offsets.is_pending(attempt.record.offset)

    def finish(self, given_up: GivenUp, *, dead_lettered: bool) -> None:
        """Notes that a record which was given up has its dead letter, or is counted as lost."""
        attempt = given_up.attempt
        if not self.is_open(attempt):
            return
        self._finish(attempt.message_id, self.partitions[attempt.record.topic_partition])
        if dead_lettered:
            self.counts.dead_lettered += 1
        else:
            self.counts.lost += 1

    # ---- commits

    def to_commit(self) -> dict[TopicPartition, int]:
        """Returns the offset to commit of each partition where it is another one than the last committed."""
        return self._changed({tp: self._committable(tp) for tp in self.partitions})

    def to_commit_at_the_end(
        self, partitions: Iterable[TopicPartition]
    ) -> dict[TopicPartition, int]:
        """Returns what `to_commit` does, for partitions that are given up: what was not given out
        is left to the next owner, and is not given out here while the commit is under way.
        """
        offsets = {tp: self._committable(tp) for tp in partitions if tp in self.partitions}
        for topic_partition in offsets:
            first = self._waiting.first_offset(topic_partition)
            if first is not None and self._guarantee == "at_most_once":
                offsets[topic_partition] = first
            self._waiting.forget(topic_partition)
        return self._changed(offsets)

    def commit(self, offsets: dict[TopicPartition, int]) -> None:
        for topic_partition, offset in offsets.items():
            if topic_partition in self.partitions:
                self.partitions[topic_partition].commit(offset)

    def needs_commit(self) -> bool:
        """Returns whether records wait for a commit before they can be given out."""
        changed = self.to_commit() if self._waiting.partitions() or self._at_limit() else {}
        if self._guarantee == "at_most_once":
            return any(self._waiting.first_offset(tp) is not None for tp in changed)
        return bool(self._at_limit() & changed.keys())

    def idle_partitions(self) -> list[TopicPartition]:
        """Returns the partitions of which every record that was read is done, or none was read."""
        waiting = self._waiting.partitions()
        return [
            tp
            for tp, offsets in self.partitions.items()
            if tp not in waiting and not offsets.pending_count
        ]

    # ---- inside

    def _at_limit(self) -> set[TopicPartition]:
        return {
            topic_partition
            for topic_partition, offsets in self.partitions.items()
            if offsets.uncommitted_count >= self._max_uncommitted_offsets
        }

    def _may_emit(self, record: ConsumerRecord) -> bool:
        offsets = self.partitions[record.topic_partition]
        if self._guarantee == "at_most_once":
            return offsets.committed is not None and record.offset < offsets.committed
        return offsets.uncommitted_count < self._max_uncommitted_offsets

    def _given_out(
        self, record: ConsumerRecord, number: int, offsets: EmittedOffsets
    ) -> RecordAttempt:
        attempt = RecordAttempt(record, number, offsets)
        if self._knows_out:
            self._out[attempt.message_id] = attempt
        return attempt

    def _give_up_what_is_too_far_behind(self, acked: RecordAttempt) -> None:
        """Gives up what is still pending further below a record that was acked: nobody may ever say anything of it."""
        if not self._knows_out or self._max_offset_behind is None:
            return
        topic_partition = acked.record.topic_partition
        first_kept = acked.record.offset - self._max_offset_behind
        for offset in self.partitions[topic_partition].pending_below(first_kept):
            attempt = self._out.pop(MessageId(topic_partition, offset), None)
            if attempt is not None:
                self.retries.cancel(attempt.message_id)
                self._failed.pop(attempt.message_id, None)
                self.given_up.append(GivenUp(attempt, None))
                self.wants_turn = True

    def _is_too_far_behind(self, attempt: RecordAttempt) -> bool:
        latest = self.partitions[attempt.record.topic_partition].latest_emitted
        if self._max_offset_behind is None or latest is None:
            return False
        return latest - attempt.record.offset > self._max_offset_behind

    def _finish(self, message_id: MessageId, offsets: EmittedOffsets) -> None:
        offsets.ack(message_id.offset)
        self.retries.forget(message_id)
        self._failed.pop(message_id, None)
        self._out.pop(message_id, None)

    def _committable(self, topic_partition: TopicPartition) -> int | None:
        if self._guarantee == "at_most_once":
            last = self._waiting.last_offset(topic_partition)
            if last is not None:
                return last + 1
        known = self.partitions[topic_partition].committable()
        return self._waiting.first_offset(topic_partition) if known is None else known

    def _changed(self, offsets: dict[TopicPartition, int | None]) -> dict[TopicPartition, int]:
        return {
            topic_partition: offset
            for topic_partition, offset in offsets.items()
            if offset is not None and offset != self.partitions[topic_partition].committed
        }
