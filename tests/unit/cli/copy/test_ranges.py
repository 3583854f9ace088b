from __future__ import annotations

import pytest

from millstream.cli.copy.ranges import Range, plan_ranges
from millstream.cli.records.offset_choice import Bounds, Lookups, Start
from millstream.model import TopicPartition

P0, P1 = TopicPartition("t", 0), TopicPartition("t", 1)
LOG = Lookups(
    beginning=lambda asked: dict.fromkeys(asked, 10),
    end=lambda asked: dict.fromkeys(asked, 100),
    at_time=lambda asked, time_ms: {each: 50 if each == P0 else None for each in asked},
)


def plan(
    bounds: Bounds, noted: dict[int, int] | None = None, *, follows: bool = False
) -> tuple[list[tuple[int, int | None]], list[str]]:
    told: list[str] = []
    found = plan_ranges([P0, P1], bounds, noted or {}, LOG, told.append, follows=follows)
    return [(found[each].start, found[each].stop) for each in (P0, P1)], told


@pytest.mark.parametrize(
    ("bounds", "ranges"),
    [
        (Bounds(), [(10, 100), (10, 100)]),
        (Bounds(Start("offset", 20), stop_offset=30), [(20, 30), (20, 30)]),
        (Bounds(stop_offset=200), [(10, 100), (10, 100)]),
        (Bounds(stop_ms=5), [(10, 50), (10, 100)]),
        (Bounds(Start("tail", 3)), [(97, 100), (97, 100)]),
        (Bounds(Start("end")), [(100, 100), (100, 100)]),
    ],
)
def test_ranges_that_lie_in_the_log(bounds: Bounds, ranges: list[tuple[int, int]]) -> None:
    assert plan(bounds) == (ranges, [])


def test_what_is_noted_beats_the_start() -> None:
    assert plan(Bounds(Start("offset", 20)), {1: 60}) == ([(20, 100), (60, 100)], [])


def test_a_copy_that_follows_has_no_end() -> None:
    assert plan(Bounds(), follows=True) == ([(10, None), (10, None)], [])


def test_what_is_gone_is_told_and_what_never_was_is_not() -> None:
    ranges, told = plan(Bounds(), {0: 4})
    assert ranges == [(10, 100), (10, 100)]
    assert told == ["t-0 begins at 10: what lay at 4 to 9 is gone, and is not copied"]


def test_a_start_beyond_the_end_is_told() -> None:
    ranges, told = plan(Bounds(Start("offset", 5)), {0: 101})
    assert ranges == [(100, 100), (10, 100)]
    assert told == [
        "t-0 ends at 100: there is no offset 101 yet, nor was it copied",
        "t-1 begins at 10: what lay at 5 to 9 is gone, and is not copied",
    ]


def test_a_range_counts_its_offsets() -> None:
    assert [Range(3, 8).count, Range(8, 3).count, Range(3, None).count] == [5, 0, 0]
