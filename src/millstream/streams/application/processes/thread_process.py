"""The process of a stream thread: `python -m millstream.streams.application.processes.thread_process FD`.

Runs one stream thread as its application says, over a socket whose descriptor it inherits, and ends with the
thread. When the application is gone it commits and leaves the group, as after a stop, within a bound of time.
It has global stores of its own.
"""

from __future__ import annotations

import asyncio
import logging
import logging.handlers
import os
import pickle
import queue
import signal
import socket
import sys
from collections.abc import Mapping
from contextlib import AsyncExitStack
from functools import partial
from itertools import count
from typing import Final

from millstream.net.client.tasks import TaskScope
from millstream.streams.application.application_environment import ApplicationEnvironment
from millstream.streams.application.ending_signals import HEARD
from millstream.streams.application.global_stream_thread import GlobalStreamThread
from millstream.streams.application.group.membership import StreamsTaskId
from millstream.streams.application.processes.link import Link
from millstream.streams.application.processes.messages import (
    AnswerError,
    AskOtherTasks,
    AskStoreOffsets,
    AskTasks,
    AskThread,
    CloseRequested,
    OtherTasks,
    PauseThread,
    ResizeCache,
    StartThread,
    StopThread,
    ThreadAnswered,
    ThreadChanged,
    ThreadEnded,
    ThreadFailed,
    ThreadLogged,
    ThreadMeasured,
)
from millstream.streams.application.processes.outer_application import asking_with
from millstream.streams.application.processes.pickling import (
    pickled,
    pickled_error,
    unpickled,
)
from millstream.streams.application.stream_thread import StreamThread
from millstream.streams.failure_reports import keep_place
from millstream.streams.handlers import OnUncaughtError
from millstream.streams.queries import StateQueryRequest
from millstream.streams.runtime.process import loop_factory, prepare
from millstream.streams.runtime.report import TaskReport
from millstream.streams.runtime.upstreams.progress import TaskKey
from millstream.streams.runtime.upstreams.watch import LocalTask

MEASURED_EVERY_S: Final = 1.0
"""So often the application is told the metrics of the thread."""
ORPHANED_S: Final = 10.0
"""So long a thread may take to end when its application is gone."""
_LOGGER = logging.getLogger(__name__)
_Question = AskThread | AskStoreOffsets | AskTasks


class ThreadProcess:
    """Runs the thread of one process; `serve` it once."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._loop = asyncio.get_running_loop()
        self._scope = TaskScope("process of a stream thread")
        self._answer: asyncio.Future[OnUncaughtError] = self._loop.create_future()
        self._told: dict[StreamsTaskId, TaskReport] = {}
        self._opening: asyncio.Task[GlobalStreamThread] | None = None
        """Opens the global stores; None where the thread has none."""
        self._numbers = count()
        self._asked: dict[int, asyncio.Future[dict[TaskKey, LocalTask]]] = {}

    async def serve(self) -> None:
        """Serves until the thread has ended, or the application is gone before there is one."""
        start = await self._link.receive()
        if start is None:
            return
        assert isinstance(start, StartThread), "the first message"
        _forward_logs(self._link, start.log_level)
        with asking_with(self._request_close):
            application = unpickled(start.application)
        assert isinstance(application, ApplicationEnvironment), "it is pickled so"
        application.upstreams.ask_instance = self._ask_others
        async with AsyncExitStack() as last_first:
            last_first.push_async_callback(self._scope.close)
            thread = StreamThread(start.name, application, self._tell_change, self._ask)
            thread.is_paused = start.is_paused
            # Before global stores are filled, which may take long, or for ever where the cluster is gone.
            self._scope.start(self._heed(thread), "heed", awaited=True)
            if await self._has_global_stores(thread, application, last_first):
                self._scope.start(self._tell_metrics(thread), "metrics", awaited=True)
                await self._run(thread)
        self._link.send(ThreadEnded())
        await self._link.close()

    def _request_close(self) -> None:
        """Asks the application to end. Functions of the application call it, which run beside the loop."""
        self._loop.call_soon_threadsafe(self._link.send, CloseRequested())

    async def _has_global_stores(
        self,
        thread: StreamThread,
        application: ApplicationEnvironment,
        last_first: AsyncExitStack,
    ) -> bool:
        """Opens the global stores of the thread, if it has any.

        Returns False where they could not be opened, which the application was told, or are not to be any more.
        """
        if not application.topology.global_stores:
            return True
        name = f"{thread.name}-global"
        opening = GlobalStreamThread.start(
            name, application, partial(self._on_global_stores_failure, thread)
        )
        self._opening = self._scope.start(opening, "global stores", awaited=True)
        await asyncio.wait({self._opening})
        if self._opening.cancelled():
            return False
        error = self._opening.exception()
        if error is not None:
            assert isinstance(error, Exception), "it was not cancelled"
            self._fail(error)
            return False
        filled = self._opening.result()
        last_first.push_async_callback(filled.close)
        thread.global_stores = filled.stores
        return True

    def _stop(self, thread: StreamThread) -> None:
        """Ends the thread, and before it runs what it waits for."""
        thread.stop()
        if self._opening is not None:
            self._opening.cancel()

    async def _run(self, thread: StreamThread) -> None:
        try:
            await thread.run()
        except Exception:
            # The application was asked about the error, and says it.
            _LOGGER.debug("stream-thread [%s] has failed", thread.name, exc_info=True)

    async def _heed(self, thread: StreamThread) -> None:
        """Does what the application says. Once it is gone, the thread is ended."""
        while (message := await self._link.receive()) is not None:
            match message:
                case PauseThread():
                    thread.is_paused = message.is_paused
                case ResizeCache():
                    thread.cache_bytes = message.cache_bytes
                case StopThread():
                    self._stop(thread)
                case AskThread() | AskStoreOffsets() | AskTasks():
                    self._scope.start(self._answer_to(message, thread), "query", awaited=True)
                case OtherTasks():
                    self._hear_of_others(message)
                case AnswerError() if not self._answer.done():
                    self._answer.set_result(message.answer)
                case _:
                    raise AssertionError(f"no application says {type(message).__name__}")
        self._stop(thread)
        if not self._answer.done():
            self._answer.set_result(OnUncaughtError.SHUTDOWN_CLIENT)
        await asyncio.sleep(ORPHANED_S)
        os._exit(
            1
        )  # a function of the application may not end; the next owner of its tasks fences it

    async def _tell_metrics(self, thread: StreamThread) -> None:
        while True:
            self._link.send(ThreadMeasured(thread.metrics()))
            await asyncio.sleep(MEASURED_EVERY_S)

    async def _ask_others(self) -> Mapping[TaskKey, LocalTask]:
        number = next(self._numbers)
        self._asked[number] = self._loop.create_future()
        self._link.send(AskOtherTasks(number))
        try:
            return await self._asked[number]
        finally:
            del self._asked[number]

    def _hear_of_others(self, message: OtherTasks) -> None:
        waiting = self._asked.get(message.number)
        if waiting is None or waiting.done():
            return  # it has not been waited for so long
        tasks: dict[TaskKey, LocalTask] = {}
        for answer in map(unpickled, message.tasks):
            assert isinstance(answer, dict), "it is pickled so"
            tasks |= answer
        waiting.set_result(tasks)

    async def _answer_to(self, question: _Question, thread: StreamThread) -> None:
        try:
            results = await _answered(question, thread)
        except Exception as error:  # noqa: BLE001  # whoever asked is told
            self._link.send(ThreadAnswered(question.number, None, pickled_error(error)))
        else:
            self._link.send(ThreadAnswered(question.number, results))

    def _tell_change(self, thread: StreamThread) -> None:
        news = {
            task: report
            for task, report in thread.reports.items()
            if self._told.get(task) is not report
        }
        self._told |= news
        self._link.send(
            ThreadChanged(
                thread.state, thread.active_tasks, news, thread.known_hosts, thread.standby_tasks
            )
        )

    async def _ask(self, error: Exception) -> OnUncaughtError:
        self._fail(error)
        return await self._answer

    def _on_global_stores_failure(self, thread: StreamThread, error: Exception) -> None:
        self._fail(error)
        thread.stop()

    def _fail(self, error: Exception) -> None:
        keep_place(error)
        self._link.send(ThreadFailed(pickled_error(error)))


async def _answered(question: _Question, thread: StreamThread) -> bytes:
    if isinstance(question, AskTasks):
        # Asked for nearly every record of an aligned topic: cloudpickle, which knows functions of the user, takes twice as long.
        told = {key: task.for_others for key, task in thread.local_tasks().items()}
        return pickle.dumps(told, pickle.HIGHEST_PROTOCOL)
    if isinstance(question, AskStoreOffsets):
        return pickled(await thread.store_offsets())
    request = unpickled(question.request)
    assert isinstance(request, StateQueryRequest), "it is pickled so"
    return pickled(await thread.query(request))


class _ForwardedLogs(logging.handlers.QueueHandler):
    """Sends log records to the application, made fit to travel as for a queue."""

    def __init__(self, link: Link) -> None:
        super().__init__(queue.SimpleQueue())
        self._link = link
        self._loop = asyncio.get_running_loop()

    def enqueue(self, record: logging.LogRecord) -> None:
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._link.send, ThreadLogged(record))


def _forward_logs(link: Link, level: int) -> None:
    logging.root.handlers[:] = [_ForwardedLogs(link)]
    logging.root.setLevel(level)


async def _serve(descriptor: int) -> None:
    link = await Link.open(socket.socket(fileno=descriptor))
    await ThreadProcess(link).serve()


def main(arguments: list[str]) -> None:
    """Ends the process by force: the thread of the kernel may be in a function that does not end."""
    for number in HEARD:
        signal.signal(number, signal.SIG_IGN)  # they go to the application, which ends us
    signal.pthread_sigmask(signal.SIG_UNBLOCK, HEARD)  # it has started us so
    prepare()
    code = 1
    try:
        asyncio.Runner(loop_factory=loop_factory()).run(_serve(int(arguments[0])))
        code = 0
    except Exception:
        logging.basicConfig()
        _LOGGER.exception("the process of a stream thread has failed")
    finally:
        logging.shutdown()
        sys.stdout.flush()
        os._exit(code)


if __name__ == "__main__":
    main(sys.argv[1:])
