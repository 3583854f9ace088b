"""A node in a process of its own whose event loop is watched: `python -m tests.support.watched_node KEY=VALUE...`.

Prints `ready HOST:PORT` once it answers. Then each line on standard input is answered by one line of JSON on standard output:
the longest time, in milliseconds of CPU, that one round of the loop took since the last line, and which callbacks it ran.
A round is what everybody else waits for: all callbacks that were ready when it began, one of a second or a thousand of a millisecond.
CPU time, not wall-clock: a busy machine makes no round longer, and waiting for sockets is no work. The node stops at the end of
its input.

It runs on asyncio's own loop, since uvloop does not tell when a round or a callback begins and ends.
"""

from __future__ import annotations

import asyncio
import functools
import json
import logging
import sys
import threading
import time
from asyncio.base_events import BaseEventLoop
from asyncio.events import Handle
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from millstream.broker.config.broker_config import broker_config
from millstream.broker.node.long_lived_objects import LongLivedObjects
from millstream.broker.node.process import NodeProcess, ReadyReport
from millstream.runtime.system import SystemClock, SystemFileSystem, SystemRandom

_TOLD_CALLBACKS: Final = 3


class LoopWatch:
    """Notes the round that held the loop longest. Belongs to the loop's thread; `take` may be called from another."""

    def __init__(self, time_s: Callable[[], float] = time.thread_time) -> None:
        self._time_s = time_s
        self._longest: tuple[float, str] = (0.0, "")
        self._ran: list[tuple[float, Handle]] = []
        """The callbacks of the round, with the CPU time when each ended."""
        self._run_handle = Handle._run
        self._run_once = BaseEventLoop._run_once  # type: ignore[attr-defined]  # what typeshed leaves out

    def begin(self) -> None:
        watch, run_handle, run_once = self, self._run_handle, self._run_once

        def run_and_note(handle: Handle) -> None:
            run_handle(handle)
            watch._ran.append((watch._time_s(), handle))

        def run_once_and_measure(loop: BaseEventLoop) -> None:
            watch._ran = []
            begin = watch._time_s()
            run_once(loop)
            held = watch._time_s() - begin
            if held > watch._longest[0]:
                watch._longest = (held, _summary(begin, watch._ran))

        Handle._run = run_and_note  # type: ignore[method-assign, assignment]  # the loop asks the class
        BaseEventLoop._run_once = run_once_and_measure  # type: ignore[attr-defined]  # as above

    def take(self) -> dict[str, Any]:
        (held, callbacks), self._longest = self._longest, (0.0, "")
        return {"held_ms": held * 1_000, "callbacks": callbacks}


def _summary(begin: float, ran: Sequence[tuple[float, Handle]]) -> str:
    """Which callbacks took longest, those of one kind together. Made after the round, so that naming counts as nobody's time."""
    seconds: Counter[str] = Counter()
    counts: Counter[str] = Counter()
    for ended, handle in ran:
        name = _name(handle)
        seconds[name] += ended - begin  # type: ignore[assignment]  # a Counter adds up seconds as well
        counts[name] += 1
        begin = ended
    longest = [
        f"{counts[name]:,} times {name} ({took * 1_000:.1f} ms)"
        for name, took in seconds.most_common(_TOLD_CALLBACKS)
    ]
    return f"{len(ran):,} callbacks: " + "; ".join(longest)


def _name(handle: Handle) -> str:
    """Of a task the coroutines it stands in, from the outermost in; of anything else the function that was called."""
    callback: object = handle._callback  # type: ignore[attr-defined]  # what typeshed leaves out
    if callback is None:
        return "what was cancelled meanwhile"
    while isinstance(callback, functools.partial):
        callback = callback.func
    task = getattr(callback, "__self__", None)
    if isinstance(task, asyncio.Task):
        return "Task " + " > ".join(_coroutine_names(task.get_coro()))
    return str(getattr(callback, "__qualname__", type(callback).__qualname__))


def _coroutine_names(coroutine: object) -> Iterator[str]:
    while hasattr(coroutine, "__qualname__"):
        yield coroutine.__qualname__
        coroutine = getattr(coroutine, "cr_await", None)


async def _serve(settings: dict[str, str], watch: LoopWatch) -> None:
    process = NodeProcess(
        broker_config(settings), SystemClock(), SystemRandom(), SystemFileSystem()
    )
    loop = asyncio.get_running_loop()

    def announce(report: ReadyReport) -> None:
        objects.freeze_all()
        watch.begin()
        print(f"ready {report.bootstrap}", flush=True)
        threading.Thread(target=_answer, args=(watch, process, loop), daemon=True).start()

    with LongLivedObjects() as objects:
        await process.run(announce)


def _answer(watch: LoopWatch, process: NodeProcess, loop: asyncio.AbstractEventLoop) -> None:
    for _ in sys.stdin:
        print(json.dumps(watch.take()), flush=True)
    loop.call_soon_threadsafe(process.request_stop)


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(name)s %(message)s")
    asyncio.run(_serve(dict(each.split("=", 1) for each in sys.argv[1:]), LoopWatch()))
