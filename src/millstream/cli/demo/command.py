"""`millstream demo`: an example from end to end, to be run first."""

from __future__ import annotations

import logging
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from millstream.cli.suggestions import SuggestingGroup
from millstream.errors import MillstreamError

if TYPE_CHECKING:
    from millstream.cli.demo.display import Display
    from millstream.cli.demo.pipeline import DemoOutcome


@click.group(cls=SuggestingGroup)
def demo() -> None:
    """Run an example from end to end."""


@demo.command()
@click.option(
    "--rows", type=click.IntRange(1), help="Use only the first ROWS flights. Default: all 336,776."
)
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print one JSON object on standard output; progress goes to standard error.",
)
@click.option(
    "--picture",
    type=click.Path(dir_okay=False, path_type=Path),
    default=Path("out/flights.png"),
    show_default=True,
    help="File for the picture.",
)
def flights(rows: int | None, *, as_json: bool, picture: Path) -> None:
    """Send every flight that left New York City in 2013 through a topology on Apache Spark, with a broker of its own.

    The exit code is 0 if every number equals the one computed directly from the files, and
    1 if one differs or a step fails.
    """
    _require_packages()
    logging.getLogger("py4j").setLevel(
        logging.CRITICAL
    )  # what it says when Ctrl-C ends the JVM first
    from millstream.cli.demo.display import Display
    from millstream.cli.demo.pipeline import run_demo

    display = Display()
    try:
        outcome = run_demo(rows, picture, display)
    except MillstreamError as error:
        click.echo(f"millstream demo: {error}", err=True)
        sys.exit(1)
    except KeyboardInterrupt:
        click.echo("millstream demo: stopped", err=True)
        sys.exit(130)
    if as_json:
        _print_json(outcome, display)
    else:
        display.show(outcome.results)
        _print_comparison(outcome, display)
    sys.exit(1 if outcome.comparison.differences else 0)


def _require_packages() -> None:
    from millstream.runtime.extras import missing_packages

    missing = missing_packages("demo")
    if missing:
        click.echo(
            f"millstream demo: {', '.join(missing)} not installed: pip install 'millstream[demo]', or run make demo",
            err=True,
        )
        sys.exit(2)


def _print_comparison(outcome: DemoOutcome, display: Display) -> None:
    from millstream.cli.demo.pipeline import RUNNING

    comparison = outcome.comparison
    for difference in comparison.differences[:20]:
        click.echo(f"difference: {difference}")
    word = "DIFFERENT" if comparison.differences else "verified"
    through = display.timings[RUNNING]
    produced = display.timings["produce the flights and their side tables"]
    click.echo(
        f"{word}: {comparison.windows:,} windows, {comparison.airlines} airlines, {outcome.flights:,} flights in, "
        f"{len(comparison.differences)} differences "
        f"(produced {produced.per_second:,} records/s, topology {through.per_second:,} flights/s)"
    )
    click.echo(f"picture: {outcome.picture}")


def _print_json(outcome: DemoOutcome, display: Display) -> None:
    import orjson

    from millstream.cli.demo.pipeline import RUNNING

    summary = {
        "flights": outcome.flights,
        "set_aside": outcome.results.set_aside,
        "windows": outcome.comparison.windows,
        "airlines": outcome.comparison.airlines,
        "differences": outcome.comparison.differences,
        "verified": not outcome.comparison.differences,
        "sub_topology_records": {str(k): v for k, v in outcome.sub_topology_records.items()},
        "seconds": {name: round(timing.seconds, 3) for name, timing in display.timings.items()},
        "flights_per_second": display.timings[RUNNING].per_second,
        "picture": outcome.picture,
    }
    click.echo(orjson.dumps(summary))
