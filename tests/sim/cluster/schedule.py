"""Several event loops on one virtual clock, stepped by one scheduler: a loop for each node, and one for the network, clients and the story.

A step is one round of one loop. Loops that have something to do come in an order that the seed decides; time stands still meanwhile, and
jumps to the next timer of any loop when none has. A loop that is paused is not stepped, as a process that was sent SIGSTOP; its timers
are late when it goes on. The clock of a loop may go at another pace than the others'. Knows nothing of nodes.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import heapq
import math
import random
import select
import selectors
from collections.abc import Callable, Coroutine
from concurrent.futures import Executor
from functools import partial
from itertools import count
from typing import Any, Final, TypeVar, TypeVarTuple, Unpack

from millstream.runtime import Instant
from tests.sim.virtual_time import EPOCH_MS, run_work

Arguments = TypeVarTuple("Arguments")
Result = TypeVar("Result")

_ROUNDS_AT_ONE_TIME: Final = 200_000
"""A loop that goes on for so long without a timer waits for something that never comes."""
_ROUNDS_BETWEEN_COLLECTIONS: Final = 2_000
_ROUNDS_OF_A_BURIAL: Final = 20_000
_ROUNDED_S: Final = 1e-8
"""More than is lost where the time of a loop is computed from the common one, so that a timer is due at the time at which it is looked for."""
_THREADS: Final = "_max_workers"
"""Where an executor has the number of its threads."""


class _Selector(selectors.EpollSelector):
    """Never waits. Ready sockets come in the order in which they were first watched."""

    def __init__(self) -> None:
        super().__init__()
        self._order: dict[int, int] = {}
        self._numbers = count()

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        key = super().register(fileobj, events, data)
        self._order[key.fd] = next(self._numbers)
        return key

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        del timeout
        return sorted(super().select(0), key=lambda each: self._order[each[0].fd])


class _NumberedTask(asyncio.Task[Any]):
    """Has its place in a set by its number and not by its address, so that whoever cancels a set of tasks does it in the same order each time."""

    def __init__(self, coroutine: Coroutine[Any, Any, Any], number: int, **more: Any) -> None:
        self.number = number
        super().__init__(coroutine, **more)

    def __hash__(self) -> int:
        return self.number

    def __eq__(self, other: object) -> bool:
        return self is other


class _NumberedFuture(asyncio.Future[Any]):
    """As a task."""

    number = 0

    def __hash__(self) -> int:
        return self.number

    def __eq__(self, other: object) -> bool:
        return self is other


class _Work(_NumberedFuture):
    """Work of a thread, and what comes of it. Nobody may wait for that any more: what has begun goes on, as threads do."""

    cancelled_s = math.inf
    """By the clock of its loop."""

    def cancel(self, msg: Any = None) -> bool:
        is_cancelled = super().cancel(msg)
        if is_cancelled:
            self.cancelled_s = self.get_loop().time()
        return is_cancelled


class ScheduledLoop(asyncio.SelectorEventLoop):
    """The loop of one process. Its threads take as long as `thread_s` says, and those of one executor end in order if it has one."""

    def __init__(self, schedule: Schedule, name: str) -> None:
        self.name = name
        self.is_paused = False
        self.thread_s: Callable[[], float] = float
        self.owner: object = None
        """Whoever runs in it."""
        self.errors: list[str] = []
        """Failures that nobody took."""
        self._schedule = schedule
        self._is_dead = False
        self._own_s = 0.0
        self._pace = 1.0
        self._paced_from: tuple[float, float] | None = None
        """Common time and own time at which the pace was set last; None while they were always the same."""
        self._selecting = _Selector()
        self._idle_from: dict[int, float] = {}
        self._task_numbers = count(1)
        self._at_work: dict[_Work, tuple[float, Callable[[], Any]]] = {}
        """When each began."""
        super().__init__(self._selecting)
        self.set_exception_handler(self._note_error)
        self.set_task_factory(self._new_task)  # type: ignore[arg-type]  # typeshed's factory takes what no loop gives

    @property
    def is_dead(self) -> bool:
        return self._is_dead

    def time(self) -> float:
        if self._is_dead:
            return self._own_s
        now_s = self._schedule.now_s
        if self._paced_from is None:
            return now_s
        common_s, own_s = self._paced_from
        return own_s + (now_s - common_s) * self._pace

    def go_at(self, pace: float) -> None:
        """From now on so many seconds of this loop are one of the others. Its clock jumps neither forth nor back."""
        self._paced_from = self._schedule.now_s, self.time()
        self._pace = pace

    def is_ready(self) -> bool:
        return self.has_work() or bool(self._selecting.select())

    def has_work(self) -> bool:
        """Whether there is something to do before any socket is looked at."""
        due_s = self.due_s()
        return bool(
            self._ready  # type: ignore[attr-defined]  # what typeshed leaves out
            or (due_s is not None and due_s <= self.time())
        )

    @property
    def watcher(self) -> int:
        """The descriptor that is readable while one of its sockets is ready."""
        return self._selecting.fileno()

    def next_s(self) -> float | None:
        """When the next timer is due, in the common time."""
        due_s = self.due_s()
        if due_s is None or self._paced_from is None:
            return due_s
        common_s, own_s = self._paced_from
        return common_s + (due_s - own_s) / self._pace + _ROUNDED_S

    def due_s(self) -> float | None:
        """When the next timer is due, by its own clock. Those that were cancelled are dropped, as the loop itself does it."""
        timers: list[Any] = self._scheduled  # type: ignore[attr-defined]  # as above; Any: TimerHandle's private parts
        while timers and timers[0]._cancelled:
            self._timer_cancelled_count -= 1  # type: ignore[attr-defined]  # as above
            heapq.heappop(timers)._scheduled = False
        return timers[0]._when if timers else None

    def round(self) -> None:
        """Runs everything that is ready now once."""
        self.call_soon(self.stop)
        self.run_forever()

    def create_future(self) -> asyncio.Future[Any]:
        future = _NumberedFuture(loop=self)
        future.number = next(self._task_numbers)
        return future

    def run_in_executor(
        self,
        executor: Executor | None,
        func: Callable[[Unpack[Arguments]], Result],
        *args: *Arguments,
    ) -> asyncio.Future[Result]:
        work = _Work(loop=self)
        work.number = next(self._task_numbers)
        begins = self.time()
        if getattr(executor, _THREADS, 1) == 1:
            begins = max(begins, self._idle_from.get(id(executor), 0.0))
        ends = self._idle_from[id(executor)] = begins + self.thread_s()
        self._at_work[work] = begins, partial(func, *args)
        self.call_at(ends, self._end_work, work)
        return work

    def end_threads(self) -> None:
        """Does what threads have begun and nobody waits for, as a pool that is closed waits for them."""
        for work in [each for each in self._at_work if each.cancelled()]:
            self._end_work(work)

    def _end_work(self, work: _Work) -> None:
        begins, do = self._at_work.pop(work, (math.inf, None))
        if do is None or work.cancelled_s < begins:
            return
        if not work.cancelled():
            run_work(work, do, ())
            return
        with contextlib.suppress(Exception):  # nobody is told
            do()

    def die(self) -> None:
        """Ends the process: no step of it is seen any more. It is buried once no other loop is at work."""
        self._own_s, self._is_dead = self.time(), True
        self._schedule.forget(self)

    def bury(self) -> None:
        """Cancels what is left and runs it to its end in a time of its own, so that sockets and memory are given back.

        Whatever it does must reach nobody.
        """
        for task in asyncio.all_tasks(self):
            task.cancel()
        for _ in range(_ROUNDS_OF_A_BURIAL):
            if not asyncio.all_tasks(self):
                break
            if not self.is_ready():
                self._own_s = self.due_s() or self._own_s
            self.round()
        else:
            raise AssertionError(f"tasks of {self.name} do not end: {asyncio.all_tasks(self)}")
        self.close()

    def _new_task(
        self, loop: asyncio.AbstractEventLoop, coroutine: Coroutine[Any, Any, Any], **more: Any
    ) -> asyncio.Task[Any]:
        return _NumberedTask(coroutine, next(self._task_numbers), loop=loop, **more)

    def _note_error(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        del loop
        if not self._is_dead:
            error = context.get("exception")
            self.errors.append(f"{self.name}: {context['message']}: {error!r}")


class Schedule:
    def __init__(self, seed: int) -> None:
        self.now_s = 0.0
        self.rounds = 0
        self.after_round: list[Callable[[ScheduledLoop], None]] = []
        self._chance = random.Random(seed)
        self._loops: list[ScheduledLoop] = []
        self._watchers = select.epoll()
        """Asked once for all loops, each of which is asked only where it has news."""
        self._dead: list[ScheduledLoop] = []

    def new_loop(self, name: str) -> ScheduledLoop:
        loop = ScheduledLoop(self, name)
        self._loops.append(loop)
        self._watchers.register(loop.watcher, select.EPOLLIN)
        return loop

    def forget(self, loop: ScheduledLoop) -> None:
        self._loops.remove(loop)
        self._watchers.unregister(loop.watcher)
        self._dead.append(loop)

    def bury(self) -> None:
        """Buries the dead; to be called while no loop is at work."""
        dead, self._dead = self._dead, []
        for loop in dead:
            loop.bury()

    def run(self, story: Coroutine[Any, Any, Result], loop: ScheduledLoop) -> Result:
        """Runs all loops until the story, in one of them, has ended. What a check raises leaves it as it is.

        Garbage is collected at rounds of certain numbers: generators that nobody has closed wake their loops then.
        """
        task = loop.create_task(story)
        gc.collect()
        gc.disable()
        try:
            while not task.done():
                self._run_all_that_is_ready(task)
                if not task.done():
                    self._jump()
        finally:
            gc.enable()
        return task.result()

    def _run_all_that_is_ready(self, until: asyncio.Task[Any]) -> None:
        for _ in range(_ROUNDS_AT_ONE_TIME):
            heard = {descriptor for descriptor, _ in self._watchers.poll(0)}
            ready = [
                each
                for each in self._loops
                if not each.is_paused and (each.has_work() or each.watcher in heard)
            ]
            if not ready or until.done():
                return
            if len(ready) > 1:
                self._chance.shuffle(ready)
            for loop in ready:
                if loop.is_dead or loop.is_paused:  # by a step of another one just now
                    continue
                loop.round()
                self.rounds += 1
                if self.rounds % _ROUNDS_BETWEEN_COLLECTIONS == 0:
                    gc.collect(1)
                self.bury()
                for look in self.after_round:
                    look(loop)
        raise AssertionError(f"something spins at {self.now_s} s: {[each.name for each in ready]}")

    def _jump(self) -> None:
        due = [each.next_s() for each in self._loops if not each.is_paused]
        timers = [due_s for due_s in due if due_s is not None]
        assert timers, "everybody waits, and nobody for a timer"
        self.now_s = max(self.now_s, min(timers))


class LoopClock:
    """The time of one loop, as a `runtime.Clock`, with a wall clock that may be wrong."""

    def __init__(self, loop: ScheduledLoop, wall_error_ms: int = 0) -> None:
        self.wall_error_ms = wall_error_ms
        self._loop = loop

    def now(self) -> Instant:
        now_ms = round(self._loop.time() * 1000)
        return Instant(EPOCH_MS + self.wall_error_ms + now_ms, now_ms)

    def wall_ms(self) -> int:
        return self.now().wall_ms
