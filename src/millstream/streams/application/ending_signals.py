"""SIGINT and SIGTERM of this process, heard for as long as applications run that were started in its main thread.

Owns the handlers: they take the place of Python's own when the first application starts, and give it back after the
last has ended. Handlers of the program are left alone. What a signal does to an application is not decided here.
"""

from __future__ import annotations

import atexit
import functools
import os
import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Final, Protocol

from millstream.runtime import Clock
from millstream.runtime.system import SystemClock

HEARD: Final = (signal.SIGINT, signal.SIGTERM)
BURST_MS: Final = 2_000
"""A signal that comes so soon after another one says nothing new: `timeout` sends two, an impatient person many."""

Handler = Callable[[int, FrameType | None], object] | int | None


class Interrupted(KeyboardInterrupt, SystemExit):
    """SIGINT has cut short what the program did.

    Ends it with code 130 and without a traceback, and pytest as Ctrl-C does.
    """


class Terminated(SystemExit):
    """SIGTERM has cut short what the program did. Ends it with code 143."""


def cut_short(number: int) -> SystemExit:
    """Returns what to raise in a program that a signal keeps from going on."""
    error = Interrupted() if number == signal.SIGINT else Terminated()
    error.code = 128 + number
    return error


def is_of_python(number: int, handler: Handler) -> bool:
    """Whether a handler is what Python has where a program sets none: its own, or that of `asyncio.run`."""
    if number == signal.SIGTERM:
        return handler == signal.SIG_DFL
    if isinstance(handler, functools.partial):
        handler = handler.func
    return (
        handler is signal.default_int_handler
        or getattr(handler, "__qualname__", "") == "Runner._on_sigint"
    )


class SignalListener(Protocol):
    """One application. The methods are called in the main thread, between two instructions of whatever it does."""

    @property
    def is_running(self) -> bool:
        """Whether a signal still says something to it."""

    def hear(self, number: int) -> SystemExit | None:
        """Has the application end. Returns what is to be raised in the main thread, if anything."""


class EndingSignals:
    """The signals of one process; `of_process` has it."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._listeners: list[SignalListener] = []
        self._before: dict[int, Handler] = {}
        """The handlers that ours have replaced."""
        self._heard_ms: int | None = None
        self._is_at_exit = False
        self._unanswered: int | None = None
        os.register_at_fork(after_in_child=self._disown)

    def listen(
        self, listener: SignalListener, is_replaced: Callable[[int, Handler], bool] = is_of_python
    ) -> None:
        """Tells a listener of signals until `forget`. Does nothing where Python could not: beside the main thread."""
        if threading.current_thread() is not threading.main_thread():
            return
        self._listeners.append(listener)
        for number in HEARD:
            before = signal.getsignal(number)
            if is_replaced(number, before):
                self._before[number] = before
                signal.signal(number, self._hear)

    @property
    def are_of_runner(self) -> bool:
        """Whether `asyncio.run` runs the program, whose tasks it ends when the event loop raises something."""
        return isinstance(self._before.get(signal.SIGINT), functools.partial)

    def forget(self, listener: SignalListener, unanswered: int | None = None) -> None:
        """Ends `listen`.

        A signal that has ended the application and that the program does not know of goes on to
        where it would have gone.
        """
        if listener not in self._listeners:
            return
        self._listeners.remove(listener)
        if unanswered is not None:
            self._unanswered = unanswered
        if self._listeners or threading.current_thread() is not threading.main_thread():
            return  # the handlers give way when they are called next
        if self._unanswered is not None:
            self._pass_on(self._unanswered)
        elif self._heard_ms is None:
            self._restore()

    def _hear(self, number: int, _frame: FrameType | None) -> None:
        now_ms = self._clock.now().monotonic_ms
        is_of_burst = self._heard_ms is not None and now_ms - self._heard_ms < BURST_MS
        told = [each for each in self._listeners if each.is_running]
        if not told and not is_of_burst:
            self._pass_on(number)
            return
        self._heard_ms = now_ms
        if not self._is_at_exit:
            self._is_at_exit = True
            atexit.register(self._ignore)
        raised = [error for each in told if (error := each.hear(number)) is not None]
        if raised:
            raise raised[0]

    def _pass_on(self, number: int) -> None:
        """Lets a signal do what it does without applications."""
        self._restore()
        self._unanswered = self._heard_ms = None
        signal.raise_signal(number)

    def _restore(self) -> None:
        for number, before in self._before.items():
            if signal.getsignal(number) == self._hear:
                signal.signal(number, before)
        self._before.clear()

    def _ignore(self) -> None:
        """The program ends as it was told to: nothing is to come between any more."""
        for number in self._before:
            if signal.getsignal(number) == self._hear:
                signal.signal(number, signal.SIG_IGN)

    def _disown(self) -> None:
        """In a forked child, which has none of the applications, but must end when it is told to."""
        self._listeners.clear()
        self._restore()


@functools.cache
def of_process() -> EndingSignals:
    """Returns the one of this process."""
    return EndingSignals(SystemClock())
