"""Acquiring: which of the records that were read are handed to a member.

Owns the limits of one acquisition: records, locks, and how many of those that failed often go out together. What is out
with another member is passed over; records that no member has seen begin to be in flight.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final, NamedTuple

from millstream.coordinator.share.state_batch import RecordState
from millstream.coordinator.share_partition.in_flight import (
    InFlightRecords,
    InFlightState,
    Span,
    Together,
)

_SMALLEST_LIMIT_THAT_ISOLATES: Final = 3
"""With fewer deliveries allowed, nothing is gained by sending the last one alone."""


@dataclass(frozen=True, slots=True)
class SharePartitionLimits:
    """As the group is configured at the moment."""

    record_locks_max: int
    """Records in flight in one partition."""
    delivery_count_max: int
    """A record that failed so often is given up."""
    lock_duration_ms: int
    may_renew: bool = True
    """Whether a lock begins anew when its member asks for it."""

    @property
    def cautious_from(self) -> int:
        """The delivery count from which on fewer records go out at once, so that the one that fails is found."""
        return max(2, -(-self.delivery_count_max // 2))


@dataclass(frozen=True, slots=True)
class AcquireRequest:
    member_id: str
    records_max: int
    """Aimed at, and exceeded up to the end of a record batch; strict with `is_record_limit`."""
    batch_size: int
    """Records that are acknowledged together, aimed at; ranges end where record batches do."""
    is_record_limit: bool
    limits: SharePartitionLimits


class InclusiveRange(NamedTuple):
    """Offsets from `first` to `last`, both included."""

    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Fetched:
    """Records that were read for a share partition, as offsets."""

    fetch_offset: int
    """Asked for; the first batch may begin before it, or after it where records are gone."""
    batches: Sequence[InclusiveRange]
    """The record batches, in order."""
    aborted: Sequence[InclusiveRange] = ()
    """Those of aborted transactions, for groups that read committed records only."""


class AcquiredRecords(NamedTuple):
    first_offset: int
    last_offset: int
    delivery_count: int


def acquire(
    in_flight: InFlightRecords, request: AcquireRequest, fetched: Fetched, now_ms: int
) -> list[AcquiredRecords]:
    """Acquires ranges in order of offsets, locked for the member until `lock_duration_ms` from now.

    Empty when nothing may be had.
    """
    if not fetched.batches:
        return []
    last, room = _room(in_flight, request, fetched)
    if room <= 0:
        return []
    _archive_missing(in_flight, InclusiveRange(fetched.fetch_offset, fetched.batches[0].first - 1))
    acquisition = _Acquisition(in_flight, request, fetched.batches, room, now_ms)
    acquisition.take_known(InclusiveRange(fetched.batches[0].first, last))
    acquisition.take_new(last)
    if not fetched.aborted:
        return acquisition.acquired
    _archive_aborted(in_flight, fetched.aborted)
    return list(_without(acquisition.acquired, fetched.aborted))


def _room(in_flight: InFlightRecords, request: AcquireRequest, fetched: Fetched) -> tuple[int, int]:
    """(last offset, number of records) to stop at.

    With all locks taken, what is in flight already may still be had again.
    """
    last = fetched.batches[-1].last
    room = min(request.records_max, request.limits.record_locks_max - len(in_flight))
    seen = in_flight.next_offset - fetched.fetch_offset
    if room <= 0 and seen > 0:
        return min(last, in_flight.next_offset - 1), min(request.records_max, seen)
    return last, room


def _archive_missing(in_flight: InFlightRecords, missing: InclusiveRange) -> None:
    """The log has no records there any more (compaction): they would be waited for in vain."""
    archived = False
    for span in in_flight.between(*missing) if missing.first <= missing.last else ():
        if span.is_available:
            for part in in_flight.cut(max(span.first, missing.first), min(span.last, missing.last)):
                in_flight.change(part, InFlightState(RecordState.ARCHIVED, part.delivery_count))
                archived = True
    if archived:
        in_flight.tidy()


def _archive_aborted(in_flight: InFlightRecords, aborted: Sequence[InclusiveRange]) -> None:
    """No member is to see them, so none will acknowledge them."""
    for batch in aborted:
        for span in in_flight.cut(*batch):
            if span.is_acquired:
                span.lock_deadline_ms = None
                in_flight.change(span, InFlightState(RecordState.ARCHIVED, span.delivery_count))
    in_flight.tidy()


def _without(
    acquired: Iterable[AcquiredRecords], holes: Sequence[InclusiveRange]
) -> Iterator[AcquiredRecords]:
    for records in acquired:
        first = records.first_offset
        for hole in holes:
            if hole.last < first or hole.first > records.last_offset:
                continue
            if first < hole.first:
                yield records._replace(first_offset=first, last_offset=hole.first - 1)
            first = hole.last + 1
        if first <= records.last_offset:
            yield records._replace(first_offset=first)


class _Acquisition:
    """One acquisition under way."""

    def __init__(
        self,
        in_flight: InFlightRecords,
        request: AcquireRequest,
        batches: Sequence[InclusiveRange],
        records_max: int,
        now_ms: int,
    ) -> None:
        self.acquired: list[AcquiredRecords] = []
        self._in_flight = in_flight
        self._request = request
        self._batches = batches
        self._room = records_max
        self._deadline_ms = now_ms + request.limits.lock_duration_ms
        self._count = 0
        self._is_over = False

    @property
    def _is_full(self) -> bool:
        return self._is_over or self._count >= self._room

    # --- records that were seen before

    def take_known(self, offsets: InclusiveRange) -> None:
        """Takes what is available of it. A range that was first acquired together is taken whole, limit or not."""
        spans = self._in_flight.between(*offsets)
        for together, group in groupby(spans, lambda span: span.together):
            available = [span for span in group if span.is_available]
            if self._is_full:
                return
            for span in available if together is None else ():
                self._take_gap(
                    InclusiveRange(max(span.first, offsets.first), min(span.last, offsets.last))
                )
            if together is not None and available:
                self._take_again(together, available, offsets)

    def _take_gap(self, gap: InclusiveRange) -> None:
        """Records that the stored state does not mention: as good as new."""
        if not self._is_full:
            for part in self._parts(gap):
                for span in self._in_flight.cut(*part):
                    span.together = Together(*part)
                    self._lock(span)

    def _take_again(
        self, together: Together, available: Sequence[Span], offsets: InclusiveRange
    ) -> None:
        cautious = self._is_cautious(available)
        if cautious and self._count:
            self._is_over = True  # they go out in a fetch of their own
            return
        taken_before = self._count
        for span in available:
            part = InclusiveRange(max(span.first, offsets.first), min(span.last, offsets.last))
            if not self._take_part(part, span.delivery_count, taken_before, together):
                self._is_over = cautious
                return
        self._is_over = cautious

    def _take_part(
        self, part: InclusiveRange, delivery_count: int, taken_before: int, together: Together
    ) -> bool:
        """False when no more of this group may be taken."""
        limit = self._last_to_take(part, delivery_count, taken_before, together)
        if limit < part.first:
            return False
        for span in self._in_flight.cut(part.first, limit):
            self._lock(span)
        is_last_delivery = self._isolates and delivery_count + 1 == self._delivery_count_max
        return limit == part.last and not is_last_delivery

    def _last_to_take(
        self, part: InclusiveRange, delivery_count: int, taken_before: int, together: Together
    ) -> int:
        room = len(range(part.first, part.last + 1))
        if self._isolates and delivery_count + 1 == self._delivery_count_max:
            room = 0 if self._count > taken_before else 1  # the last delivery goes out alone
        elif delivery_count >= self._request.limits.cautious_from:
            halvings = delivery_count - self._request.limits.cautious_from + 1
            size = together.last - together.first + 1
            room = min(room, max(1, size >> halvings) - (self._count - taken_before))
        if self._request.is_record_limit:
            room = min(room, self._room - self._count)
        return min(part.last, part.first + room - 1)

    def _is_cautious(self, available: Iterable[Span]) -> bool:
        most = max(span.delivery_count for span in available)
        return most >= self._request.limits.cautious_from

    @property
    def _delivery_count_max(self) -> int:
        return self._request.limits.delivery_count_max

    @property
    def _isolates(self) -> bool:
        return self._delivery_count_max >= _SMALLEST_LIMIT_THAT_ISOLATES

    def _lock(self, span: Span) -> None:
        delivery = InFlightState(
            RecordState.ACQUIRED, span.delivery_count + 1, self._request.member_id
        )
        self._in_flight.change(span, delivery)
        span.lock_deadline_ms = self._deadline_ms
        self._note(span)

    # --- records that no member has seen

    def take_new(self, last: int) -> None:
        first = max(self._batches[0].first, self._in_flight.next_offset)
        if self._is_full or first > last:
            return
        delivery = InFlightState(RecordState.ACQUIRED, 1, self._request.member_id)
        for part in self._parts(InclusiveRange(first, last)):
            end = self._end_of_batch(part.last)
            together = Together(part.first, end)
            span = Span(*part, delivery, together, self._deadline_ms)
            self._in_flight.append(span)
            self._note(span)
            if part.last < end:  # a strict limit cuts a record batch: the next fetch goes on in it
                rest = InFlightState(RecordState.AVAILABLE, 0)
                self._in_flight.append(Span(part.last + 1, end, rest, together))

    def _parts(self, offsets: InclusiveRange) -> list[InclusiveRange]:
        """As much of it as there is room for, in ranges that end where record batches do."""
        first, last = offsets
        room = self._room - self._count
        if room <= last - first:
            wanted = first + room - 1
            end = wanted if self._request.is_record_limit else self._end_of_batch(wanted)
            last = min(last, end)
        parts: list[InclusiveRange] = []
        if not self._request.is_record_limit:
            for batch in self._batches:
                if batch.first > last:
                    break
                if batch.first - first >= self._request.batch_size:
                    parts.append(InclusiveRange(first, batch.first - 1))
                    first = batch.first
        return [*parts, InclusiveRange(first, last)]

    def _end_of_batch(self, offset: int) -> int:
        """The last offset of the record batch that holds `offset`."""
        return next((b.last for b in self._batches if b.first <= offset <= b.last), offset)

    def _note(self, span: Span) -> None:
        """Ranges first acquired together are told as one where they were delivered equally often."""
        self._count += len(span)
        records = AcquiredRecords(span.first, span.last, span.delivery_count)
        before = self.acquired[-1] if self.acquired else None
        if before is not None and _belongs_to(before, span):
            self.acquired[-1] = before._replace(last_offset=span.last)
        else:
            self.acquired.append(records)


def _belongs_to(before: AcquiredRecords, span: Span) -> bool:
    together = span.together
    return (
        before.last_offset + 1 == span.first
        and before.delivery_count == span.delivery_count
        and together is not None
        and together.first <= before.first_offset
    )
