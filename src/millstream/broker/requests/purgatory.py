"""The purgatory: requests wait in it for partitions to make progress, fetches for bytes, produces
for their high watermark.

One place for both, keyed by partition. An operation is registered before it can miss a wake-up, completed by `wake`
when its condition holds, given up at its deadline, and there is a bound on how many there are. A listener is told of
every progress, whether it waits or not. Knows nothing of requests.

That a log has grown by what is not committed yet is told to followers alone: a hundred produces that wait for the high
watermark are not looked through with each append.
"""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Callable, Iterable
from typing import Final, final

from millstream.model import TopicPartition
from millstream.runtime import Clock

OPERATIONS_MAX: Final = 100_000
"""Ours: Kafka has no bound, and clients choose how many requests wait."""
_COMPACTION_MIN: Final = 1_000
"""Deadlines of waits that are over: below that they cost less than to take them out."""


@final
class DelayedOperation:
    """A request that waits. Await `wait()` once; it returns whether the condition came true before the deadline."""

    __slots__ = (
        "_future",
        "_purgatory",
        "deadline_ms",
        "is_registered",
        "is_satisfied",
        "keys",
        "minds_growth",
    )

    def __init__(
        self,
        purgatory: Purgatory,
        deadline_ms: int,
        is_satisfied: Callable[[TopicPartition], bool],
        *,
        minds_growth: bool,
    ) -> None:
        self._purgatory = purgatory
        self._future: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self.keys: dict[TopicPartition, None] = {}
        self.deadline_ms = deadline_ms
        self.is_satisfied = is_satisfied
        self.minds_growth = minds_growth
        self.is_registered = False

    @property
    def is_done(self) -> bool:
        return self._future.done()

    def finish(self, satisfied: bool) -> None:
        """Ends the wait; only the purgatory calls it."""
        if not self._future.done():
            self._future.set_result(satisfied)

    async def wait(self) -> bool:
        """Waits. True: satisfied. False: the deadline passed, or the purgatory is full or closed."""
        try:
            return await self._future
        finally:
            self._purgatory.forget(self)


@final
class PartitionListener:
    """A listener is told of all progress of the partitions it listens to, until it is closed."""

    __slots__ = ("_is_closed", "_keys", "_listeners", "on_progress")

    def __init__(
        self,
        listeners: dict[TopicPartition, dict[PartitionListener, None]],
        on_progress: Callable[[TopicPartition], None],
    ) -> None:
        self._listeners = listeners
        self._keys: set[TopicPartition] = set()
        self._is_closed = False
        self.on_progress = on_progress

    def listen_to(self, key: TopicPartition) -> None:
        """Listens to a partition, unless this listener is closed."""
        if key not in self._keys and not self._is_closed:
            self._keys.add(key)
            self._listeners.setdefault(key, {})[self] = None

    def leave(self, key: TopicPartition) -> None:
        if key in self._keys:
            self._keys.remove(key)
            others = self._listeners[key]
            del others[self]
            if not others:
                del self._listeners[key]

    def close(self) -> None:
        self._is_closed = True
        for key in list(self._keys):
            self.leave(key)


_Watchers = dict[TopicPartition, dict[DelayedOperation, None]]
_Listeners = dict[TopicPartition, dict[PartitionListener, None]]


@final
class Purgatory:
    def __init__(self, clock: Clock, operations_max: int = OPERATIONS_MAX) -> None:
        self._clock = clock
        self._operations_max = operations_max
        self._watchers: _Watchers = {}
        self._growth_watchers: _Watchers = {}
        self._listeners: _Listeners = {}
        self._growth_listeners: _Listeners = {}
        self._deadlines: list[tuple[int, int, DelayedOperation]] = []
        self._sequence = 0
        self._waiting = 0
        self._earlier_deadline = asyncio.Event()

    def __len__(self) -> int:
        """Returns the number of operations that wait."""
        return self._waiting

    def watch(
        self,
        keys: Iterable[TopicPartition],
        timeout_ms: int,
        is_satisfied: Callable[[TopicPartition], bool],
        *,
        minds_growth: bool = False,
    ) -> DelayedOperation:
        """Starts a wait at once.

        `is_satisfied(key)` is called whenever `key` made progress; it is cheap and does not raise.

        `minds_growth`: it is called as well when the log has grown by what is not committed.
        When too many wait already the operation is over as soon as it is awaited, as if its deadline had passed.
        """
        deadline_ms = self._clock.now().monotonic_ms + timeout_ms
        operation = DelayedOperation(self, deadline_ms, is_satisfied, minds_growth=minds_growth)
        if self._waiting >= self._operations_max:
            operation.finish(satisfied=False)
            return operation
        self._waiting += 1
        operation.is_registered = True
        self.watch_also(operation, keys)
        self._sequence += 1
        is_earliest = not self._deadlines or deadline_ms < self._deadlines[0][0]
        heapq.heappush(self._deadlines, (deadline_ms, self._sequence, operation))
        if is_earliest:
            self._earlier_deadline.set()
        return operation

    def watch_also(self, operation: DelayedOperation, keys: Iterable[TopicPartition]) -> None:
        """Adds partitions whose progress may satisfy `operation`, unless it is over already."""
        if operation.is_registered:
            all_watchers = self._watchers_like(operation)
            for key in keys:
                operation.keys[key] = None
                all_watchers.setdefault(key, {})[operation] = None

    def _watchers_like(self, operation: DelayedOperation) -> _Watchers:
        return self._growth_watchers if operation.minds_growth else self._watchers

    def listener(
        self, on_progress: Callable[[TopicPartition], None], *, minds_growth: bool = False
    ) -> PartitionListener:
        """Returns a new listener, without partitions yet.

        `on_progress` is cheap and does not raise; `minds_growth` as in `watch`.
        """
        return PartitionListener(
            self._growth_listeners if minds_growth else self._listeners, on_progress
        )

    def satisfy(self, operation: DelayedOperation) -> None:
        """Satisfies `operation` for a reason other than the progress of its keys."""
        self._end(operation, satisfied=True)

    def wake(self, partition: TopicPartition) -> None:
        """Checks the waits for `partition`: its high watermark or start moved, its leader changed,
        or it was removed.
        """
        _tell(self._listeners, partition)
        self._check(self._watchers, partition)
        self.note_growth(partition)

    def note_growth(self, partition: TopicPartition) -> None:
        """Checks the waits of those who mind growth: records were appended to `partition` that are not committed."""
        _tell(self._growth_listeners, partition)
        self._check(self._growth_watchers, partition)

    def _check(self, all_watchers: _Watchers, partition: TopicPartition) -> None:
        watchers = all_watchers.get(partition)
        if watchers:
            for operation in list(watchers):
                if _is_satisfied(operation, partition):
                    self._end(operation, satisfied=True)

    def expire(self) -> int | None:
        """Ends waits that are due; returns the milliseconds until the next deadline, None when nothing waits."""
        now_ms = self._clock.now().monotonic_ms
        while self._deadlines:
            deadline_ms, _, operation = self._deadlines[0]
            if not operation.is_done and deadline_ms > now_ms:
                return deadline_ms - now_ms
            heapq.heappop(self._deadlines)
            self._end(operation, satisfied=False)
        return None

    async def run(self) -> None:
        """Ends waits at their deadlines; runs in a task of the node until it is cancelled."""
        while True:
            self._earlier_deadline.clear()  # before it looks: a wait that ends earlier has it look again
            wait_ms = self.expire()
            try:
                async with asyncio.timeout(None if wait_ms is None else wait_ms / 1000):
                    await self._earlier_deadline.wait()
            except TimeoutError:
                continue  # a deadline has come

    def close(self) -> None:
        """Ends every wait; the node is going down."""
        for _, _, operation in self._deadlines:
            self._end(operation, satisfied=False)
        self._deadlines.clear()

    def forget(self, operation: DelayedOperation) -> None:
        """Forgets a wait that is given up, or is answered."""
        self._end(operation, satisfied=False)
        if len(self._deadlines) > _COMPACTION_MIN + 2 * self._waiting:
            self._deadlines = [entry for entry in self._deadlines if not entry[2].is_done]
            heapq.heapify(self._deadlines)

    def _end(self, operation: DelayedOperation, satisfied: bool) -> None:
        if operation.is_registered:
            operation.is_registered = False
            self._waiting -= 1
            all_watchers = self._watchers_like(operation)
            for key in operation.keys:
                watchers = all_watchers[key]
                del watchers[operation]
                if not watchers:
                    del all_watchers[key]
        operation.finish(satisfied)


def _tell(all_listeners: _Listeners, partition: TopicPartition) -> None:
    listeners = all_listeners.get(partition)
    if listeners:
        for listener in list(listeners):
            listener.on_progress(partition)


def _is_satisfied(operation: DelayedOperation, partition: TopicPartition) -> bool:
    """A wait that cannot be checked is over: who waits looks again, and is told why; who made the progress
    has nothing to do with it.
    """
    try:
        return operation.is_satisfied(partition)
    except Exception:  # noqa: BLE001 - it comes again when the waiting request reads
        return True
