"""One partition as one share group reads it: the front of this package.

    stored state ─▶ restored ─▶ acquire ─▶ records with a member ─▶ acknowledge / release / lock runs out ─▶ stored, settled

Records are available, acquired by one member, or finished (acknowledged or archived). The start offset moves
over finished records only. A change of state is held by a transition until the share coordinator has stored
it; the edge stores what `state_change` says and then settles the transition. Locks are not stored: after a
restart their records are available again.

Costs go by ranges, not by records: ranges are cut where an acknowledgement, a limit or a record batch ends, and joined
again. Knows no clock, no log and no coordinator. Kafka: `SharePartition`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import final

from millstream.coordinator.share.state import ShareState, StateChange
from millstream.coordinator.share.state_batch import RecordState, StateBatch
from millstream.coordinator.share_partition import acknowledgement, acquisition
from millstream.coordinator.share_partition.acknowledgement import AcknowledgementBatch
from millstream.coordinator.share_partition.acquisition import (
    AcquiredRecords,
    AcquireRequest,
    Fetched,
    SharePartitionLimits,
)
from millstream.coordinator.share_partition.in_flight import (
    InFlightRecords,
    InFlightState,
    Span,
    Together,
    Transition,
)


@final
class SharePartition:
    """One task owns it; nothing in here waits. Times are those of the monotonic clock."""

    def __init__(self, state: ShareState, start_offset: int, leader_epoch: int) -> None:
        """As the share coordinator has it.

        `start_offset` is the stored one, or where a group that is new here begins.
        """
        self.state_epoch = state.state_epoch
        self.leader_epoch = leader_epoch
        self._in_flight = _restored(state.batches, start_offset)
        self._earliest_deadline_ms: int | None = None

    @property
    def start_offset(self) -> int:
        return self._in_flight.start_offset

    @property
    def next_fetch_offset(self) -> int:
        """The first record that may be acquired."""
        return self._in_flight.first_available()

    def can_acquire(self, limits: SharePartitionLimits) -> bool:
        """Whether a read is worth its while: something came back, or not all locks are taken."""
        return (
            self.next_fetch_offset != self._in_flight.next_offset
            or len(self._in_flight) < limits.record_locks_max
        )

    def next_deadline_ms(self) -> int | None:
        """Returns the earliest time at which `release_expired` is due."""
        return self._earliest_deadline_ms

    def spans(self) -> Sequence[Span]:
        """Returns the spans, to look at, not to change."""
        return list(self._in_flight)

    @property
    def finished_count(self) -> int:
        """Finished records at or after the start offset."""
        return self._in_flight.finished_count

    # --- changes

    def acquire(
        self, request: AcquireRequest, fetched: Fetched, now_ms: int
    ) -> list[AcquiredRecords]:
        acquired = acquisition.acquire(self._in_flight, request, fetched, now_ms)
        if acquired:
            self._note_deadline(now_ms + request.limits.lock_duration_ms)
        return acquired

    def acknowledge(
        self,
        member_id: str,
        batches: Sequence[AcknowledgementBatch],
        limits: SharePartitionLimits,
        now_ms: int,
    ) -> Transition:
        """Returns the change that is to be stored, then settled.

        Raises InvalidRecordState, InvalidRequest; nothing has changed then.
        """
        acknowledgement.check_may_acknowledge(self._in_flight, member_id, batches, limits)
        return acknowledgement.acknowledge(self._in_flight, batches, limits, now_ms)

    def release_member(self, member_id: str, limits: SharePartitionLimits) -> Transition:
        """The member has closed its session. To be stored, then settled."""
        return acknowledgement.release_member(self._in_flight, member_id, limits)

    def settle(self, transition: Transition, *, stored: bool) -> None:
        """Locks of records that go back to their member may have run out in the meantime: `release_expired` follows."""
        self._in_flight.settle(transition, stored=stored)
        if not stored:
            self._find_earliest_deadline()
        self._in_flight.tidy()

    def release_expired(self, limits: SharePartitionLimits, now_ms: int) -> list[StateBatch]:
        """Locks that have run out by now; to be stored, whatever comes of it."""
        if self._earliest_deadline_ms is None or self._earliest_deadline_ms > now_ms:
            return []
        released = acknowledgement.release_expired(self._in_flight, limits, now_ms)
        self._find_earliest_deadline()
        self._in_flight.tidy()
        return released

    def move_log_start(self, log_start_offset: int) -> None:
        """Notes that records below are gone from the log. The new start offset is stored with the next change."""
        if log_start_offset > self._in_flight.start_offset:
            self._in_flight.drop_below(log_start_offset)
            self._in_flight.tidy()

    def state_change(self, state_batches: Sequence[StateBatch]) -> StateChange:
        """Returns the change the share coordinator is to store, with the start offset as it is now."""
        return StateChange(
            self.leader_epoch,
            self._in_flight.start_offset,
            self._in_flight.finished_count,
            tuple(state_batches),
        )

    def _find_earliest_deadline(self) -> None:
        """Records in a transition have none: it ends their lock, or brings it back."""
        deadlines = (span.lock_deadline_ms for span in self._in_flight if span.is_acquired)
        self._earliest_deadline_ms = min((d for d in deadlines if d is not None), default=None)

    def _note_deadline(self, deadline_ms: int) -> None:
        if self._earliest_deadline_ms is None or deadline_ms < self._earliest_deadline_ms:
            self._earliest_deadline_ms = deadline_ms


def _restored(batches: Sequence[StateBatch], start_offset: int) -> InFlightRecords:
    """Records between stored ranges were out when the last leader went: they are available, and
    count as never delivered.
    """
    in_flight = InFlightRecords(start_offset)
    for batch in batches:
        assert batch.first_offset >= start_offset, "finished records are not stored"
        first, last = in_flight.next_offset, batch.first_offset - 1
        if first <= last:
            in_flight.append(Span(first, last, InFlightState(RecordState.AVAILABLE, 0)))
        delivery = InFlightState(RecordState(batch.delivery_state), batch.delivery_count)
        together = Together(batch.first_offset, batch.last_offset)
        in_flight.append(Span(batch.first_offset, batch.last_offset, delivery, together))
    in_flight.tidy()
    return in_flight
