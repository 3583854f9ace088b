"""The time that the loop, or a thread, works on one request: what a quota of request time is charged with.

What a request waits does not count, however often it waits: for the disk, for more bytes, for its next turn. Kafka
counts the work up to the first wait, and what is done later for whoever completes it; there a request is never cut into
turns, here one of a hundred thousand partitions would be charged with its first fifty.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator
from typing import Any, Generic, TypeVar, final

T = TypeVar("T")


@final
class RequestTime:
    """The time of one request, which runs when this is made."""

    __slots__ = (
        "_busy_ns",
        "_now_ns",
        "_running_since_ns",
        "_spent_ns",
        "arrival_wait_ms",
        "is_charged",
    )

    def __init__(
        self, begin_ns: int, now_ns: Callable[[], int], busy_ns: Callable[[], int]
    ) -> None:
        """`now_ns`: the clock that `begin_ns` was read from. `busy_ns`: how long the thread that asks was busy."""
        self._now_ns = now_ns
        self._busy_ns = busy_ns
        self._spent_ns = 0
        self._running_since_ns: int | None = begin_ns
        self.arrival_wait_ms: int | None = None
        """How long its client has to wait for the bytes of the request itself; None where they are not charged yet."""
        self.is_charged = False
        """Whether its handler has charged it already: an answer without records is decided before there is an
        answer."""

    def spent_ns(self) -> int:
        """Returns the time that was spent until now."""
        if self._running_since_ns is None:
            return self._spent_ns
        return self._spent_ns + self._now_ns() - self._running_since_ns

    def stop(self) -> None:
        """Notes that the request begins to wait."""
        self._spent_ns = self.spent_ns()
        self._running_since_ns = None

    def go_on(self) -> None:
        """Notes that the request is worked on again."""
        self._running_since_ns = self._now_ns()

    def during(self, work: Awaitable[T]) -> Awaitable[T]:
        """Returns `work`, whose steps count from now on, and not what lies between them."""
        self.stop()
        return _Timed(work, self)

    def in_thread(self, work: Callable[[], T]) -> T:
        """Does `work` in a thread, while the request waits for it: the time of the processor counts."""
        begin_ns = self._busy_ns()
        try:
            return work()
        finally:
            self._spent_ns += self._busy_ns() - begin_ns


@final
class _Timed(Generic[T]):
    __slots__ = ("_time", "_work")

    def __init__(self, work: Awaitable[T], time: RequestTime) -> None:
        self._work = work
        self._time = time

    def __await__(
        self,
    ) -> Generator[Any, Any, T]:  # Any: whatever the loop and its futures say to each other
        steps = self._work.__await__()
        answer: Any = None  # Any: see above
        raised: BaseException | None = None
        while True:
            self._time.go_on()
            try:
                asked = steps.send(answer) if raised is None else steps.throw(raised)
            except StopIteration as ended:
                return ended.value  # type: ignore[no-any-return]  # the value of an Awaitable[T]
            finally:
                self._time.stop()
            answer, raised = None, None
            try:
                answer = yield asked
            except BaseException as error:  # noqa: BLE001 - a cancellation is the work's to hear of
                raised = error
