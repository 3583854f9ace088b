"""The guide's tables of options are those of the code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from millstream.spark.sink.options import KNOWN as OF_SINK
from millstream.spark.source.options import KNOWN as OF_SOURCE

GUIDE = Path(__file__).parents[3] / "docs" / "guide" / "spark.md"


def options_of(section: str) -> set[str]:
    """The names in the first column of the section's table of options, in lower case."""
    text = GUIDE.read_text().split(f"\n## {section}\n")[1].split("\n## ")[0]
    table = text.split("| option | default | meaning |")[1].split("\n\n")[0]
    cells = [row.split("|")[1] for row in table.splitlines() if row.startswith("| `")]
    names = {name.lower() for cell in cells for name in re.findall(r"`([^`]+)`", cell)}
    return {name for name in names if not name.startswith("kafka.")}


@pytest.mark.parametrize(
    ("section", "known", "aliases"),
    [("The source", OF_SOURCE, {"maxoffsetspertrigger"}), ("The sink", OF_SINK, set())],
)
def test_every_option_stands_in_the_guide(
    section: str, known: tuple[str, ...], aliases: set[str]
) -> None:
    assert options_of(section) == set(known) | aliases
