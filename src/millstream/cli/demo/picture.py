"""Draws the demo's result: mean departure delay per day, one line for each of New York's airports."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from statistics import fmean
from typing import Final

from millstream.cli.demo.verification import OriginDay, OriginDelay

_AIRPORTS: Final = {
    "EWR": ("Newark", "#c2410c"),
    "JFK": ("Kennedy", "#1d4ed8"),
    "LGA": ("LaGuardia", "#15803d"),
}
_SMOOTHING_DAYS: Final = 7
"""Weekends fly less."""


def draw(windows: Mapping[OriginDay, OriginDelay], path: str) -> None:
    """Writes a PNG: thin lines are single days, thick ones the mean of the last seven."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import dates
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(11, 5), dpi=120)
    for origin, (airport, colour) in _AIRPORTS.items():
        days = sorted(key.day_start_ms for key in windows if key.origin == origin)
        if not days:
            continue
        means = [windows[OriginDay(origin, day)].mean for day in days]
        positions = dates.date2num([datetime.fromtimestamp(day / 1000, UTC) for day in days])
        axes.plot(positions, means, color=colour, linewidth=0.6, alpha=0.35)
        axes.plot(
            positions, _smoothed(means), color=colour, linewidth=2, label=f"{airport} ({origin})"
        )
    axes.set_title(
        "Mean departure delay from New York City, 2013", loc="left", fontsize=13, fontweight="bold"
    )
    axes.set_ylabel("minutes")
    axes.xaxis.set_major_locator(dates.MonthLocator())
    axes.xaxis.set_major_formatter(dates.DateFormatter("%b"))
    axes.axhline(0, color="#737373", linewidth=0.8)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, loc="upper right")
    figure.tight_layout()
    figure.savefig(path)
    plt.close(figure)


def _smoothed(values: list[float]) -> list[float]:
    return [fmean(values[max(0, i - _SMOOTHING_DAYS + 1) : i + 1]) for i in range(len(values))]
