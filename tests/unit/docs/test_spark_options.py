"""The guide's tables of options are those of the code, and each option stands in exactly one of them."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest

from millstream.spark import RunnerOptions
from millstream.spark.sink.options import KNOWN as OF_SINK
from millstream.spark.source.options import KNOWN as OF_SOURCE

GUIDE = Path(__file__).parents[3] / "docs" / "guide"
PAGES = [GUIDE / "spark.md", *sorted((GUIDE / "spark").glob("*.md"))]


def tables(header: str) -> dict[str, list[str]]:
    """The names in the first column of all tables with this header, by the name of their page; twice what stands twice."""
    found: dict[str, list[str]] = {}
    for page in PAGES:
        for table in page.read_text().split(f"\n{header}\n")[1:]:
            rows = [row for row in table.split("\n\n")[0].splitlines() if row.startswith("| `")]
            names = [name for row in rows for name in re.findall(r"`([^`]+)`", row.split("|")[1])]
            found.setdefault(page.name, []).extend(names)
    return found


@pytest.mark.parametrize(
    ("page", "known", "aliases"),
    [("source.md", OF_SOURCE, ("maxOffsetsPerTrigger",)), ("sink.md", OF_SINK, ())],
)
def test_every_option_stands_once_in_the_table_of_its_page(
    page: str, known: tuple[str, ...], aliases: tuple[str, ...]
) -> None:
    names = tables("| option | default | meaning |")[page]
    assert sorted(name for name in names if not name.startswith("kafka.")) == sorted(
        {*known, *aliases}
    )


def test_no_other_page_has_a_table_of_options() -> None:
    assert set(tables("| option | default | meaning |")) == {"source.md", "sink.md"}


def test_every_option_of_the_runner_stands_once() -> None:
    names = tables("| option of `RunnerOptions` | default | meaning |")
    assert set(names) == {"topologies.md"}
    assert sorted(names["topologies.md"]) == sorted(each.name for each in fields(RunnerOptions))


def test_the_entrance_leads_to_every_page() -> None:
    linked = set(re.findall(r"\]\(spark/([\w-]+\.md)", (GUIDE / "spark.md").read_text()))
    assert linked == {page.name for page in PAGES[1:]}
