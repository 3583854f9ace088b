"""The end of one application by SIGINT or SIGTERM, and what the program that runs it is told.

A program that waits for the application's end (`wait_ended`, `run`) goes on when it has ended. One that does something
else is cut short: the task that starts the application, or is in its `async with` block, is cancelled, the application
closed, and the program ended with 128 and the number of the signal. Where there is no such task `asyncio.run` is ended
so, once the application has ended; without it the signal goes on then to where it would have gone.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Final

from millstream.streams.application.ending_signals import EndingSignals, cut_short

LEAVE_S: Final = 1.0
"""So long the task of a block may take to leave it where another one has waited for the end of the application."""
_LOGGER = logging.getLogger(__name__)


class SignalledEnd:
    """Belongs to one application, and changes in its event loop alone, but for `hear`.

    `end` begins the shutdown; it may be called again.
    """

    def __init__(self, name: str, signals: EndingSignals, end: Callable[[], None]) -> None:
        self._name = name
        self._signals = signals
        self._end = end
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[object] | None = None
        """The task that starts the application or is in its block."""
        self._waiting: Counter[asyncio.Task[object] | None] = Counter()
        self._number: int | None = None
        """The signal that has come."""
        self._cancelling: int | None = None
        """How often the task was being cancelled when it was cancelled here; None where it was not."""
        self._is_told = False
        """Whether the program hears of the signal, or of the end that follows it."""

    @property
    def is_running(self) -> bool:
        """Whether the application was started, has not ended, and its event loop neither."""
        return self._loop is not None and not self._loop.is_closed()

    def hear(self, number: int) -> None:
        """Notes a signal; between two instructions of the main thread."""
        assert self._loop is not None, "it is running"
        self._loop.call_soon_threadsafe(self._on_signal, number)

    @contextlib.contextmanager
    def starting(self) -> Iterator[None]:
        """A signal cuts the start short, which goes on inside. Raises what ends the program then."""
        self._loop = asyncio.get_running_loop()
        self._signals.listen(self)
        self.enter_block()
        try:
            yield
        except BaseException as error:
            ends = self.leave_block(type(error))
            if ends is not None:
                raise ends from None
            raise
        else:
            ends = self.leave_block(None)
            if ends is not None:
                raise ends

    @contextlib.contextmanager
    def waiting(self) -> Iterator[None]:
        """A signal does not cut short the current task, which waits for the end of the application inside."""
        task = asyncio.current_task()
        self._waiting[task] += 1
        if self._number is not None:
            self._is_told = True
        try:
            yield
        finally:
            self._waiting[task] -= 1

    def enter_block(self) -> None:
        """The current task is cut short by a signal from now on, unless somebody waits for the end
        of the application.
        """
        self._task = asyncio.current_task()

    def leave_block(self, kind: type[BaseException] | None) -> SystemExit | None:
        """Ends `enter_block`.

        Returns what to raise, once all is closed, in the place of the cancellation that has ended the block.
        """
        task, self._task = self._task, None
        if task is None or self._cancelling is None:
            return None
        is_ours = task.uncancel() <= self._cancelling
        self._cancelling = None
        if not is_ours or kind is None or not issubclass(kind, asyncio.CancelledError):
            return None
        assert self._number is not None, "a signal has cancelled it"
        return cut_short(self._number)

    def stop_listening(self) -> None:
        """Hears no more: the application has ended."""
        loop, self._loop = self._loop, None
        unanswered = None if self._is_told else self._number
        if loop is not None and unanswered is not None and self._signals.are_of_runner:
            loop.call_soon(_raise, cut_short(unanswered))
            unanswered = None
        self._signals.forget(self, unanswered)

    def _on_signal(self, number: int) -> None:
        if self._number is not None or self._loop is None:
            return
        self._number = number
        _LOGGER.info("%s ends: %s", self._name, signal.Signals(number).name)
        is_awaited = self._waiting.total() > 0
        task = self._task
        self._is_told = is_awaited or task is not None
        if is_awaited or task is None:
            self._end()
            if task is not None and not self._waiting[task]:
                self._loop.call_later(LEAVE_S, self._cut_short)
        else:
            self._cut_short()

    def _cut_short(self) -> None:
        if self._task is not None and self._cancelling is None:
            self._cancelling = self._task.cancelling()
            self._task.cancel()


def _raise(error: BaseException) -> None:
    raise error
