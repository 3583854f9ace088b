"""Prints rows as a table for people or as JSON for programs, and asks before something is destroyed."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

import click

from millstream.cli.command import exit_code, report_error
from millstream.cli.terminal import bold, printable
from millstream.errors import KafkaError

Row = Mapping[str, object]
Key = TypeVar("Key")

output_option = click.option(
    "--output", type=click.Choice(["table", "wide", "json", "jsonl"]), default="table", show_default=True,
    help="A table for people, wide with all columns that there are; or JSON for programs: one array, or one object on each line.",
)  # fmt: skip
yes_option = click.option("--yes", "-y", is_flag=True, help="Do not ask for confirmation.")

dry_run_option = click.option("--dry-run", is_flag=True, help="Show what would be done, and change nothing.")  # fmt: skip


def for_people(output: str) -> bool:
    """Tells whether a person reads the output: there may be sentences beside it."""
    return output in {"table", "wide"}


def print_rows(rows: Iterable[Row], output: str, columns: Sequence[str]) -> None:
    """A table has the `columns`, named in capitals, a wide one and JSON all that rows hold."""
    listed = list(rows)
    if for_people(output):
        named = columns if output == "table" else all_columns(listed, columns)
        print_table([{name: row.get(name) for name in named} for row in listed], named)
        return
    import orjson

    if output == "json":
        click.echo(orjson.dumps(listed, option=orjson.OPT_INDENT_2))
        return
    for row in listed:
        click.echo(orjson.dumps(row))


def print_table(rows: Sequence[Row], columns: Sequence[str], indent: str = "") -> None:
    """Prints a table, its head in bold at a terminal."""
    for number, line in enumerate(table(rows, columns)):
        click.echo(indent + (bold(line) if number == 0 else line))


def all_columns(rows: Iterable[Row], first: Sequence[str]) -> tuple[str, ...]:
    """Returns the names of all that rows hold, the `first` ones first."""
    return tuple(dict.fromkeys((*first, *(name for row in rows for name in row))))


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
    if isinstance(value, Mapping):
        value = [f"{key}={each}" for key, each in value.items()]
    text = ",".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)
    return "-" if value is None or not text else printable(text)


def finish(errors: Mapping[Key, KafkaError], output: str) -> None:
    """Prints the items that failed, and exits with the code of the first."""
    for error in errors.values():
        report_error(error, as_json=not for_people(output))
    if errors:
        sys.exit(exit_code(next(iter(errors.values()))))


def confirm(what: str, *, yes: bool) -> None:
    """Asks a person; a script is taken at its word."""
    if not yes and sys.stdin.isatty():
        click.confirm(f"{printable(what)}?", abort=True, err=True)


def note(sentence: str, output: str) -> None:
    """Prints a sentence beside a table, on standard error; programs get no sentences."""
    if for_people(output):
        click.echo(printable(sentence), err=True)


def named(given: Sequence[str], more: Sequence[str], what: str) -> list[str]:
    """Returns the names that were given as arguments or, in Kafka's way, with an option."""
    names = list(dict.fromkeys((*given, *more)))
    if not names:
        raise click.UsageError(f"name at least one {what}")
    return names
