"""Writes what is found in files as it is found: lines for people, JSON for programs; and, at the
end, what was wrong with them.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Final

import click

from millstream.cli.command import FAILED
from millstream.cli.rows import Row
from millstream.cli.terminal import printable

output_choice = click.option(
    "--output",
    type=click.Choice(["text", "json", "jsonl"]),
    default="text",
    show_default=True,
    help="Lines as of Kafka's dump-log tool, or JSON for programs: one array, or one object on each line.",
)
_SEPARATOR: Final = ",\n"


class Report:
    """One object an entry for JSON, a line or more for people. `file` stands in each object."""

    def __init__(self, output: str) -> None:
        self.output = output
        self._file = ""
        self._is_first = True
        self._damaged_count = 0

    def begin(self, file: str, *heads: str) -> None:
        """Names the file that is read from now on."""
        self._file = file
        if self.output == "text":
            click.echo(f"Dumping {printable(file)}")
            for head in heads:
                click.echo(head)

    def say(self, sentence: str) -> None:
        """Prints a line that only people get."""
        if self.output == "text":
            click.echo(sentence)

    def add(self, row: Callable[[], Row], lines: Callable[[], Iterable[str]]) -> None:
        if self.output == "text":
            for line in lines():
                click.echo(line)
            return
        text = json.dumps({"file": self._file, **row()}, ensure_ascii=False)
        if self.output == "json":
            click.echo("[" if self._is_first else _SEPARATOR, nl=False)
            self._is_first = False
        click.echo(text, nl=self.output == "jsonl")

    def add_line(self, row: Callable[[], Row], line: Callable[[], str]) -> None:
        self.add(row, lambda: (line(),))

    def damage(self, reason: str, position: int | None = None, *, name: str = "damaged") -> None:
        """Says on standard error what is wrong with the file that is read."""
        self._damaged_count += 1
        place = "" if position is None else f"position {position}: "
        if self.output == "text":
            click.echo(f"error: {printable(f'{self._file}: {place}{reason}')}", err=True)
        else:
            row: dict[str, object] = {
                "error": name,
                "file": self._file,
                "position": position,
                "message": reason,
            }
            click.echo(json.dumps(row), err=True)

    @contextmanager
    def going_on(self) -> Iterator[None]:
        """Tells a file that cannot be read to its end as a damaged one: those behind it are dumped all the same."""
        try:
            yield
        except BrokenPipeError:
            raise  # nobody reads what is written
        except OSError as error:
            self.damage(f"cannot be read: {error.strerror or error}", name="unreadable")

    def end(self) -> None:
        """Closes the array of JSON, and exits with 1 where a file was damaged."""
        if self.output == "json":
            click.echo("[]" if self._is_first else "]")
        if self._damaged_count:
            sys.exit(FAILED)


@contextmanager
def reporting(output: str) -> Iterator[Report]:
    report = Report(output)
    yield report
    report.end()
