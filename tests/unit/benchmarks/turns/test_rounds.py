"""Speed in turns: the order in which the two sides of a round work."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarks.turns.ratios import Round, Slice
from benchmarks.turns.rounds import in_order, measure_row
from benchmarks.turns.rows import ROWS, Row

COUNT = Row("kernel", "count", "record", slices=4)


class ToldSide:
    """Writes down what it is told, with its first letter; its n-th slice costs n s for each of its units."""

    def __init__(self, name: str, units: int, told: list[str]) -> None:
        self.name = name
        self.units = units
        self.told = told
        self.slices = 0

    def order(self, *, prepare: str) -> None:
        self.told.append(f"{self.name[0]} prepares {prepare}")

    def answer(self) -> Mapping[str, Any]:
        return {}

    def measure(self, row: str) -> Slice:
        self.told.append(self.name[0])
        self.slices += 1
        return Slice(self.units, float(self.slices * self.units))


def told_in_round(number: int) -> tuple[list[str], Round]:
    told: list[str] = []
    sides = {"base": ToldSide("base", 1, told), "new": ToldSide("new", 2, told)}
    return told, measure_row(sides, COUNT, number)


def test_slices_are_measured_in_turns_and_neither_side_is_always_first() -> None:
    told, measured = told_in_round(1)
    assert told == ["b prepares count", "n prepares count", *"bnnbbnnb"]
    assert measured == Round(
        base=(Slice(1, 1.0), Slice(1, 2.0), Slice(1, 3.0), Slice(1, 4.0)),
        new=(Slice(2, 2.0), Slice(2, 4.0), Slice(2, 6.0), Slice(2, 8.0)),
    )


def test_the_next_round_begins_with_the_other_side() -> None:
    told, _ = told_in_round(2)
    assert told == ["n prepares count", "b prepares count", *"nbbnnbbn"]
    assert in_order(3) == ("base", "new")


def test_each_row_takes_an_even_number_of_slices_so_that_each_side_is_first_as_often() -> None:
    assert [row.title for row in ROWS if row.slices % 2] == []
