"""The records of a share partition from its start offset on, as ranges that share a delivery state.

Owns the ranges: disjoint, in order, cut only where something ends within one, joined again where nothing tells them
apart. Between them may be holes, where the log has no records any more. Does not know which changes are allowed.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final, NamedTuple, final

from millstream.coordinator.share.state_batch import RECORD_TRANSITIONS, RecordState, StateBatch

NO_MEMBER: Final = ""


class InFlightState(NamedTuple):
    state: RecordState
    delivery_count: int
    """How often the records were handed out, this time included."""
    member_id: str = NO_MEMBER
    """Who has acquired them."""


class Together(NamedTuple):
    """The range in which records were acquired for the first time: answers and limits go by
    it, however often it is cut.
    """

    first: int
    last: int


@final
class Transition:
    """A change that is being stored. Until its end is known no other change may touch the records.

    Compared by identity.
    """

    __slots__ = ("state_batches",)

    def __init__(self) -> None:
        self.state_batches: list[StateBatch] = []
        """What the share coordinator is to store; empty when there is nothing to wait for."""


@dataclass(slots=True)
class Span:
    """Records `first` to `last`, both included."""

    first: int
    last: int
    delivery: InFlightState
    together: Together | None = None
    """None for records of a gap in the stored state: no member is known to have seen them."""
    lock_deadline_ms: int | None = None
    """When acquired records become available again, on the monotonic clock."""
    transition: Transition | None = None
    before: InFlightState | None = None
    """What the records go back to if the transition fails."""

    def __len__(self) -> int:
        return self.last - self.first + 1

    @property
    def state(self) -> RecordState:
        return self.delivery.state

    @property
    def delivery_count(self) -> int:
        return self.delivery.delivery_count

    @property
    def is_available(self) -> bool:
        return self.delivery.state is RecordState.AVAILABLE and self.transition is None

    def is_acquired_by(self, member_id: str) -> bool:
        return self.is_acquired and self.delivery.member_id == member_id

    @property
    def is_acquired(self) -> bool:
        return self.delivery.state is RecordState.ACQUIRED and self.transition is None

    def state_batch(self) -> StateBatch:
        return StateBatch(self.first, self.last, self.state, self.delivery_count)

    def continues(self, before: Span) -> bool:
        """Tells whether nothing but the border tells the two apart."""
        return (
            before.last + 1 == self.first
            and before.delivery == self.delivery
            and before.together == self.together
            and before.lock_deadline_ms == self.lock_deadline_ms
            and before.transition is self.transition
            and before.before == self.before
        )


@final
class InFlightRecords:
    def __init__(self, start_offset: int) -> None:
        self.start_offset = start_offset
        """Everything below is finished."""
        self.next_offset = start_offset
        """From here on no member has seen anything."""
        self.finished_count = 0
        """Records at or after the start offset that are finished."""
        self._spans: list[Span] = []
        self._firsts: list[int] = []
        self._may_be_available = False

    def __iter__(self) -> Iterator[Span]:
        return iter(self._spans)

    def __bool__(self) -> bool:
        return bool(self._spans)

    def __len__(self) -> int:
        """Records between the start offset and the next one, finished ones and holes included: what is limited."""
        return self.next_offset - self.start_offset if self._spans else 0

    # --- looking

    def at_or_before(self, offset: int) -> Span | None:
        """Returns the last span that begins at or before `offset`."""
        index = bisect_right(self._firsts, offset)
        return self._spans[index - 1] if index else None

    def between(self, first: int, last: int) -> list[Span]:
        """Returns the spans with records in [first, last], whole."""
        return self._spans[self._index_at(first) : bisect_right(self._firsts, last)]

    def first_available(self) -> int:
        """Returns the first record that may be acquired; the next offset when all are out or finished."""
        if self._may_be_available:
            for span in self._spans:
                if span.is_available:
                    return span.first
            self._may_be_available = False
        return self.next_offset

    # --- changing

    def cut(self, first: int, last: int) -> list[Span]:
        """Returns the spans of exactly [first, last]; those that reach beyond are cut in two."""
        self._split_at(first)
        self._split_at(last + 1)
        return self.between(first, last)

    def append(self, span: Span) -> None:
        assert span.first >= self.next_offset, "records are seen for the first time once"
        if not self._spans:
            self.start_offset = span.first
        self._spans.append(span)
        self._firsts.append(span.first)
        self.next_offset = span.last + 1
        self._count(span, 1)
        self._may_be_available |= span.is_available

    def change(self, span: Span, delivery: InFlightState) -> None:
        before = span.delivery.state
        assert delivery.state in RECORD_TRANSITIONS[before], (
            f"{before.name} to {delivery.state.name}"
        )
        self._put(span, delivery)

    def _put(self, span: Span, delivery: InFlightState) -> None:
        self._count(span, -1)
        span.delivery = delivery
        self._count(span, 1)
        self._may_be_available |= span.is_available

    def settle(self, transition: Transition, *, stored: bool) -> None:
        """Ends a transition: its changes are true, or never were."""
        for span in self._spans:
            if span.transition is transition:
                before, span.transition, span.before = span.before, None, None
                assert before is not None, "a transition remembers where it came from"
                if stored:
                    span.lock_deadline_ms = None
                    self._may_be_available |= span.is_available
                else:
                    self._put(span, before)

    def tidy(self) -> None:
        """Lets go of what is finished at the start, and joins what nothing tells apart."""
        finished = 0
        while finished < len(self._spans) and self._is_settled(self._spans[finished]):
            self._count(self._spans[finished], -1)
            finished += 1
        kept: list[Span] = []
        for span in self._spans[finished:]:
            if kept and span.continues(kept[-1]):
                kept[-1].last = span.last
            else:
                kept.append(span)
        self._spans = kept
        self._firsts = [span.first for span in kept]
        if finished:
            self.start_offset = kept[0].first if kept else self.next_offset

    def drop_below(self, offset: int) -> None:
        """The log begins at `offset` now: what was below is finished, also where a member has it."""
        self._split_at(offset)
        index = self._index_at(offset)
        for span in self._spans[:index]:
            self._count(span, -1)
        del self._spans[:index]
        del self._firsts[:index]
        self.start_offset = offset
        self.next_offset = max(self.next_offset, offset)

    @staticmethod
    def _is_settled(span: Span) -> bool:
        return span.state.is_finished and span.transition is None

    def _count(self, span: Span, sign: int) -> None:
        if span.state.is_finished:
            self.finished_count += sign * len(span)

    def _index_at(self, offset: int) -> int:
        """Of the first span that ends at or after `offset`."""
        index = bisect_right(self._firsts, offset)
        return index - 1 if index and self._spans[index - 1].last >= offset else index

    def _split_at(self, offset: int) -> None:
        """`offset` begins a span, if it is inside one."""
        index = self._index_at(offset)
        if index < len(self._spans) and self._spans[index].first < offset:
            span = self._spans[index]
            rest = replace(span, first=offset)
            span.last = offset - 1
            self._spans.insert(index + 1, rest)
            self._firsts.insert(index + 1, offset)
