"""Rounds: a pair of fresh processes, base and new, measures each row of a group in turns, A B B A.

Which side is first changes with each pair of slices, and which is started first with each round, so that neither is favoured.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

from benchmarks.turns.ratios import Figures, Round, Slice, Verdict
from benchmarks.turns.rows import Row
from benchmarks.turns.side import Side, SideFailed


class Checkouts(NamedTuple):
    """Folders: the benchmark code that both sides run, and the two products."""

    code: Path
    base: Path
    new: Path


def to_measure(results: Mapping[Row, Figures], number: int, rounds: int) -> list[Row]:
    """The rows of round `number`: all in the first `rounds`, then those that are not decided; none that has failed."""
    return [
        row
        for row, figures in results.items()
        if figures.verdict is Verdict.UNDECIDED
        or (number <= rounds and figures.verdict is not Verdict.FAILED)
    ]


def measure_group(
    checkouts: Checkouts, rows: Sequence[Row], number: int
) -> Iterator[tuple[Row, Round | SideFailed]]:
    """Round `number` of rows of one group: of each row the round, or why there is none."""
    waiting = list(rows)
    products = {"base": checkouts.base, "new": checkouts.new}
    while waiting:
        with ExitStack() as running:
            sides = {
                name: running.enter_context(
                    Side(name, checkouts.code, products[name], waiting[0].group, number)
                )
                for name in in_order(number)
            }
            while waiting:
                row = waiting.pop(0)
                try:
                    yield row, measure_row(sides, row, number)
                except SideFailed as failure:
                    yield row, failure
                    break  # to the rows that wait, in new processes: one of these has ended


def in_order(number: int) -> tuple[str, str]:
    return ("base", "new") if number % 2 else ("new", "base")


def measure_row(sides: Mapping[str, Side], row: Row, number: int) -> Round:
    """Raises SideFailed."""
    for name in in_order(number):
        sides[name].order(prepare=row.name)
    for name in in_order(number):
        sides[name].answer()
    slices: dict[str, list[Slice]] = {"base": [], "new": []}
    for pair in range(row.slices):
        for name in in_order(number + pair):
            slices[name].append(sides[name].measure(row.name))
    return Round(tuple(slices["base"]), tuple(slices["new"]))
