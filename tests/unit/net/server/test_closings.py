"""What the log says of connections that are closed again and again."""

from __future__ import annotations

import logging

import pytest

from millstream.net.server.closings import Closings

TEN_MINUTES_MS = 600_000


class Clock:
    def __init__(self) -> None:
        self.ms = 5_000

    def now_ms(self) -> int:
        return self.ms


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def closings(clock: Clock) -> Closings:
    return Closings(clock.now_ms)


def test_a_client_that_comes_again_each_second_is_told_once_in_ten_minutes(
    closings: Closings, clock: Clock
) -> None:
    told = []
    for _ in range(1_201):
        told.append(closings.note("10.0.0.1", "no TLS"))
        clock.ms += 1_000
    lines = [(second, each) for second, each in enumerate(told) if each is not None]
    assert lines == [
        (0, ""),
        (600, " (599 others since it was told)"),
        (1_200, " (599 others since it was told)"),
    ]


def test_each_address_and_each_reason_is_told(closings: Closings) -> None:
    told = [
        closings.note(*each)
        for each in (("a", "no TLS"), ("b", "no TLS"), ("a", "too long"), ("b", "no TLS"))
    ]
    assert told == ["", "", "", None]


def test_reasons_that_clients_make_up_fill_no_log(
    closings: Closings, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    told = [closings.note("a", f"frame of {size} bytes") for size in range(5_000)]
    assert told.count("") == 100
    assert caplog.text.count("very many connections are closed") == 1
    clock.ms += TEN_MINUTES_MS
    assert closings.note("a", "frame of 1 bytes") == ""
    assert len(closings._told) == 1_000
