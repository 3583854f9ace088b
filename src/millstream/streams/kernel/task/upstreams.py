"""Puts the records of a repartition topic in the order of their origin time (ADR 0021).

Owns the records of one topic that are read and may not go on yet: each upstream task's in the order of its writes.
Knows neither how far upstream tasks have come nor how that is found out: the runner tells it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from millstream.streams.kernel.columns.batch import RawBatch
from millstream.streams.kernel.columns.origins import (
    OriginBatch,
    of_unknown_upstream,
    one_after_the_other,
)

if TYPE_CHECKING:
    from millstream.streams.kernel.columns.batch import Numbers

AT_ITS_END: Final = 2**63 - 1
"""The time that an upstream task has reached which has nothing left to read: it holds nobody up."""
NOT_BEGUN: Final = -1
_RELEASED_MAX: Final = 65_536
"""Rows that go on together, as many as batches that came apart are joined to."""
_PARTS_MAX: Final = 16
"""Rows of an upstream task that come in more pieces than that are gathered: a piece costs as much as some hundred
rows."""


@dataclass(frozen=True, slots=True)
class DoneBehind:
    """The records of a topic behind a committed offset that are done although that one is not.

    Those before `until` are, but for those that upstream tasks have written from `first` on, by the
    partition of the upstream task.
    """

    until: int
    first: Mapping[int, int]


@dataclass(slots=True)
class _Upstream:
    """What one upstream task has written, as far as it has been read and may not go on."""

    reached: int = NOT_BEGUN
    """The largest origin time that was read."""
    waiting: deque[OriginBatch] = field(default_factory=deque)


class UpstreamMerge:
    """The records of one topic: `add` them as they are read, `release` them in order, and say with
    `take` how many are done.
    """

    def __init__(self) -> None:
        self.is_told = False
        """Whether the runner has said how far the upstream tasks have come; nothing goes on before."""
        self.waiting = 0
        """The number of records that have not gone on."""
        self._upstreams: dict[int, _Upstream] = {}
        self._reached: Mapping[int, int] = {}
        self._for_others: Mapping[str, Mapping[int, int]] = {}
        self._bounds: dict[str, int] = {}
        """By other topic, what `bound_for` has found, until something changes."""
        self._read_to: int | None = None
        self._begin: tuple[int, DoneBehind] | None = None
        self._committed: tuple[int, DoneBehind] | None = None
        """Where `clear` leaves off: what is done behind an offset is not to come again."""
        self._ready: deque[OriginBatch] = deque()
        """In order, and not given out: a batch has a bounded size."""
        self._released: tuple[Numbers, Numbers] | None = None
        """Upstream tasks and offsets of the records in order that are not done."""

    def resume(self, position: int, held: DoneBehind | None) -> None:
        """Goes on at a committed position, behind which some records are done."""
        self._begin = self._committed = None if held is None else (position, held)

    def expect(
        self,
        reached: Mapping[int, int],
        for_others: Mapping[str, Mapping[int, int]] | None = None,
    ) -> None:
        """Says what is still to come: no record of an upstream task that has not been added has an origin
        time before the one here.

        Upstream tasks that are not among them hold nobody up. `for_others`: by topic, what records of that one have to
        wait for instead.
        """
        self.is_told = True
        self._reached = reached
        self._for_others = for_others or {}
        self._bounds.clear()

    def add(self, records: RawBatch | OriginBatch) -> None:
        """Takes records in the order of offsets."""
        if not len(records):
            return
        self._bounds.clear()
        if isinstance(records, RawBatch):
            records = of_unknown_upstream(records)
        for number, rows in _by_upstream(records):
            self._wait(number, self._not_done(number, rows))
        self._read_to = int(records.offsets[-1]) + 1
        if self._begin is not None and self._read_to >= self._begin[1].until:
            self._begin = None

    @property
    def bound(self) -> tuple[int, int]:
        """The origin time and the upstream task before which, and at which, nothing can come any more."""
        return self._bound(self._reached)

    def bound_for(self, topic: str) -> int | None:
        """Returns the origin time before which no record is that records of another topic have to wait for: of those
        that are to come and of those that wait.

        None where these wait for the same as the records of this topic.
        """
        reached = self._for_others.get(topic)
        if reached is None:
            return None
        # Asked for with each run, which may be a single record.
        if topic not in self._bounds:
            waiting = (
                int(each.waiting[0].origin_times[0])
                for each in self._upstreams.values()
                if each.waiting
            )
            self._bounds[topic] = min([self._bound(reached)[0], *waiting])
        return self._bounds[topic]

    @property
    def newest(self) -> int:
        """The largest origin time that was added since the start."""
        return max((each.reached for each in self._upstreams.values()), default=NOT_BEGUN)

    def release(self) -> RawBatch | None:
        """Returns the next records that may go on now, in order; None where there are none.

        Those given out before have been taken.
        """
        if not self._ready:
            self._put_in_order()
        if not self._ready:
            return None
        records = self._ready.popleft()
        self.waiting -= len(records)
        return records.raw()

    def take(self, rows: int) -> None:
        """Says that so many of the released records are done, or left out for good."""
        assert self._released is not None, "records are released before they are taken"
        upstreams, offsets = self._released
        self._released = upstreams[rows:], offsets[rows:]

    def position(self) -> tuple[int, DoneBehind | None] | None:
        """Returns the offset of the first record that is not done, and what is done behind it.

        None where that is not known yet.
        """
        if self._read_to is None:
            return self._begin
        first, until = self._first_waiting(), self._read_to
        if self._begin is not None:  # some of what was done before has not been read again yet
            until = self._begin[1].until
            first = {
                number: first.get(number, max(offset, self._read_to))
                for number, offset in self._begin[1].first.items()
            }
        if not first:
            return self._read_to, None
        return min(first.values()), DoneBehind(until, first)

    def commit(self) -> None:
        """Makes what is done final: it will not come again, also where it stands behind records that are not."""
        position = self.position()
        if position is not None:
            offset, held = position
            self._committed = None if held is None else (offset, held)

    def clear(self) -> None:
        """Forgets everything that was added, and what was done since the last commit: records come
        again from its position on.

        What was told of upstream tasks does not hold for those that come again.
        """
        self._begin = self._committed
        self.is_told = False
        self.waiting = 0
        self._upstreams.clear()
        self._bounds.clear()
        self._ready.clear()
        self._read_to = self._released = None

    def _bound(self, reached: Mapping[int, int]) -> tuple[int, int]:
        if not self.is_told:
            return NOT_BEGUN, NOT_BEGUN
        found = [
            (max(time, self._read_of(number)), number)
            for number, time in reached.items()
            if time != AT_ITS_END
        ]
        return min(found, default=(AT_ITS_END, AT_ITS_END))

    def _read_of(self, number: int) -> int:
        upstream = self._upstreams.get(number)
        return NOT_BEGUN if upstream is None else upstream.reached

    def _not_done(self, number: int, rows: OriginBatch) -> OriginBatch:
        """Returns the rows that are not done since before the resumed position was committed."""
        if self._begin is None:
            return rows
        held = self._begin[1]
        done = int(rows.offsets.searchsorted(held.first.get(number, held.until)))
        return rows.part(done, len(rows))

    def _wait(self, number: int, rows: OriginBatch) -> None:
        if not len(rows):
            return
        upstream = self._upstreams.setdefault(number, _Upstream())
        rows = rows.never_back(upstream.reached)
        upstream.reached = int(rows.origin_times[-1])
        upstream.waiting.append(rows)
        self.waiting += len(rows)

    def _put_in_order(self) -> None:
        """Finds what may go on now."""
        self._bounds.clear()
        time, last = self.bound
        parts = [
            part
            for number, upstream in sorted(self._upstreams.items())
            for part in _up_to(upstream.waiting, time, is_inclusive=number <= last)
        ]
        if not parts:
            return
        records = _in_order(one_after_the_other(parts))
        self._released = records.upstreams, records.offsets
        self._ready.extend(
            records.part(first, first + _RELEASED_MAX)
            for first in range(0, len(records), _RELEASED_MAX)
        )

    def _first_waiting(self) -> dict[int, int]:
        """Returns, by upstream task, the offset of its first record that is not done."""
        import numpy as np

        first = {
            number: int(upstream.waiting[0].offsets[0])
            for number, upstream in self._upstreams.items()
            if upstream.waiting
        }
        if self._released is not None and len(self._released[0]):
            upstreams, offsets = self._released
            numbers, rows = np.unique(upstreams, return_index=True)  # the first row of each
            first |= dict(zip(numbers.tolist(), offsets[rows].tolist(), strict=True))
        return first


def _by_upstream(records: OriginBatch) -> Iterator[tuple[int, OriginBatch]]:
    """Yields the rows of each upstream task in their order, perhaps in several parts."""
    import numpy as np

    upstreams = records.upstreams
    ends = [*(np.flatnonzero(np.diff(upstreams)) + 1).tolist(), len(records)]
    numbers = np.unique(upstreams) if len(ends) > 1 else upstreams[:1]
    if len(ends) <= _PARTS_MAX * len(numbers):  # batches of a topic have one writer each
        for first, end in zip([0, *ends], ends, strict=False):
            yield int(upstreams[first]), records.part(first, end)
        return
    for number in numbers.tolist():
        yield number, records.take(np.flatnonzero(upstreams == number))


def _up_to(waiting: deque[OriginBatch], time: int, *, is_inclusive: bool) -> Iterator[OriginBatch]:
    """Takes out the rows before a time, or up to it, and yields them."""
    while waiting:
        rows = waiting[0]
        end = int(rows.origin_times.searchsorted(time, "right" if is_inclusive else "left"))
        if end < len(rows):
            if end:
                waiting[0] = rows.part(end, len(rows))
                yield rows.part(0, end)
            return
        yield waiting.popleft()


def _in_order(records: OriginBatch) -> OriginBatch:
    """Returns rows by origin time; those of equal time stay as they stand, one upstream task after the other.

    Each upstream task's rows are in order, which a stable sort makes use of: it merges them.
    """
    order = records.origin_times.argsort(kind="stable")
    is_sorted = bool((order[1:] > order[:-1]).all())
    return records if is_sorted else records.take(order)
