"""Shows the steps of the demo while it runs: one line each with progress and rate, on standard error.

Where standard error is no terminal, each step gets one line when it is done.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
)
from rich.table import Table

from millstream.cli.demo.verification import OriginDelay, TopologyResults


@dataclass(slots=True)
class DemoStep:
    """One step under way. `advance` counts; the rate is in `Display.timings` when it is done."""

    name: str
    total: int | None
    progress: Progress
    task: int
    done: int = 0

    def advance(self, count: int) -> None:
        self.done += count
        self.progress.update(self.task, advance=count)  # type: ignore[arg-type]  # rich's TaskID is an int


@dataclass(slots=True)
class StepTime:
    seconds: float
    count: int

    @property
    def per_second(self) -> int:
        return round(self.count / self.seconds) if self.count and self.seconds else 0


@dataclass(slots=True)
class Display:
    console: Console = field(default_factory=lambda: Console(stderr=True))
    timings: dict[str, StepTime] = field(default_factory=dict)

    @contextmanager
    def step(self, name: str, total: int | None = None) -> Iterator[DemoStep]:
        columns = [SpinnerColumn(finished_text="[green]✓"), TextColumn("{task.description:<44}")]
        if total:
            columns += [BarColumn(bar_width=24), MofNCompleteColumn()]
        columns.append(TimeElapsedColumn())
        start = time.perf_counter()
        with Progress(
            *columns, console=self.console, transient=True, disable=not sys.stderr.isatty()
        ) as progress:
            step = DemoStep(name, total, progress, progress.add_task(name, total=total))
            yield step
        timing = self.timings[name] = StepTime(time.perf_counter() - start, step.done)
        rate = f"  {timing.count:>9,} records  {timing.per_second:>9,}/s" if timing.count else ""
        self.console.print(
            f"[green]✓[/] {name:<40} {timing.seconds:6.1f} s{rate}", highlight=False, soft_wrap=True
        )

    def show(self, results: TopologyResults) -> None:
        """Shows the airlines by mean delay, and the worst days."""
        table = Table(
            title="Mean departure delay by airline, minutes",
            title_justify="left",
            box=None,
            padding=(0, 2),
        )
        table.add_column("airline")
        table.add_column("flights", justify="right")
        table.add_column("mean delay", justify="right")
        for airline in sorted(results.airlines.values(), key=lambda each: -each.mean):
            table.add_row(airline.airline, f"{airline.flights:,}", f"{airline.mean:.1f}")
        self.console.print()
        self.console.print(table)
        self.console.print()
        for (origin, day_start_ms), delay in sorted(results.windows.items(), key=_worst_first)[:3]:
            day = time.strftime("%-d %B %Y", time.gmtime(day_start_ms / 1000))
            self.console.print(
                f"  worst days: {origin}, {day}: {delay.flights} flights, {delay.mean:.0f} minutes late on average",
                highlight=False,
            )
        self.console.print()


def _worst_first(item: tuple[object, OriginDelay]) -> float:
    return -item[1].mean
