from __future__ import annotations

import io
import os
import signal
import threading
from collections.abc import Iterator
from types import FrameType

import pytest

from millstream.cli.produce import polled_input


class Interrupted(Exception):
    pass


@pytest.fixture
def signal_for_another_thread() -> Iterator[None]:
    """Noted while this thread waits, and its wait goes on."""

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        raise Interrupted

    def take_it() -> None:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGUSR1})
        signal.pthread_kill(threading.get_ident(), signal.SIGUSR1)

    before = signal.signal(signal.SIGUSR1, interrupt)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
    timer = threading.Timer(0.1, take_it)
    timer.start()
    yield
    timer.join()
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGUSR1})
    signal.signal(signal.SIGUSR1, before)


@pytest.mark.usefixtures("signal_for_another_thread")
def test_a_signal_that_does_not_end_the_wait_is_heard_all_the_same() -> None:
    reading, writing = os.pipe()
    with open(reading, "rb") as source, open(writing, "wb"), pytest.raises(Interrupted):
        polled_input(source).readline()


def test_lines_come_as_they_are_written_and_the_end_is_told() -> None:
    reading, writing = os.pipe()
    with open(reading, "rb") as source:
        lines = polled_input(source)
        with open(writing, "wb", buffering=0) as sender:
            sender.write(b"one\ntw")
            assert lines.readline() == b"one\n"
            sender.write(b"o\nrest")
        assert list(lines) == [b"two\n", b"rest"]


def test_what_never_waits_is_read_as_it_is() -> None:
    given = io.BytesIO(b"a\nb\n")
    assert polled_input(given) is given
