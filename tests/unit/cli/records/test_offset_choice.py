from __future__ import annotations

import click
import pytest

from millstream.cli.records.offset_choice import (
    Bounds,
    Lookups,
    Start,
    duration_ms,
    parse_bounds,
    start_offsets,
    timestamp_ms,
)
from millstream.model import TopicPartition

NOW_MS = 1_000_000
P0, P1 = TopicPartition("t", 0), TopicPartition("t", 1)
CLUSTER = Lookups(
    beginning=lambda partitions: dict.fromkeys(partitions, 10),
    end=lambda partitions: dict.fromkeys(partitions, 100),
    at_time=lambda partitions, time_ms: {tp: 50 if tp == P0 else None for tp in partitions},
)


@pytest.mark.parametrize(
    ("items", "bounds"),
    [
        ([], Bounds()),
        (["beginning"], Bounds(Start("beginning"))),
        (["5:10"], Bounds(Start("offset", 5), stop_offset=10)),
        ([":10"], Bounds(stop_offset=10)),
        (["end", ":10"], Bounds(Start("end"), stop_offset=10)),
        (["earliest"], Bounds(Start("beginning"))),
        (["end"], Bounds(Start("end"))),
        (["stored"], Bounds(Start("stored"))),
        (["7"], Bounds(Start("offset", 7))),
        (["-7"], Bounds(Start("tail", 7))),
        (["@500"], Bounds(Start("time", 500))),
        (["s@500", "e@600"], Bounds(Start("time", 500), 600)),
        (["e@1970-01-01T00:00:01Z"], Bounds(None, 1_000)),
    ],
)
def test_starts_and_ends_are_written_as_kcat_writes_them(items: list[str], bounds: Bounds) -> None:
    assert parse_bounds(items, None, NOW_MS) == bounds


def test_since_counts_back_from_now() -> None:
    assert parse_bounds([], "10s", NOW_MS) == Bounds(Start("time", NOW_MS - 10_000))


@pytest.mark.parametrize("items", [["somewhere"], ["1", "2"], ["@yesterday"], ["--5"]])
def test_what_cannot_be_understood_is_refused(items: list[str]) -> None:
    with pytest.raises(click.BadParameter):
        parse_bounds(items, None, NOW_MS)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("500ms", 500), ("2s", 2_000), ("10m", 600_000), ("1h", 3_600_000), ("2d", 172_800_000),
     ("PT10M", 600_000), ("P1DT1H", 90_000_000), ("PT0.5S", 500)],
)  # fmt: skip
def test_durations_are_short_or_iso(text: str, expected: int) -> None:
    assert duration_ms(text) == expected


@pytest.mark.parametrize("text", ["", "10", "ten", "P", "PT", "-5s"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(click.BadParameter, match="is not a duration"):
        duration_ms(text)


def test_a_time_without_a_zone_is_utc_as_in_kafkas_tools() -> None:
    assert timestamp_ms("1970-01-01T00:00:02") == timestamp_ms("1970-01-01T01:00:02+01:00") == 2_000


@pytest.mark.parametrize(
    ("start", "offsets"),
    [
        (Start("beginning"), {P0: 10, P1: 10}),
        (Start("end"), {P0: 100, P1: 100}),
        (Start("offset", 7), {P0: 7, P1: 7}),
        (Start("tail", 5), {P0: 95, P1: 95}),
        (Start("tail", 500), {P0: 10, P1: 10}),
        (Start("time", 3), {P0: 50, P1: 100}),
        (Start("stored"), {}),
    ],
)
def test_a_start_becomes_an_offset_of_each_partition(start: Start, offsets: dict) -> None:
    """The tail ends at the beginning; a time behind the last record is the end."""
    assert start_offsets(start, [P0, P1], CLUSTER) == offsets
