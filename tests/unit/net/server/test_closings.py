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


def test_reasons_that_a_client_makes_up_take_no_line_from_others(
    closings: Closings, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    told = [closings.note("a", f"frame of {size} bytes") for size in range(5_000)]
    assert told == [""] * 5 + [None] * 4_995
    assert closings.note("b", "frame of 1 bytes") == ""
    assert caplog.messages == [
        "connections from a are closed for many reasons: for ten minutes DEBUG alone says which"
    ]
    clock.ms += TEN_MINUTES_MS
    assert closings.note("a", "frame of 77 bytes") == "", "it was never told, and is not remembered"
    assert len(closings._told) == 6 + 1


def test_a_flood_from_many_addresses_fills_no_log(
    closings: Closings, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    addresses = [f"10.0.{n // 100}.{n % 100}" for n in range(5_000)]
    assert [closings.note(each, "no TLS") for each in addresses[:100]] == [""] * 100
    clock.ms += TEN_MINUTES_MS // 2
    assert {closings.note(each, "no TLS") for each in addresses[100:]} == {None}
    assert len(caplog.messages) == 1
    assert caplog.messages[0].startswith("very many connections are closed")
    clock.ms += TEN_MINUTES_MS // 2
    assert closings.note(addresses[-1], "no TLS") == "", "it had no line before"


def test_what_waits_for_a_line_is_counted_until_it_has_one(
    closings: Closings, clock: Clock
) -> None:
    clock.ms = 1
    closings.note("a", "no TLS")
    clock.ms += TEN_MINUTES_MS - 1
    closings.note("b", "the lines of the first ten minutes are not spent")
    clock.ms += 1
    for n in range(100):
        assert closings.note(f"10.0.0.{n}", "too long") == ""
    assert [closings.note("a", "no TLS") for _ in range(3)] == [None] * 3
    clock.ms += TEN_MINUTES_MS
    assert closings.note("a", "no TLS") == " (3 others since it was told)"
