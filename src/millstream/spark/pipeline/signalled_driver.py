"""The end of an application on Spark by SIGINT or SIGTERM, in the main thread of its driver.

A call that waits for the application (`await_termination`, `run_available`) ends after the micro-batches under way.
Whatever else the main thread does is ended with 128 and the number of the signal, as after Ctrl-C in Python, so that a
`with` block closes the application.
"""

from __future__ import annotations

import contextlib
import logging
import signal
from collections.abc import Callable, Iterator

from millstream.streams.application.ending_signals import (
    EndingSignals,
    Handler,
    cut_short,
    is_of_python,
)

_LOGGER = logging.getLogger(__name__)


class SignalledDriver:
    """Belongs to one application. `stop` lets no micro-batch begin any more."""

    def __init__(self, name: str, signals: EndingSignals, stop: Callable[[], None]) -> None:
        self.number: int | None = None
        """The signal that ends the application, if one does."""
        self.is_running = False
        self._name = name
        self._signals = signals
        self._stop = stop
        self._is_heeded = 0
        self._is_closing = False
        self._unanswered: int | None = None

    def begin(self) -> None:
        """Hears signals from now on."""
        if not self.is_running:
            self.is_running = True
            self._signals.listen(self, _is_replaced)

    def end(self) -> None:
        """Hears no more: the application has been closed."""
        self.is_running = False
        self._signals.forget(self, self._unanswered)

    @contextlib.contextmanager
    def heeding(self) -> Iterator[None]:
        """A signal does not cut short the work inside, which ends by itself soon after it."""
        self._is_heeded += 1
        try:
            yield
        finally:
            self._is_heeded -= 1

    def close_begins(self) -> None:
        """Lets signals wait until the application has been closed."""
        self._is_closing = True

    def hear(self, number: int) -> SystemExit | None:
        """Has the application end, or what the main thread does."""
        if self.number is not None:
            return None
        if self._is_closing:
            self._unanswered = number
            return None
        self.number = number
        _LOGGER.info("%s ends: %s", self._name, signal.Signals(number).name)
        if not self._is_heeded:
            return cut_short(number)
        self._stop()
        return None


def _is_replaced(number: int, handler: Handler) -> bool:
    """PySpark's handler of SIGINT would cancel the jobs under way."""
    if is_of_python(number, handler):
        return True
    return getattr(handler, "__module__", "").startswith("pyspark.") and number == signal.SIGINT
