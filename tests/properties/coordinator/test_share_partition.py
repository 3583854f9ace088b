"""A share partition against a model that knows every record by itself (KIP-932)."""

from __future__ import annotations

from dataclasses import dataclass, replace

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from millstream.coordinator.share.state import ShareState
from millstream.coordinator.share.state_batch import RecordState, StateBatch
from millstream.coordinator.share_partition.acknowledgement import AcknowledgementBatch
from millstream.coordinator.share_partition.acquisition import (
    AcquireRequest,
    Fetched,
    InclusiveRange,
    SharePartitionLimits,
)
from millstream.coordinator.share_partition.in_flight import Transition
from millstream.coordinator.share_partition.share_partition import SharePartition
from millstream.errors import InvalidRecordState, InvalidRequest
from millstream.protocol.enums import ACKNOWLEDGE_GAP, AcknowledgeType

MEMBERS = ["ann", "bob"]
LIMITS = SharePartitionLimits(record_locks_max=40, delivery_count_max=3, lock_duration_ms=100)
NEW = ShareState(
    snapshot_epoch=0,
    state_epoch=1,
    leader_epoch=0,
    start_offset=0,
    delivery_complete_count=0,
    created_ms=0,
    written_ms=0,
)


@dataclass(frozen=True)
class KnownRecord:
    state: RecordState = RecordState.AVAILABLE
    count: int = 0
    member: str = ""
    deadline_ms: int | None = None

    def after(self, state: RecordState) -> KnownRecord:
        if state is RecordState.AVAILABLE and self.count >= LIMITS.delivery_count_max:
            state = RecordState.ARCHIVED
        return KnownRecord(state, self.count)


AFTER = {
    ACKNOWLEDGE_GAP: RecordState.ARCHIVED,
    AcknowledgeType.ACCEPT: RecordState.ACKNOWLEDGED,
    AcknowledgeType.RELEASE: RecordState.AVAILABLE,
    AcknowledgeType.REJECT: RecordState.ARCHIVED,
}
TYPES = st.sampled_from([ACKNOWLEDGE_GAP, *AcknowledgeType])


class SharePartitionMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.now_ms = 1_000
        self.log: list[InclusiveRange] = []
        self.aborted: set[InclusiveRange] = set()
        self.log_start = 0
        self.stored = NEW
        self.partition = SharePartition(NEW, 0, leader_epoch=0)
        self.records: dict[int, KnownRecord] = {}
        self.changing: dict[Transition, dict[int, KnownRecord]] = {}
        """What the records were before each transition that has not ended."""

    # --- rules

    @rule(size=st.integers(1, 12), is_aborted=st.sampled_from([False, False, False, True]))
    def produce(self, size: int, is_aborted: bool) -> None:
        first = self.log[-1].last + 1 if self.log else 0
        self.log.append(InclusiveRange(first, first + size - 1))
        if is_aborted:
            self.aborted.add(self.log[-1])

    @precondition(lambda self: self.log)
    @rule(
        member=st.sampled_from(MEMBERS),
        records_max=st.integers(1, 15),
        batch_size=st.integers(1, 10),
        is_record_limit=st.booleans(),
        batch_count=st.integers(1, 4),
    )
    def acquire(
        self,
        member: str,
        records_max: int,
        batch_size: int,
        is_record_limit: bool,
        batch_count: int,
    ) -> None:
        self.partition.move_log_start(self.log_start)
        offset = self.partition.next_fetch_offset
        read = [batch for batch in self.log if batch.last >= offset][:batch_count]
        aborted = [batch for batch in read if batch in self.aborted]
        request = AcquireRequest(member, records_max, batch_size, is_record_limit, LIMITS)
        can_acquire = self.partition.can_acquire(LIMITS)
        acquired = self.partition.acquire(request, Fetched(offset, read, aborted), self.now_ms)
        assert can_acquire or not acquired
        taken = 0
        last = -1
        for first_offset, last_offset, delivery_count in acquired:
            assert first_offset > last, "in order, nothing twice"
            last = last_offset
            for at in range(first_offset, last_offset + 1):
                taken += 1
                before = self.records.get(at, KnownRecord())
                assert before.state is RecordState.AVAILABLE, f"{at} was out or finished"
                assert not self._is_changing(at), f"{at} is being changed"
                assert delivery_count == before.count + 1
                assert not any(b.first <= at <= b.last for b in aborted)
                self.records[at] = KnownRecord(
                    RecordState.ACQUIRED, delivery_count, member, self.now_ms + 100
                )
        if is_record_limit:
            assert taken <= records_max
            self._know_rest_of_batch()
        self._forget_aborted(aborted)
        if can_acquire and read and not aborted and self.log_start <= offset:
            assert acquired, "something was to be had"
        self._forget_finished()

    @precondition(lambda self: self.records)
    @rule(member=st.sampled_from(MEMBERS), data=st.data())
    def acknowledge(self, member: str, data: st.DataObject) -> None:
        first = data.draw(st.sampled_from(sorted(self.records)))
        last = first + data.draw(st.integers(0, 6))
        if data.draw(st.booleans()):
            types = [data.draw(TYPES)]
        else:
            types = [data.draw(TYPES) for _ in range(last - first + 1)]
        offsets = [at for at in range(first, last + 1) if at >= self.partition.start_offset]
        allowed = all(self._is_with(at, member) for at in offsets)
        batch = AcknowledgementBatch(first, last, types)
        try:
            transition = self.partition.acknowledge(member, [batch], LIMITS, self.now_ms)
        except (InvalidRecordState, InvalidRequest):
            assert not allowed
            return
        assert allowed
        before = {}
        for at in offsets:
            kind = types[0] if len(types) == 1 else types[at - first]
            if kind == AcknowledgeType.RENEW:
                self.records[at] = replace(self.records[at], deadline_ms=self.now_ms + 100)
            else:
                before[at] = self.records[at]
                self.records[at] = before[at].after(AFTER[kind])
        self._begin(transition, before)

    @rule(member=st.sampled_from(MEMBERS))
    def release(self, member: str) -> None:
        transition = self.partition.release_member(member, LIMITS)
        mine = [at for at in self.records if self._is_with(at, member)]
        before = {at: self.records[at] for at in mine}
        for at in mine:
            self.records[at] = before[at].after(RecordState.AVAILABLE)
        self._begin(transition, before)

    @precondition(lambda self: self.changing)
    @rule(data=st.data(), stored=st.booleans())
    def settle(self, data: st.DataObject, stored: bool) -> None:
        transition = data.draw(st.sampled_from(list(self.changing)))
        before = self.changing.pop(transition)
        if stored:
            self._store(transition.state_batches)
        else:
            self.records.update({at: b for at, b in before.items() if at in self.records})
        self.partition.settle(transition, stored=stored)
        self._forget_finished()

    @rule(passed_ms=st.integers(1, 150))
    def time_passes(self, passed_ms: int) -> None:
        self.now_ms += passed_ms
        released = self.partition.release_expired(LIMITS, self.now_ms)
        expired = set()
        for at, known in self.records.items():
            deadline_ms = known.deadline_ms
            if deadline_ms is not None and deadline_ms <= self.now_ms and not self._is_changing(at):
                self.records[at] = known.after(RecordState.AVAILABLE)
                expired.add(at)
        assert {at for b in released for at in range(b.first_offset, b.last_offset + 1)} == expired
        self._store(released)
        self._forget_finished()

    @precondition(lambda self: self.log)
    @rule(data=st.data())
    def delete_records(self, data: st.DataObject) -> None:
        self.log_start = data.draw(st.integers(self.log_start, self.log[-1].last + 1))
        self.log = [batch for batch in self.log if batch.last >= self.log_start] or self.log[-1:]
        self.partition.move_log_start(self.log_start)
        self._forget_below(self.partition.start_offset)

    @precondition(lambda self: not self.changing)
    @rule()
    def restart(self) -> None:
        """Another leader takes over with what was stored."""
        start = max(self.stored.start_offset, 0)
        self.partition = SharePartition(self.stored, start, leader_epoch=0)
        self.records = {}
        ends = [batch.last_offset for batch in self.stored.batches]
        for at in range(start, max(ends, default=-1) + 1):
            self.records[at] = KnownRecord()
        for first, last, state, count in self.stored.batches:
            for at in range(first, last + 1):
                self.records[at] = KnownRecord(RecordState(state), count)
        self._forget_finished()

    # --- what always holds

    @invariant()
    def every_record_is_as_the_model_says(self) -> None:
        seen = {}
        for span in self.partition.spans():
            for at in range(span.first, span.last + 1):
                member = span.delivery.member_id
                seen[at] = (span.state, span.delivery_count, member)
        expected = {at: (r.state, r.count, r.member) for at, r in self.records.items()}
        assert seen == expected

    @invariant()
    def finished_records_are_counted(self) -> None:
        finished = sum(record.state.is_finished for record in self.records.values())
        assert self.partition.finished_count == finished

    @invariant()
    def the_start_moves_over_finished_records_only(self) -> None:
        assert all(at >= self.partition.start_offset for at in self.records)
        first = self.records.get(self.partition.start_offset)
        if first is not None and first.state.is_finished:
            assert self._is_changing(self.partition.start_offset)

    @invariant()
    def the_next_deadline_is_not_missed(self) -> None:
        deadlines = [
            record.deadline_ms
            for at, record in self.records.items()
            if record.deadline_ms is not None and not self._is_changing(at)
        ]
        due = self.partition.next_deadline_ms()
        if deadlines:
            assert due is not None
            assert due <= min(deadlines)

    # --- the model

    def _is_changing(self, at: int) -> bool:
        return any(at in before for before in self.changing.values())

    def _is_with(self, at: int, member: str) -> bool:
        record = self.records.get(at)
        return (
            record is not None
            and record.state is RecordState.ACQUIRED
            and record.member == member
            and not self._is_changing(at)
        )

    def _begin(self, transition: Transition, before: dict[int, KnownRecord]) -> None:
        if transition.state_batches:
            self.changing[transition] = before
        else:
            assert not before

    def _know_rest_of_batch(self) -> None:
        """A strict limit may cut a record batch: the rest of it is in flight, and nobody's."""
        for span in self.partition.spans():
            for at in range(span.first, span.last + 1):
                if span.delivery_count == 0 and at not in self.records:
                    assert any(batch.first < at <= batch.last for batch in self.log)
                    self.records[at] = KnownRecord()

    def _store(self, batches: list[StateBatch]) -> None:
        self.stored = self.stored.changed(self.partition.state_change(batches))

    def _forget_aborted(self, aborted: list[InclusiveRange]) -> None:
        """Those that were taken are finished at once; the partition tells how many it had room for."""
        in_flight = {
            at: span for span in self.partition.spans() for at in range(span.first, span.last + 1)
        }
        for at in (at for batch in aborted for at in range(batch.first, batch.last + 1)):
            span = in_flight.get(at)
            if span is not None and span.state is RecordState.ARCHIVED:
                self.records[at] = KnownRecord(RecordState.ARCHIVED, span.delivery_count)
            elif at < self.partition.start_offset:
                self.records.pop(at, None)

    def _forget_finished(self) -> None:
        start = self.partition.start_offset
        for at in sorted(self.records):
            if at >= start:
                return
            below_log = at < self.log_start
            assert below_log or self.records[at].state.is_finished, f"{at} was skipped"
            assert below_log or not self._is_changing(at)
            del self.records[at]

    def _forget_below(self, start: int) -> None:
        for at in [at for at in self.records if at < start]:
            del self.records[at]
            for before in self.changing.values():
                before.pop(at, None)


TestSharePartition = SharePartitionMachine.TestCase
