"""Remembers what a task has written to topics whose readers follow it, so that they know what of it they have
not read (ADR 0021). Pure.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from millstream.model import TopicPartition
from millstream.streams.kernel.task.upstreams import AT_ITS_END

_WRITES_MAX: Final = 16
"""Of one partition. Whoever is that many writes behind has to read before it matters how far exactly."""


@dataclass(slots=True)
class FollowedWrites:
    """Of one task. `ends`: by partition, the offset after what it has written there."""

    ends: dict[TopicPartition, int] = field(default_factory=dict)
    _last: dict[TopicPartition, deque[tuple[int, int]]] = field(default_factory=dict)
    """The offset after each of the last writes, and the origin time of its first record. All that
    was before lies in the first one."""

    def note(self, ends: Mapping[TopicPartition, int], origin_time: int) -> None:
        """Notes a write, none of whose records has a smaller origin time: those of a task never go back."""
        for tp, end in ends.items():
            self.ends[tp] = end
            last = self._last.setdefault(tp, deque())
            last.append((end, origin_time))
            if len(last) > _WRITES_MAX:
                _, first = last.popleft()
                last[0] = last[0][0], first

    def first_unread(self, tp: TopicPartition, read_to: int) -> int:
        """Returns a time before which no record is that was written to a partition at `read_to` or behind it."""
        if self.ends.get(tp, 0) <= read_to:
            return AT_ITS_END
        return next(time for end, time in self._last[tp] if end > read_to)
