"""What docs/debugging.md tells people to look at is there: verbs with their options, metrics, loggers and the sentences of logs and errors."""

from __future__ import annotations

import re
import shlex
from itertools import product

import click
import pytest

from millstream.cli.main import main
from tests.tidy.test_source_rules import ROOT, SOURCE, product_files

PAGE = (ROOT / "docs" / "debugging.md").read_text()
METRICS = (ROOT / "docs" / "guide" / "operations.md").read_text()
"""Compared with what a node exports by tests/integration/broker/test_http.py."""
COMMANDS = sorted(
    {
        *re.findall(r"`(millstream (?!ready)[^`\n|]+)`", PAGE),
        *re.findall(r"^\$ (millstream [^|\n]+)", PAGE, re.MULTILINE),
    }
)
NO_SENTENCE = re.compile(
    r"-|millstream |rate\(|curl |kafka-|py-spy |make |TIME |application\.|speed |no leader|(silent|against):"
)
"""How other quotations with a blank begin: commands, options, and columns of a command's output."""
SENTENCES = sorted(
    quoted
    for quoted in set(re.findall(r"`([^`\n]+)`", re.sub(r"(?s)```.*?```", "", PAGE)))
    if " " in quoted and not NO_SENTENCE.match(quoted)
)


def expanded(text: str) -> set[str]:
    """Names of metrics, in which `{a,b}` stands for either."""
    names: set[str] = set()
    for written in re.findall(r"`((?:kafka|millstream|process|python)_[\w{},*]*)", text):
        pieces = re.split(r"\{([\w,]*)\}", written)
        ways = [piece.split(",") if place % 2 else [piece] for place, piece in enumerate(pieces)]
        names |= {"".join(way).partition("{")[0] for way in product(*ways)}
    return names


def test_there_are_commands_to_check() -> None:
    assert len(COMMANDS) > 15


@pytest.mark.parametrize("line", COMMANDS)
def test_commands_have_the_verbs_and_options_that_are_named(line: str) -> None:
    command: click.Command = main
    context = click.Context(main)
    words = shlex.split(line)[1:]
    while isinstance(command, click.Group) and words and not words[0].startswith("-"):
        found = command.get_command(context, words[0])
        assert found is not None, f"{command.name} has no {words[0]}"
        command, words = found, words[1:]
    known = {name for each in command.params for name in (*each.opts, *each.secondary_opts)}
    known |= {name for each in main.params for name in each.opts}  # and those that every verb takes
    assert {word for word in words if re.match(r"--?[a-zA-Z]", word)} <= known


def test_sentences_are_those_of_the_product() -> None:
    """Of each some words in a row, between what differs from case to case."""
    product_text = "\n".join(path.read_text() for path in product_files())
    product_text = re.sub(r'"\s+f?"', "", product_text)  # literals over several lines
    assert len(SENTENCES) > 20
    assert not [
        sentence
        for sentence in SENTENCES
        if not any(
            len(words) >= 10 and words in product_text
            for words in (
                each.strip() for each in re.split(r"…|'\w+'|\S*\d\S*|[:;()\[\]]", sentence)
            )
        )
    ]


def test_metrics_are_those_of_the_guide() -> None:
    documented = expanded(METRICS)
    endings = ("", "_bucket", "_sum", "_count")
    told = {name for name in expanded(PAGE) if not name.endswith("_")}
    assert told
    assert not {
        name
        for name in told
        if not any(name.removesuffix(ending) in documented for ending in endings)
        and not any(each.endswith("*") and name.startswith(each[:-1]) for each in documented)
    }


def test_loggers_are_modules_or_packages() -> None:
    loggers = {
        *re.findall(r"logger `millstream\.([\w.]+)`", PAGE),
        *re.findall(r"\[node \d+\] millstream\.([\w.]+):", PAGE),
        *re.findall(r"millstream\.([\w.]+)=DEBUG", PAGE),
    }
    assert loggers
    assert not {
        name
        for name in loggers
        for path in [SOURCE.joinpath(*name.split("."))]
        if not path.is_dir() and not path.with_suffix(".py").exists()
    }
