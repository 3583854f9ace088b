"""The times at which a task does what no record asks for: punctuations, retries, results that wait for stream time.

Punctuations are callbacks of processors on stream time or wall-clock time.

A punctuation fires at most once per check, even after a jump, and then aligns to its interval again.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Final, Protocol

from millstream.streams.arguments import check_kind, member
from millstream.streams.kernel.priority_queue import PriorityQueue
from millstream.streams.processor import PunctuationType
from millstream.streams.topology.functions import check_arity
from millstream.streams.windows import to_ms

FINAL_EMIT: Final = "window-aggregate-final-emit"
"""What the metric of rows given out on window close is called."""


class Punctuation:
    """One scheduled callback of one node."""

    __slots__ = ("_callback", "_interval_ms", "cancelled", "next_ms", "node")

    def __init__(
        self, node: str, start_ms: int, interval_ms: int, callback: Callable[[int], object]
    ) -> None:
        self.node = node
        self.next_ms = start_ms
        self.cancelled = False
        self._interval_ms = interval_ms
        self._callback = callback

    def cancel(self) -> None:
        self.cancelled = True

    def fire(self, time_ms: int) -> None:
        """Call back with this time; it is due again at the next multiple of the interval, even where the call fails."""
        self.skip(time_ms)
        self._callback(time_ms)

    def skip(self, time_ms: int) -> None:
        """Be due next at the first multiple of the interval after this time."""
        missed = (time_ms - self.next_ms) // self._interval_ms
        self.next_ms += (missed + 1) * self._interval_ms


class Timer(Protocol):
    """Work of an operator that is due by the wall clock, as its store says: nothing is scheduled,
    so nothing can be forgotten.
    """

    def prepare(self) -> None:
        """Reads what it must know from its store, which may take long, before it is first asked
        when something is due.
        """

    @property
    def next_ms(self) -> int | None:
        """The time when something is due; None where nothing is."""

    def fire(self, time_ms: int, has_time: Callable[[], bool], /) -> None:
        """Does what is due, and comes to an end soon when it `has_time` no more; what is left is still due."""


class PunctuationQueue:
    """The punctuations of a task on one clock."""

    def __init__(self) -> None:
        self._order = PriorityQueue[Punctuation]()

    @property
    def next_ms(self) -> int | None:
        """The time when the next one may be due; None where nothing is scheduled."""
        return self._order.smallest

    def append(self, punctuation: Punctuation) -> None:
        """Adds a punctuation, to be fired when it is due, the first time or again."""
        if not punctuation.cancelled:
            self._order.offer(punctuation.next_ms, punctuation)

    def take_due(self, time_ms: int) -> Punctuation | None:
        """Takes out the punctuation that is due first; None where none is."""
        order = self._order
        while (next_ms := order.smallest) is not None and next_ms <= time_ms:
            first = order.poll()
            if not first.cancelled:
                return first
        return None


class Schedule:
    """The requests made of a task: punctuations of its processors, timers of its operators, a commit soon."""

    __slots__ = ("commit_requested", "punctuations", "timers")

    def __init__(self) -> None:
        self.punctuations = {kind: PunctuationQueue() for kind in PunctuationType}
        self.timers: list[Timer] = []
        self.commit_requested = False
        """By a processor, since the last commit."""

    @property
    def next_due_ms(self) -> int | None:
        """The wall-clock time at which the task has to be called although no record has come."""
        times = [self.punctuations[PunctuationType.WALL_CLOCK_TIME].next_ms]
        times += [timer.next_ms for timer in self.timers]
        return min((time for time in times if time is not None), default=None)


def checked_schedule(
    node: str,
    interval: timedelta,
    kind: PunctuationType,
    callback: Callable[[int], object],
    start_ms: int | None,
) -> tuple[int, PunctuationType]:
    """Returns the interval in milliseconds, and the kind.

    Raises TypeError or ValueError for what cannot be scheduled.
    """
    interval_ms = to_ms(interval)
    if interval_ms < 1:
        raise ValueError(f"{node} schedules every {interval}: at least 1 ms is needed")
    check_kind(f"{node}: start_ms of a punctuation", start_ms, int | None)
    if start_ms is not None and start_ms < 0:
        raise ValueError(f"{node} schedules from {start_ms} ms on: give 0 or more")
    check_arity(node, "the callback of a punctuation", callback, "time_ms")
    return interval_ms, member(f"{node}: the kind of a punctuation", kind, PunctuationType)


class EmitInterval:
    """The pace of results that wait for stream time, of one operator or of the two sides of a join: once an interval of
    the wall clock.

    Looking for closed windows costs a scan of a store; Kafka Streams' threads look once a second. An interval of 0 is
    always over.
    """

    __slots__ = ("_interval_ms", "_next_ms")

    def __init__(self, interval_ms: int) -> None:
        self._interval_ms = interval_ms
        self._next_ms = 0

    @property
    def is_always_over(self) -> bool:
        return self._interval_ms == 0

    def is_over(self, now_ms: int) -> bool:
        """Whether the time to look has come; the next interval then begins."""
        if now_ms < self._next_ms:
            return False
        self._next_ms = now_ms + self._interval_ms
        return True
