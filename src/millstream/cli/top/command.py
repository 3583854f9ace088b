"""`millstream top`: which topics are written to, which groups are behind and who of them is
slow, again every few seconds.
"""

from __future__ import annotations

import shutil
import sys
import time
from collections import deque
from collections.abc import Callable
from threading import Event
from typing import TYPE_CHECKING, Final

import click

from millstream.cli.arguments import PATTERN
from millstream.cli.cluster_options import ClusterOptions, cluster_options
from millstream.cli.command import ClientCommand
from millstream.cli.rows import print_table
from millstream.cli.terminal import printable
from millstream.errors import KafkaError
from millstream.quoting import counted

if TYPE_CHECKING:
    from millstream.cli.top.rates import Sample
    from millstream.cli.top.screen import Section

_INTERVAL_MIN_S: Final = 0.2
"""Each look asks all nodes; rates over less are noise."""
_WINDOW_MS: Final = 15_000
"""Consumers commit every five seconds (auto.commit.interval.ms): in less than some of these a group
seems to stand still, or to leap."""


@click.command(cls=ClientCommand)
@cluster_options
@click.option(
    "--interval", "interval_s", type=click.FloatRange(min=_INTERVAL_MIN_S), default=2.0, show_default=True, metavar="SECONDS",
    help="Time between two looks at the cluster.",
)  # fmt: skip
@click.option("--rounds", "-n", type=click.IntRange(min=1), help="Print so many tables below each other, and end. Default: a live screen at a terminal, else 1.")  # fmt: skip
@click.option("--topic", "-t", "topics", type=PATTERN, metavar="REGEX", help="Only topics whose whole name matches.")  # fmt: skip
@click.option("--group", "-G", "groups", type=PATTERN, metavar="REGEX", help="Only groups whose whole name matches.")  # fmt: skip
@click.option(
    "--output", type=click.Choice(["table", "jsonl"]), default="table", show_default=True,
    help="A screen for people, or one object on each line for programs.",
)  # fmt: skip
def top(
    *,
    cluster: ClusterOptions,
    interval_s: float,
    rounds: int | None,
    topics: str | None,
    groups: str | None,
    output: str,
) -> None:
    """Show what comes into topics, how far groups are behind, and who is slow. Ctrl-C or q ends it.

    Rates are those of the last 15 seconds. LAG-S is by how much a lag grows in a second, CATCHES-UP when it is gone if
    all goes on as it does, SLOWEST the partition that is most behind, and CLIENT-ID who reads that.
    """
    from millstream.cli.top.sampling import sample

    with cluster.admin() as admin:
        looks = Looks(lambda: sample(admin, time.monotonic_ns() // 1_000_000, topics, groups))
        if rounds is None and output == "table" and sys.stdout.isatty():
            _show_on_screen(looks, interval_s)
            return
        for _ in range(rounds or 1):
            Event().wait(interval_s)
            looks.look()
            _print(looks, output)


class Looks:
    """The looks at a cluster of the last seconds, and what went wrong with the newest."""

    def __init__(self, look: Callable[[], Sample]) -> None:
        self._look = look
        self._samples = deque([look()])
        self.error: KafkaError | None = None

    @property
    def now(self) -> Sample:
        return self._samples[-1]

    @property
    def before(self) -> Sample:
        return self._samples[0]

    def look(self) -> None:
        self._samples.append(self._look())
        while len(self._samples) > 2 and self._samples[1].time_ms <= self.now.time_ms - _WINDOW_MS:
            self._samples.popleft()

    def try_to_look(self) -> None:
        """A cluster that does not answer for a while is shown as it was."""
        try:
            self.look()
            self.error = None
        except KafkaError as error:
            self.error = error

    def sections(self) -> list[Section]:
        from millstream.cli.top import rates
        from millstream.cli.top.screen import Section

        return [
            Section("groups", rates.group_rows(self.before, self.now), rates.GROUP_COLUMNS),
            Section("topics", rates.topic_rows(self.before, self.now), rates.TOPIC_COLUMNS),
            Section("brokers", rates.broker_rows(self.before, self.now), rates.BROKER_COLUMNS),
        ]

    def head(self) -> str:
        if self.error is not None:
            return f"no answer, this is how it was: {_on_one_line(self.error)}"
        seconds = (self.now.time_ms - self.before.time_ms) / 1000
        written = sum(
            max(0, end - self.before.ends[key])
            for key, end in self.now.ends.items()
            if key in self.before.ends
        )
        told = f"{counted(written, 'record')} written in {seconds:.1f} s"
        if self.now.silent:
            name, error = next(iter(self.now.silent.items()))
            told += (
                f"; {len(self.now.silent)} did not answer: {printable(name)}: {_on_one_line(error)}"
            )
        return told


def _on_one_line(error: KafkaError) -> str:
    return printable(" ".join(str(error).split()))


def _show_on_screen(looks: Looks, interval_s: float) -> None:
    from millstream.cli.top.screen import draw, is_ended_by_key, other_screen, screen_lines

    with other_screen():
        draw(["looking ..."])
        while not is_ended_by_key(interval_s):
            looks.try_to_look()
            columns, lines = shutil.get_terminal_size()
            draw(screen_lines(looks.head(), looks.sections(), columns, lines))


def _print(looks: Looks, output: str) -> None:
    if output == "table":
        click.echo(looks.head())
        for section in looks.sections():
            click.echo(f"\n{section.title} ({len(section.rows)})")
            print_table(section.rows, section.columns)
        return
    import orjson

    told: dict[str, object] = {"time": time.time_ns() // 1_000_000} | {
        each.title: each.rows for each in looks.sections()
    }
    told["silent"] = {name: str(error) for name, error in looks.now.silent.items()}
    click.echo(orjson.dumps(told))
