"""A stream thread in a process of its own, as its application sees it.

The same thread runs there. This end starts the process, tells it what to do and hears of all that happens; a process
that dies is an error of the thread like any other.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import AsyncExitStack
from itertools import count
from typing import Any, Final

from millstream.net.client.tasks import TaskScope, uninterrupted
from millstream.streams.application.ending_signals import HEARD
from millstream.streams.application.group.known_hosts import NO_HOSTS
from millstream.streams.application.group.membership import StreamsTaskId
from millstream.streams.application.interactive.store_lags import StoreOffsets
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
from millstream.streams.application.processes.pickling import (
    ThreadProcessFailed,
    pickled,
    unpickled,
    unpickled_error,
)
from millstream.streams.application.states import ThreadState
from millstream.streams.handlers import OnUncaughtError
from millstream.streams.metrics import MetricName
from millstream.streams.queries import QueryResult, StateQueryRequest
from millstream.streams.runtime.report import TaskReport
from millstream.streams.runtime.upstreams.watch import ASK_TIMEOUT_S

AskProcesses = Callable[[], Coroutine[object, object, Sequence[bytes]]]
"""Asks processes how far their tasks have come; each answer is pickled."""
MODULE: Final = "millstream.streams.application.processes.thread_process"
"""The module that is run as a process of a stream thread."""
END_TIMEOUT_S: Final = 10.0
"""A process that has said its last word may be held up by code of the user: as ORPHANED_S in thread_process.py."""


class ProcessStreamThread:
    """Used as a StreamThread. `application` is pickled: see `pickled_application`.

    `request_close` is called where a function in the process asks for the end of the application.
    """

    def __init__(
        self,
        name: str,
        application: bytes,
        on_change: Callable[[ProcessStreamThread], None],
        on_error: Callable[[Exception], Awaitable[OnUncaughtError]],
        request_close: Callable[[], None],
    ) -> None:
        self.name: Final = name
        self.is_current: Final = False  # its functions run elsewhere
        self.state = ThreadState.CREATED
        self.active_tasks: frozenset[StreamsTaskId] = frozenset()
        self.standby_tasks: Mapping[StreamsTaskId, Mapping[str, int]] = {}
        self.reports: dict[StreamsTaskId, TaskReport] = {}
        self.known_hosts = NO_HOSTS
        self.answer: OnUncaughtError | None = None
        self.ask_others: AskProcesses = _nobody
        """Asks the other processes of the instance how far their tasks have come. Their answers go on as they are."""
        self.pid: int | None = None
        """The process, once it was started."""
        self._application = application
        self._on_change = on_change
        self._on_error = on_error
        self._request_close = request_close
        self._is_paused = False
        self._cache_bytes = 0
        self._stopping = False
        self._link: Link | None = None
        self._metrics: Mapping[MetricName, float] = {}
        self._numbers = count()
        self._asked: dict[int, asyncio.Future[bytes | None]] = {}

    @property
    def is_paused(self) -> bool:
        return self._is_paused

    @is_paused.setter
    def is_paused(self, is_paused: bool) -> None:
        self._is_paused = is_paused
        self._send(PauseThread(is_paused))

    @property
    def cache_bytes(self) -> int:
        """The room that the caches of its tasks have together."""
        return self._cache_bytes

    @cache_bytes.setter
    def cache_bytes(self, cache_bytes: int) -> None:
        self._cache_bytes = cache_bytes
        self._send(ResizeCache(cache_bytes))

    def stop(self) -> None:
        """Has `run` end after a turn of the thread."""
        self._stopping = True
        if self.state is not ThreadState.DEAD:
            self._enter(ThreadState.PENDING_SHUTDOWN)
        self._send(StopThread())

    def metrics(self) -> Mapping[MetricName, float]:
        """Returns what the thread has measured of itself, as the process has told it last."""
        return self._metrics

    async def query(self, request: StateQueryRequest) -> dict[int, QueryResult]:
        """Returns, by partition, what the stores of its tasks answer."""
        data = pickled(request)
        return _read(await self._ask(lambda number: AskThread(number, data)))

    async def store_offsets(self) -> StoreOffsets:
        """Returns how far the stores of its tasks are with their changelogs."""
        return _read(await self._ask(AskStoreOffsets))

    async def local_tasks(self) -> bytes | None:
        """Returns how far its active tasks have come, for other processes; None where it does not tell."""
        return await self._ask(AskTasks)

    async def _answer_about_others(self, question: AskOtherTasks) -> None:
        # The process that asks has given up by then; one that does not answer must not have questions pile up here.
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(ASK_TIMEOUT_S):
                tasks = await self.ask_others()
            self._send(OtherTasks(question.number, tasks))

    async def _ask(self, question: Callable[[int], object]) -> bytes | None:
        """Returns the answer of the process; None where there is none or it ends."""
        if self._link is None:
            return None
        number = next(self._numbers)
        self._asked[number] = asyncio.get_running_loop().create_future()
        self._send(question(number))
        try:
            return await self._asked[number]
        finally:
            del self._asked[number]

    async def run(self) -> None:
        """Runs the process until it ends.

        Raises what has ended the thread, and ThreadProcessFailed where the process has died.
        """
        if not self._stopping:
            self._enter(ThreadState.STARTING)
        async with AsyncExitStack() as last_first:
            last_first.callback(self._enter, ThreadState.DEAD)
            ours, theirs = socket.socketpair()
            last_first.callback(ours.close)
            with theirs:
                loop = asyncio.get_running_loop()
                # Cancelled in it, nobody waits for the process: it ends by itself when it finds its link closed.
                process = await uninterrupted(loop.run_in_executor(None, _started, theirs))
            last_first.push_async_callback(asyncio.to_thread, _ended, process)
            self.pid = process.pid
            link = await Link.open(ours)
            last_first.push_async_callback(link.close)
            questions = TaskScope(f"questions of {self.name}")
            last_first.push_async_callback(questions.close)
            self._take_link(link)
            last_first.callback(self._give_up_link)
            error = await self._listen(link, questions)
            code = await asyncio.to_thread(_ended, process)
            if error is None and code:
                error = ThreadProcessFailed(
                    f"the process of stream-thread [{self.name}] has ended with code {code}"
                )
                await self._ask_about(error)
            if error is not None:
                raise error

    def _take_link(self, link: Link) -> None:
        """Tells the process what to begin with."""
        level = logging.root.getEffectiveLevel()
        link.send(StartThread(self.name, self._application, self._is_paused, level))
        link.send(ResizeCache(self._cache_bytes))
        if self._stopping:
            link.send(StopThread())
        self._link = link

    def _give_up_link(self) -> None:
        """Ends what waits for answers of the process."""
        self._link = None
        self.active_tasks = frozenset()
        self.standby_tasks = {}
        for waiting in self._asked.values():
            if not waiting.done():
                waiting.set_result(None)

    async def _listen(self, link: Link, questions: TaskScope) -> Exception | None:
        """Heeds what the process says until its end. Returns the error that has ended the thread."""
        error: Exception | None = None
        while True:
            message = await link.receive()
            match message:
                case ThreadChanged():
                    self._apply(message)
                case ThreadMeasured():
                    self._metrics = message.metrics
                case ThreadAnswered():
                    self._settle(message)
                case AskOtherTasks():
                    questions.start(self._answer_about_others(message), "tasks of other threads")
                case CloseRequested():
                    self._request_close()
                case ThreadLogged():
                    _log(message.record)
                case ThreadFailed():
                    error = unpickled_error(message.error)
                    link.send(AnswerError(await self._ask_about(error)))
                case ThreadEnded() | None:
                    return error
                case _:
                    raise AssertionError(f"no thread says {type(message).__name__}")

    async def _ask_about(self, error: Exception) -> OnUncaughtError:
        self.answer = await self._on_error(error)
        return self.answer

    def _apply(self, message: ThreadChanged) -> None:
        self.active_tasks = message.active_tasks
        self.standby_tasks = message.standby_tasks
        self.known_hosts = message.known_hosts
        told = {**self.reports, **message.reports}
        self.reports = {task: told[task] for task in told.keys() & message.active_tasks}
        is_ending = self._stopping or message.state is ThreadState.DEAD
        self._enter(self.state if is_ending else message.state)

    def _settle(self, message: ThreadAnswered) -> None:
        waiting = self._asked.get(message.number)
        if waiting is None or waiting.done():
            return  # whoever asked has gone
        if message.error is not None:
            waiting.set_exception(unpickled_error(message.error))
        else:
            waiting.set_result(message.results)

    def _send(self, message: object) -> None:
        if self._link is not None:
            self._link.send(message)

    def _enter(self, state: ThreadState) -> None:
        self.state = state
        self._on_change(self)


async def _nobody() -> Sequence[bytes]:
    return ()


def _read(answer: bytes | None) -> dict[Any, Any]:  # Any: as each question is answered
    if answer is None:
        return {}
    results = unpickled(answer)
    assert isinstance(results, dict), "every answer is one by partition or by store"
    return results


def _started(end: socket.socket) -> subprocess.Popen[bytes]:
    """Starts a process of this Python that can import what this one can.

    It begins with the signals blocked that are the application's to hear: it ignores them only once Python runs there.
    """
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, HEARD)  # those of this thread alone
    try:
        return subprocess.Popen(  # noqa: S603  # our own module
            [sys.executable, "-m", MODULE, str(end.fileno())],
            stdin=subprocess.DEVNULL,
            env=environment,
            pass_fds=[end.fileno()],
        )
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _ended(process: subprocess.Popen[bytes]) -> int:
    """Waits for the end of a process that has said its last word, and returns its code."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        return process.wait(END_TIMEOUT_S)
    process.kill()
    return process.wait()


def _log(record: logging.LogRecord) -> None:
    logger = logging.getLogger(record.name)
    if logger.isEnabledFor(record.levelno):
        logger.handle(record)
