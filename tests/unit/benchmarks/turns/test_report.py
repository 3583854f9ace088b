"""Speed in turns: the table, the last lines and the exit of a comparison."""

from __future__ import annotations

import pytest

from benchmarks.turns.ratios import Figures, Round, Slice
from benchmarks.turns.report import duration, exit_status, row_line, summary
from benchmarks.turns.rounds import to_measure
from benchmarks.turns.rows import Row, selected

START = Row("broker", "start", "start")
COUNT = Row("kernel", "count", "record")
MERGE = Row("kernel", "merge", "record")


def figures(*ratios: float, failure: str = "") -> Figures:
    """One slice a round; a unit takes 0.2 s in the base."""
    rounds = [Round((Slice(5, 1.0),), (Slice(5, ratio),)) for ratio in ratios]
    return Figures(rounds, failure)


WITHIN = figures(0.999, 1.0, 1.001)
WORSE = figures(1.079, 1.08, 1.081)
BETTER = figures(0.899, 0.9, 0.901)
UNDECIDED = figures(0.9, 1.0, 1.1)
FAILED = figures(1.0, failure="base: ImportError: no BatchOptions")


def test_a_line_has_costs_of_a_unit_ratio_interval_rounds_and_verdict() -> None:
    assert row_line(COUNT, WORSE) == (
        "kernel: count                                 200 ms   216 ms  record     1.080  1.074 to 1.086       3  WORSE"
    )


def test_one_round_has_no_interval() -> None:
    assert row_line(START, figures(1.0)) == (
        "broker: start                                 200 ms   200 ms  start      1.000  unknown              1  not decided"
    )


def test_a_row_that_failed_says_why() -> None:
    assert row_line(START, figures(failure="new: KeyError: 'start'")) == (
        "broker: start: FAILED\n    new: KeyError: 'start'"
    )
    assert row_line(COUNT, FAILED).endswith("  FAILED\n    base: ImportError: no BatchOptions")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(12.34, "12.3 s"), (0.3456, "346 ms"), (0.000_054_4, "54.4 µs"), (0.000_000_2194, "219 ns")],
)
def test_a_duration_is_in_the_unit_that_it_reads_best_in(seconds: float, text: str) -> None:
    assert duration(seconds) == text


@pytest.mark.parametrize(
    ("one", "other", "status"),
    [
        (WITHIN, WITHIN, 0),
        (WITHIN, BETTER, 0),
        (WITHIN, WORSE, 1),
        (UNDECIDED, WORSE, 1),
        (FAILED, WORSE, 1),
        (WITHIN, UNDECIDED, 2),
        (BETTER, FAILED, 2),
    ],
)
def test_only_rows_that_are_known_to_be_no_worse_exit_with_0(
    one: Figures, other: Figures, status: int
) -> None:
    assert exit_status({COUNT: one, START: other}) == status


def test_the_last_lines_name_the_rows_of_each_verdict() -> None:
    assert summary({START: WORSE, COUNT: UNDECIDED, MERGE: FAILED}).splitlines() == [
        "3 rows",
        "worse by more than 5 %, and no noise: broker: start",
        "not measured: kernel: merge",
        "not decided, the interval is too wide: kernel: count; measure them with ONLY= and more ROUNDS=, or on a quieter machine",
    ]


def test_the_base_is_to_be_raised_when_a_row_won_and_none_is_in_doubt() -> None:
    assert summary({START: WITHIN, COUNT: BETTER}).splitlines() == [
        "2 rows",
        "better by more than 5 %: kernel: count",
        "no row is worse by more than 5 %",
        "raise the base in benchmarks/baseline.json",
    ]
    assert "raise the base" not in summary({START: UNDECIDED, COUNT: BETTER})
    assert "raise the base" not in summary({START: WITHIN})


def test_decided_rows_are_measured_no_more_after_the_first_rounds() -> None:
    results = {START: WITHIN, COUNT: UNDECIDED, MERGE: FAILED}
    assert to_measure(results, number=3, rounds=3) == [START, COUNT]
    assert to_measure(results, number=4, rounds=3) == [COUNT]


def test_rows_are_selected_by_words_of_their_titles() -> None:
    assert [row.title for row in selected("DataFrame, broker: start")] == [
        "broker: start",
        "pipeline: DataFrame copied",
    ]
    assert len(selected("")) == len(selected(" , ")) > 20
    with pytest.raises(LookupError, match="no row has 'counts' in its title"):
        selected("kernel,counts")
