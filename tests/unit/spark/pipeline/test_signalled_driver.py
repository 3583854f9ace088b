"""What a signal does to an application on Spark and to the program that runs it."""

from __future__ import annotations

import signal
from collections.abc import Callable

from millstream.spark.pipeline.signalled_driver import SignalledDriver
from millstream.streams.application.ending_signals import EndingSignals
from tests.unit.streams.application.manual_clock import MovedClock


def driver(stop: Callable[[], None] = lambda: None) -> SignalledDriver:
    return SignalledDriver("application counts", EndingSignals(MovedClock()), stop)


def test_what_waits_for_the_application_ends_after_its_micro_batches() -> None:
    stopped: list[str] = []
    heard = driver(lambda: stopped.append("stopped"))
    with heard.heeding():
        assert heard.hear(signal.SIGTERM) is None
        assert heard.hear(signal.SIGTERM) is None
    assert (stopped, heard.number) == (["stopped"], signal.SIGTERM)


def test_a_program_that_does_something_else_is_cut_short_once() -> None:
    stopped: list[str] = []
    heard = driver(lambda: stopped.append("stopped"))
    raised = heard.hear(signal.SIGINT)
    assert raised is not None
    assert (raised.code, heard.hear(signal.SIGINT), stopped) == (130, None, [])


def test_closing_is_not_cut_short() -> None:
    heard = driver()
    heard.close_begins()
    assert (heard.hear(signal.SIGTERM), heard.number) == (None, None)
