"""The text that a comparison prints, and how it exits."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

from benchmarks.turns.ratios import Figures, Verdict
from benchmarks.turns.rows import Row

Results = Mapping[Row, Figures]

_COLUMNS: Final = "{:43} {:>8} {:>8}  {:9} {:>6}  {:15} {:>6}  {}"


def table(results: Results) -> str:
    heading = _COLUMNS.format("", "base", "new", "CPU per", "ratio", "99 % interval", "rounds", "")
    return "\n".join((heading, *(row_line(row, each) for row, each in results.items())))


def row_line(row: Row, figures: Figures) -> str:
    """One line; a row that failed says why on the next."""
    verdict, failure = figures.verdict, f"\n    {figures.failure}" if figures.failure else ""
    if not figures.rounds:
        return f"{row.title}: {verdict}{failure}"
    low, high = figures.interval
    line = _COLUMNS.format(
        row.title,
        duration(figures.base_cost_s),
        duration(figures.new_cost_s),
        row.unit,
        f"{figures.ratio:.3f}",
        f"{low:.3f} to {high:.3f}" if math.isfinite(high) else "unknown",
        len(figures.rounds),
        verdict,
    )
    return f"{line}{failure}"


def duration(seconds: float) -> str:
    """Three digits and more, in the unit they read best in."""
    for unit, name in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if seconds >= unit:
            return f"{seconds / unit:.3g} {name}"
    return f"{seconds * 1e9:.0f} ns"


def exit_status(results: Results) -> int:
    """1: a row is worse. 2: none is known to be, but not all are known not to be. 0: none is."""
    verdicts = {each.verdict for each in results.values()}
    if Verdict.WORSE in verdicts:
        return 1
    return 2 if verdicts & {Verdict.UNDECIDED, Verdict.FAILED} else 0


def summary(results: Results) -> str:
    """The last lines: each verdict that asks for something, with its rows."""
    titles = {
        verdict: ", ".join(r.title for r, figures in results.items() if figures.verdict is verdict)
        for verdict in Verdict
    }
    lines = [f"{len(results)} rows"]
    if titles[Verdict.WORSE]:
        lines.append(f"worse by more than 5 %, and no noise: {titles[Verdict.WORSE]}")
    if titles[Verdict.FAILED]:
        lines.append(f"not measured: {titles[Verdict.FAILED]}")
    if titles[Verdict.UNDECIDED]:
        lines.append(
            f"not decided, the interval is too wide: {titles[Verdict.UNDECIDED]}; "
            "measure them with ONLY= and more ROUNDS=, or on a quieter machine"
        )
    if titles[Verdict.BETTER]:
        lines.append(f"better by more than 5 %: {titles[Verdict.BETTER]}")
    if exit_status(results) == 0:
        lines.append("no row is worse by more than 5 %")
        if titles[Verdict.BETTER]:
            lines.append("raise the base in benchmarks/baseline.json")
    return "\n".join(lines)
