"""Every command in docs/guide/cli.md is one that there is, with options that it has."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click
import pytest

from millstream.cli.main import VERBS, main

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs" / "guide" / "cli.md").read_text()
BLOCKS = re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)
COMMANDS = sorted(
    {line for block in BLOCKS for line in block.splitlines() if line.startswith("millstream ")}
    | set(re.findall(r"`(millstream [a-z][^`]*)`", PAGE))
)


def resolved(words: list[str]) -> tuple[click.Command, list[str]]:
    """The command that the words name, and what stands behind it."""
    command: click.Command = main
    context = click.Context(main)
    while words[0] == "-p":  # before the verb as behind it
        words = [*words[2:], "--profile", words[1]]
    while isinstance(command, click.Group) and words and not words[0].startswith("-"):
        below = command.get_command(context, words[0])
        if below is None:
            break
        command, words = below, words[1:]
    return command, words


@pytest.mark.parametrize("line", COMMANDS)
def test_the_command_exists_and_has_these_options(line: str) -> None:
    command, rest = resolved(shlex.split(line)[1:])
    assert command is not main, "there is no such verb"
    known = {name for option in command.params for name in (*option.opts, *option.secondary_opts)}
    used = {word.partition("=")[0] for word in rest if re.match(r"--?[a-zA-Z]", word)}
    assert used <= known
    if isinstance(command, click.Group):
        assert rest == [], f"there is no {rest[0]}"


@pytest.mark.parametrize("row", [line for line in PAGE.splitlines() if "| `millstream " in line])
def test_the_other_verbs_of_a_row_exist(row: str) -> None:
    """`millstream topics list`, `create`: the words behind the first are its neighbours, or its options."""
    cell = row[row.index("`millstream ") :].partition(" | ")[0]
    spans = re.findall(r"`([^`]*)`", cell)
    command: click.Command = main
    group: click.Command = main
    for span in spans:
        words = span.split()
        if span.startswith("-"):
            assert span in {name for option in command.params for name in option.opts}, row
        elif words[0] == "millstream":
            command, _ = resolved(words[1:])
            group, _ = resolved(words[1:-1]) if len(words) > 2 else (command, [])
        elif isinstance(group, click.Group):
            assert span in group.list_commands(click.Context(group)), f"{span} of {row}"


@pytest.mark.parametrize("row", re.findall(r"^\|.*\| `tests/.*\|$", PAGE, re.MULTILINE))
def test_what_a_row_is_shown_by_runs_its_verb(row: str) -> None:
    """The word behind `millstream` stands in the module, and the one behind that where it is a verb of a noun."""
    *_, command, shown = (cell.strip() for cell in row.strip("|").split("|"))
    module = ROOT / shown.strip("`")
    words = command.split("`")[1].split()[1:3]
    text = module.read_text()
    assert [word for word in words if word.islower() and word not in text] == []


def test_every_verb_is_on_the_page() -> None:
    """Those that come without a cluster's job have pages of their own."""
    elsewhere = {"certs", "console", "demo", "pipeline", "config"}
    assert {verb for verb in VERBS if f"millstream {verb}" not in PAGE} <= elsewhere
