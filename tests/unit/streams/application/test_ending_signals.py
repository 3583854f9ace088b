"""Whose handler a signal meets, before, while and after applications run."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from types import FrameType

import pytest

from millstream.streams.application.ending_signals import (
    BURST_MS,
    EndingSignals,
    Interrupted,
    Terminated,
    cut_short,
)
from tests.unit.streams.application.manual_clock import MovedClock


class Application:
    """Notes the signals that it hears."""

    def __init__(self, raised: SystemExit | None = None) -> None:
        self.is_running = True
        self.heard: list[int] = []
        self._raised = raised

    def hear(self, number: int) -> SystemExit | None:
        self.heard.append(number)
        return self._raised


@pytest.fixture
def clock() -> MovedClock:
    return MovedClock()


@pytest.fixture
def signals(clock: MovedClock) -> Iterator[EndingSignals]:
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    yield EndingSignals(clock)
    for number, handler in before.items():
        signal.signal(number, handler)


def test_all_applications_hear_of_a_signal(signals: EndingSignals) -> None:
    first, second = Application(), Application()
    signals.listen(first)
    signals.listen(second)
    signal.raise_signal(signal.SIGTERM)
    assert (first.heard, second.heard) == ([signal.SIGTERM], [signal.SIGTERM])


def test_python_has_its_handlers_again_after_the_last_application(signals: EndingSignals) -> None:
    first, second = Application(), Application()
    signals.listen(first)
    signals.listen(second)
    signals.forget(first)
    assert signal.getsignal(signal.SIGTERM) != signal.SIG_DFL
    signals.forget(second)
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
    assert signal.getsignal(signal.SIGINT) == signal.default_int_handler


def test_a_handler_of_the_program_is_left_alone(signals: EndingSignals) -> None:
    told: list[int] = []

    def of_program(number: int, _frame: FrameType | None) -> None:
        told.append(number)

    signal.signal(signal.SIGTERM, of_program)
    application = Application()
    signals.listen(application)
    signal.raise_signal(signal.SIGTERM)
    signal.raise_signal(signal.SIGINT)
    assert (told, application.heard) == ([signal.SIGTERM], [signal.SIGINT])


def test_a_handler_that_the_program_sets_later_stays(signals: EndingSignals) -> None:
    application = Application()
    signals.listen(application)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signals.forget(application)
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_IGN


def test_a_program_is_cut_short_after_all_have_heard(signals: EndingSignals) -> None:
    first, second = Application(cut_short(signal.SIGINT)), Application()
    signals.listen(first)
    signals.listen(second)
    with pytest.raises(Interrupted) as raised:
        signal.raise_signal(signal.SIGINT)
    assert (raised.value.code, second.heard) == (130, [signal.SIGINT])


def test_signals_of_one_burst_say_nothing_after_the_end(
    signals: EndingSignals, clock: MovedClock
) -> None:
    application = Application()
    signals.listen(application)
    signal.raise_signal(signal.SIGINT)
    application.is_running = False
    signals.forget(application)
    clock.pass_ms(BURST_MS - 1)
    signal.raise_signal(signal.SIGINT)
    clock.pass_ms(BURST_MS)
    with pytest.raises(KeyboardInterrupt) as raised:
        signal.raise_signal(signal.SIGINT)
    assert type(raised.value) is KeyboardInterrupt


def test_a_signal_that_nobody_waits_for_goes_on_after_the_end(signals: EndingSignals) -> None:
    application = Application()
    signals.listen(application)
    signal.raise_signal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        signals.forget(application, signal.SIGINT)


def test_a_forked_child_ends_when_it_is_told_to(signals: EndingSignals) -> None:
    signals.listen(Application())
    child = os.fork()
    if child == 0:
        signal.raise_signal(signal.SIGTERM)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert os.WTERMSIG(status) == signal.SIGTERM


def test_codes_are_those_of_a_shell() -> None:
    assert (cut_short(signal.SIGTERM).code, cut_short(signal.SIGINT).code) == (143, 130)
    assert isinstance(cut_short(signal.SIGTERM), Terminated)
