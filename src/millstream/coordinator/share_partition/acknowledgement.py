"""Acknowledging: what a member says of records it has acquired, and what becomes of records it
cannot speak for any more.

Nothing changes unless all of a request may change. What changes is held by a transition until it is stored.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Final, NamedTuple

from millstream.coordinator.share.state_batch import RecordState, StateBatch
from millstream.coordinator.share_partition.acquisition import InclusiveRange, SharePartitionLimits
from millstream.coordinator.share_partition.in_flight import (
    InFlightRecords,
    InFlightState,
    Span,
    Transition,
)
from millstream.errors import InvalidRecordState, InvalidRequest
from millstream.protocol.enums import ACKNOWLEDGE_GAP, AcknowledgeType

_TYPES: Final = frozenset({ACKNOWLEDGE_GAP, *AcknowledgeType})
_RESULT: Final = {
    ACKNOWLEDGE_GAP: RecordState.ARCHIVED,
    AcknowledgeType.ACCEPT: RecordState.ACKNOWLEDGED,
    AcknowledgeType.RELEASE: RecordState.AVAILABLE,
    AcknowledgeType.REJECT: RecordState.ARCHIVED,
}


class AcknowledgementBatch(NamedTuple):
    """`types` has one entry for all records of the range, or one for each."""

    first_offset: int
    last_offset: int
    types: Sequence[int]


def check_batches(batches: Iterable[AcknowledgementBatch], *, may_renew: bool) -> None:
    """Raises InvalidRequest for what no state of the records could make right: order, number and kind of the types."""
    end = -1
    for first, last, types in batches:
        if first > last or first < end:
            raise InvalidRequest(f"offsets {first}-{last} are out of order")
        if not types or len(types) not in (1, last - first + 1):
            raise InvalidRequest(f"offsets {first}-{last} come with {len(types)} types")
        kinds = set(types)
        if kinds - _TYPES:
            raise InvalidRequest(f"acknowledge types are 0 to 4, not {sorted(kinds)}")
        if AcknowledgeType.RENEW in kinds and not may_renew:
            raise InvalidRequest("renewing is for requests that say so (version 2)")
        end = last


def check_may_acknowledge(
    in_flight: InFlightRecords,
    member_id: str,
    batches: Iterable[AcknowledgementBatch],
    limits: SharePartitionLimits,
) -> None:
    """Raises InvalidRecordState, InvalidRequest.

    What lies below the start offset is finished whatever is said of it.
    """
    for batch in batches:
        if batch.last_offset < in_flight.start_offset:
            continue
        _check_known(in_flight, batch)
        first = max(batch.first_offset, in_flight.start_offset)
        for span in in_flight.between(first, batch.last_offset):
            if not span.is_acquired:
                raise InvalidRecordState(
                    f"records {span.first}-{span.last} are not acquired by anybody"
                )
            if not span.is_acquired_by(member_id):
                raise InvalidRecordState(
                    f"records {span.first}-{span.last} are acquired by another member"
                )
        if AcknowledgeType.RENEW in batch.types and not limits.may_renew:
            raise InvalidRecordState(
                "locks are not renewed in this group: share.renew.acknowledge.enable is false"
            )


def _check_known(in_flight: InFlightRecords, batch: AcknowledgementBatch) -> None:
    first = in_flight.at_or_before(max(batch.first_offset, in_flight.start_offset))
    last = in_flight.at_or_before(batch.last_offset)
    if first is None or last is None:
        raise InvalidRecordState(f"records from {batch.first_offset} on are not in flight")
    if last.last < batch.first_offset:
        raise InvalidRequest(f"offset {batch.first_offset} is past the acquired records")
    if last.last < batch.last_offset:
        raise InvalidRequest(f"offset {batch.last_offset} is past the acquired records")


def acknowledge(
    in_flight: InFlightRecords,
    batches: Iterable[AcknowledgementBatch],
    limits: SharePartitionLimits,
    now_ms: int,
) -> Transition:
    """Makes changes of acknowledgements that have been checked. Renewals count at once: no lock is stored."""
    transition = Transition()
    for batch in batches:
        for kind, offsets in _runs(batch):
            first = max(offsets.first, in_flight.start_offset)
            for span in in_flight.cut(first, offsets.last) if first <= offsets.last else ():
                if kind == AcknowledgeType.RENEW:
                    span.lock_deadline_ms = now_ms + limits.lock_duration_ms
                else:
                    _begin(in_flight, span, _RESULT[kind], limits, transition)
    return transition


def _runs(batch: AcknowledgementBatch) -> Iterator[tuple[int, InclusiveRange]]:
    if len(batch.types) == 1:
        yield batch.types[0], InclusiveRange(batch.first_offset, batch.last_offset)
        return
    first = batch.first_offset
    for kind, run in groupby(batch.types):
        last = first + sum(1 for _ in run) - 1
        yield kind, InclusiveRange(first, last)
        first = last + 1


def release_member(
    in_flight: InFlightRecords, member_id: str, limits: SharePartitionLimits
) -> Transition:
    """The member is gone: what it has not acknowledged may be had by others."""
    transition = Transition()
    for span in in_flight:
        if span.is_acquired_by(member_id):
            _begin(in_flight, span, RecordState.AVAILABLE, limits, transition)
    return transition


def release_expired(
    in_flight: InFlightRecords, limits: SharePartitionLimits, now_ms: int
) -> list[StateBatch]:
    """Locks that have run out. True whether it can be stored or not: no member holds the records any more."""
    released = []
    for span in in_flight:
        deadline_ms = span.lock_deadline_ms
        if span.is_acquired and deadline_ms is not None and deadline_ms <= now_ms:
            span.lock_deadline_ms = None
            in_flight.change(span, _after(span, RecordState.AVAILABLE, limits))
            released.append(span.state_batch())
    return released


def _begin(
    in_flight: InFlightRecords,
    span: Span,
    state: RecordState,
    limits: SharePartitionLimits,
    transition: Transition,
) -> None:
    span.transition, span.before = transition, span.delivery
    in_flight.change(span, _after(span, state, limits))
    transition.state_batches.append(span.state_batch())


def _after(span: Span, state: RecordState, limits: SharePartitionLimits) -> InFlightState:
    if state is RecordState.AVAILABLE and span.delivery_count >= limits.delivery_count_max:
        state = RecordState.ARCHIVED
    return InFlightState(state, span.delivery_count)
