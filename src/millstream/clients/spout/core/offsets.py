"""The offsets of one partition between being given out and being committed: Storm's OffsetManager."""

from __future__ import annotations

from collections import OrderedDict, deque
from itertools import takewhile

from millstream.clients.core.illegal_state import IllegalState


class EmittedOffsets:
    """Offsets are emitted in ascending order and acked in any order. Those that hold no record are passed over."""

    def __init__(self) -> None:
        self.committed: int | None = None
        self.latest_emitted: int | None = None
        self._next: int | None = None
        """Everything below was emitted, or holds no record."""
        self._pending: OrderedDict[int, None] = OrderedDict()
        """Emitted and not acked, in ascending order."""
        self._uncommitted: deque[int] = deque()
        """Emitted and not committed, in ascending order. At most once, nothing is: commits come first."""

    @property
    def next_offset(self) -> int | None:
        """Everything below was emitted, or holds no record; None before the first record."""
        return self._next

    @property
    def pending_count(self) -> int:
        """The number of records that were emitted and are not acked."""
        return len(self._pending)

    @property
    def uncommitted_count(self) -> int:
        """The number of records that were emitted and are not committed, acked or not."""
        return len(self._uncommitted)

    def is_pending(self, offset: int) -> bool:
        return offset in self._pending

    def pending_below(self, offset: int) -> list[int]:
        """Returns the offsets below this one that were emitted and are not acked."""
        return list(takewhile(lambda pending: pending < offset, self._pending))

    def emit(self, offset: int) -> None:
        """Notes that the record was given out for the first time.

        Raises IllegalState for one below an earlier record.
        """
        if self._next is not None and offset < self._next:
            raise IllegalState(
                f"offset {offset} was passed already: the next one is {self._next}; begin anew after a rewind"
            )
        self.latest_emitted = offset
        self._next = offset + 1
        self._pending[offset] = None
        if self.committed is None or offset >= self.committed:
            self._uncommitted.append(offset)

    def ack(self, offset: int) -> bool:
        """Returns whether the record was pending; acking twice, or what was never emitted, changes nothing."""
        if offset not in self._pending:
            return False
        del self._pending[offset]
        return True

    def advance_to(self, position: int) -> None:
        """Notes that every record below `position` was emitted: what lies between holds none."""
        self._next = position if self._next is None else max(self._next, position)

    def committable(self) -> int | None:
        """Returns the end of the run that is acked without a gap; None before the first record."""
        return next(iter(self._pending), self._next)

    def commit(self, offset: int) -> None:
        """Notes that everything below `offset` is committed."""
        self.committed = offset
        while self._uncommitted and self._uncommitted[0] < offset:
            self._uncommitted.popleft()
