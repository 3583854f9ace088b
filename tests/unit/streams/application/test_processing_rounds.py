"""Rounds are as large as they may be for the time that records take, and large enough for async functions."""

from __future__ import annotations

import pytest

from millstream.streams import StreamsBuilder
from millstream.streams.application.processing_rounds import (
    FIRST_RECORDS_MAX,
    ROUND_MS,
    ProcessingRounds,
    records_min,
)


def rounds_of(queued: int, record_ms: float, records_least: int = 1) -> list[int]:
    """The sizes of the rounds in which records are processed that take so long."""
    rounds, sizes = ProcessingRounds(records_least), list[int]()
    while queued:
        sizes.append(min(queued, rounds.records_max))
        queued -= sizes[-1]
        may_be_more = rounds.end(sizes[-1], int(sizes[-1] * record_ms), ROUND_MS)
        assert may_be_more or not queued
    return sizes


def test_fast_functions_soon_get_everything_at_once() -> None:
    sizes = rounds_of(1_000_000, record_ms=0.0001)
    assert len(sizes) < 15
    assert sizes[-2] > 100_000


def test_slow_functions_take_no_longer_than_a_round_may() -> None:
    first, *others = rounds_of(300, record_ms=50)
    assert first == FIRST_RECORDS_MAX
    assert set(others) == {2}


def test_one_record_may_take_longer_than_a_round() -> None:
    assert set(rounds_of(200, record_ms=5_000)[1:]) == {1}


def test_a_round_in_between_is_left_as_it_is() -> None:
    rounds = ProcessingRounds()
    assert rounds.end(FIRST_RECORDS_MAX, ROUND_MS - 10, ROUND_MS)
    assert rounds.records_max == FIRST_RECORDS_MAX


def test_a_slow_moment_passes() -> None:
    rounds = ProcessingRounds()
    rounds.end(FIRST_RECORDS_MAX, 100 * ROUND_MS, ROUND_MS)
    assert rounds.records_max == 1
    for _ in range(10):
        rounds.end(rounds.records_max, 0, ROUND_MS)
    assert rounds.records_max == 1_024


def test_punctuations_alone_change_nothing() -> None:
    rounds = ProcessingRounds()
    assert not rounds.end(0, 10_000, ROUND_MS)
    assert rounds.records_max == FIRST_RECORDS_MAX


@pytest.mark.parametrize(("in_flight", "least"), [(8, 32), (100, 400)])
def test_async_functions_have_something_to_do_meanwhile(in_flight: int, least: int) -> None:
    async def answer(value: object) -> object:
        return value

    builder = StreamsBuilder()
    stream = builder.stream("in")
    stream.map_values_async(answer, max_in_flight=in_flight).to("out")
    builder.stream("other").map_values(str).to("out")
    topology = builder.build()
    assert records_min(topology, 0) == least
    assert records_min(topology, 1) == 1
    assert min(rounds_of(2_000, record_ms=50, records_least=least)[:-1]) >= least
