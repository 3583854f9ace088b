"""A node in a process of its own whose event loop is watched: `python -m tests.support.watched_node KEY=VALUE...`.

Prints `ready HOST:PORT` once it answers. Then each line on standard input is answered by one line of JSON on standard output:
the longest time, in milliseconds of CPU, for which one callback held the loop since the last line, and which callback that was.
CPU time, not wall-clock: a busy machine makes no callback longer. The node stops at the end of its input.

It runs on asyncio's own loop, since uvloop does not tell when a callback begins and ends.
"""

from __future__ import annotations

import asyncio
import json
import logging
import sys
import threading
import time
from asyncio.events import Handle
from typing import Any

from millstream.broker.config.broker_config import broker_config
from millstream.broker.node.long_lived_objects import LongLivedObjects
from millstream.broker.node.process import NodeProcess, ReadyReport
from millstream.runtime.system import SystemClock, SystemFileSystem, SystemRandom


class LoopWatch:
    """Notes the callback that held the loop longest. Belongs to the loop's thread; `take` may be called from another."""

    def __init__(self) -> None:
        self._longest: tuple[float, str] = (0.0, "")
        self._run_handle = Handle._run

    def begin(self) -> None:
        watch, run_handle = self, self._run_handle

        def run_and_measure(handle: Handle) -> None:
            begin = time.thread_time()
            run_handle(handle)
            held = time.thread_time() - begin
            if held > watch._longest[0]:
                watch._longest = (held, _description(handle))

        Handle._run = run_and_measure  # type: ignore[method-assign]  # the loop asks the class

    def take(self) -> dict[str, Any]:
        (held, callback), self._longest = self._longest, (0.0, "")
        return {"held_ms": held * 1_000, "callback": callback}


def _description(handle: Handle) -> str:
    """Named after it ran, so that naming costs nothing while it runs."""
    callback = handle._callback
    task = getattr(callback, "__self__", None)
    return repr(task if isinstance(task, asyncio.Task) else callback)[:300]


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
