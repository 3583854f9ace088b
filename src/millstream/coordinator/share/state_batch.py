"""Delivery states of ranges of records, and how a newer account of them goes over an older one.

Owns the arithmetic of ranges: disjoint, in order, nothing below the start offset. Does not know whose they are.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import IntEnum
from itertools import pairwise
from types import MappingProxyType
from typing import Final, NamedTuple

NO_START_OFFSET: Final = -1


class RecordState(IntEnum):
    """Numbers of the log and of the protocol."""

    AVAILABLE = 0
    """A member may have them."""
    ACQUIRED = 1
    """A member has them, until its lock runs out. Never in the log: a lock does not outlive its broker."""
    ACKNOWLEDGED = 2
    """Done with: a member has accepted them."""
    ARCHIVED = 4
    """Given up: rejected, a gap, or delivered too often."""

    @property
    def is_finished(self) -> bool:
        return self >= RecordState.ACKNOWLEDGED


RECORD_TRANSITIONS: Final[Mapping[RecordState, Mapping[RecordState, str]]] = MappingProxyType(
    {
        RecordState.AVAILABLE: {
            RecordState.ACQUIRED: "a member fetches the records",
            RecordState.ARCHIVED: "compaction has removed the records",
        },
        RecordState.ACQUIRED: {
            RecordState.AVAILABLE: "the member releases them or is gone, or its lock has run out",
            RecordState.ACKNOWLEDGED: "the member accepts them",
            RecordState.ARCHIVED: "the member rejects them, their transaction was aborted, "
            "or they are released and were delivered as often as is allowed",
        },
        RecordState.ACKNOWLEDGED: {},
        RecordState.ARCHIVED: {},
    }
)
"""What leads from each state to each that may follow. A change that cannot be stored is taken back."""


class StateBatch(NamedTuple):
    """Records `first_offset` to `last_offset`, both included, that share a delivery state and count."""

    first_offset: int
    last_offset: int
    delivery_state: int
    delivery_count: int

    @property
    def delivery(self) -> tuple[int, int]:
        """Equal in neighbours that can be one range; greater in the later of two accounts."""
        return self.delivery_count, self.delivery_state


def combined(
    current: Iterable[StateBatch], newer: Iterable[StateBatch], start_offset: int
) -> tuple[StateBatch, ...]:
    """Combines both accounts into one: where they overlap the later delivery counts (more
    deliveries, then the higher state).

    Records below `start_offset` (-1: not known) are finished and left out. Costs O(n log n) in the number of ranges.
    """
    batches = [
        batch
        for batch in (*current, *newer)
        if batch.last_offset >= max(batch.first_offset, start_offset)
    ]
    if _is_one_account(batches, start_offset):
        return tuple(batches)
    result: list[StateBatch] = []
    for stretch in _stretches(batches, start_offset):
        before = result[-1] if result else None
        if before is not None and _continues(before, stretch):
            result[-1] = before._replace(last_offset=stretch.last_offset)
        else:
            result.append(stretch)
    return tuple(result)


def _is_one_account(batches: Sequence[StateBatch], start_offset: int) -> bool:
    """Whether they are what `combined` gives, as a partition's first account and the one
    that a leader sends mostly are.
    """
    begin, delivery = start_offset, None
    for first, last, state, count in batches:
        continues = first == begin and delivery == (count, state)
        if first < begin or continues:
            return False
        begin, delivery = last + 1, (count, state)
    return True


def _continues(before: StateBatch, stretch: StateBatch) -> bool:
    return before.last_offset + 1 == stretch.first_offset and before.delivery == stretch.delivery


def _stretches(batches: Iterable[StateBatch], start_offset: int) -> Iterator[StateBatch]:
    """In order, none over another. Most batches overlap nothing and stay as they are."""
    together: list[StateBatch] = []
    end = start_offset
    for batch in sorted(batches):
        if together and batch.first_offset >= end:
            yield from _swept(together, start_offset)
            together = []
        together.append(batch)
        end = max(end, batch.last_offset + 1)
    yield from _swept(together, start_offset)


def _swept(overlapping: Sequence[StateBatch], start_offset: int) -> Iterable[StateBatch]:
    """From one border of any batch to the next, with the delivery that counts there."""
    if len(overlapping) == 1 and overlapping[0].first_offset >= start_offset:
        return overlapping
    return _sweep(overlapping, start_offset)


def _sweep(overlapping: Sequence[StateBatch], start_offset: int) -> Iterator[StateBatch]:
    waiting = sorted(overlapping, reverse=True)
    borders = {max(batch.first_offset, start_offset) for batch in waiting}
    borders.update(batch.last_offset + 1 for batch in waiting)
    begun: list[tuple[int, int, int]] = []
    """(-count, -state, last offset): the delivery that counts comes first."""
    for first, border in pairwise(sorted(borders)):
        while waiting and waiting[-1].first_offset <= first:
            batch = waiting.pop()
            heapq.heappush(begun, (-batch.delivery_count, -batch.delivery_state, batch.last_offset))
        while begun and begun[0][2] < first:
            heapq.heappop(begun)
        if begun:
            yield StateBatch(first, border - 1, -begun[0][1], -begun[0][0])
