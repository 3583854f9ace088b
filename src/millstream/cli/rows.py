"""Prints rows as a table for people or as JSON for programs, and asks before something is destroyed."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

import click

from millstream.cli.command import exit_code, report_error
from millstream.cli.terminal import printable
from millstream.errors import KafkaError

Row = Mapping[str, object]
Key = TypeVar("Key")

output_option = click.option(
    "--output", type=click.Choice(["table", "json", "jsonl"]), default="table", show_default=True,
    help="A table for people, or JSON for programs: one array, or one object on each line.",
)  # fmt: skip
yes_option = click.option("--yes", "-y", is_flag=True, help="Do not ask for confirmation.")

dry_run_option = click.option("--dry-run", is_flag=True, help="Show what would be done, and change nothing.")  # fmt: skip


def print_rows(rows: Iterable[Row], output: str, columns: Sequence[str]) -> None:
    """A table has the `columns`, named in capitals; JSON has all that rows hold."""
    if output == "table":
        for line in table([{name: row[name] for name in columns} for row in rows], columns):
            click.echo(line)
        return
    import orjson

    listed = list(rows)
    if output == "json":
        click.echo(orjson.dumps(listed, option=orjson.OPT_INDENT_2))
        return
    for row in listed:
        click.echo(orjson.dumps(row))


def table(rows: Sequence[Row], columns: Sequence[str]) -> list[str]:
    """Returns the lines of a table as wide as what stands in it; numbers to the right. No rows, no head."""
    if not rows:
        return []
    cells = [[_cell(row[name]) for name in columns] for row in rows]
    heads = [name.replace("_", "-").upper() for name in columns]
    widths = [max(map(len, column)) for column in zip(heads, *cells, strict=True)]
    numeric = [all(row[name] is None or isinstance(row[name], int) for row in rows) for name in columns]  # fmt: skip

    def line(texts: Sequence[str]) -> str:
        return "  ".join(
            text.rjust(width) if right else text.ljust(width)
            for text, width, right in zip(texts, widths, numeric, strict=True)
        ).rstrip()

    return [line(heads), *map(line, cells)]


def _cell(value: object) -> str:
    text = ",".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)
    return "-" if value is None or not text else printable(text)


def finish(errors: Mapping[Key, KafkaError], output: str) -> None:
    """Prints the items that failed, and exits with the code of the first."""
    for error in errors.values():
        report_error(error, as_json=output != "table")
    if errors:
        sys.exit(exit_code(next(iter(errors.values()))))


def confirm(what: str, *, yes: bool) -> None:
    """Asks a person; a script is taken at its word."""
    if not yes and sys.stdin.isatty():
        click.confirm(f"{printable(what)}?", abort=True, err=True)


def note(sentence: str, output: str) -> None:
    """Prints a sentence beside a table, on standard error; programs get no sentences."""
    if output == "table":
        click.echo(printable(sentence), err=True)


def named(given: Sequence[str], more: Sequence[str], what: str) -> list[str]:
    """Returns the names that were given as arguments or, in Kafka's way, with an option."""
    names = list(dict.fromkeys((*given, *more)))
    if not names:
        raise click.UsageError(f"name at least one {what}")
    return names
