"""The pages of docs/seed-coverage name tests that exist, each item once and with an answer."""

from __future__ import annotations

import gzip
import inspect
import json
import re
from collections import Counter
from pathlib import Path

from millstream.streams import dsl
from millstream.streams.dsl.branched import BranchedKStream

ROOT = Path(__file__).parents[2]
PAGES = {path.stem: path.read_text() for path in sorted((ROOT / "docs/seed-coverage").glob("*.md"))}
TEXT = "\n".join(PAGES.values())
ROWS = [
    [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
    for line in TEXT.splitlines()
    if re.match(r"\| [A-Z]\d+(\.\d+)? \|", line)
]
REASON = re.compile(r"not built: .{15}|as [A-Z]\d+\.\d+|.{20}")
REMAINDER = re.compile(
    r"next round|(with|by) (a later version|several nodes|replication)|is not built|with quotas$"
)
NAMED = re.compile(r"((?:tests|benchmarks)/[\w/.-]+\.py)(?:::(\w+))?")


def test_every_row_has_an_item_what_it_is_and_an_answer() -> None:
    assert len(ROWS) > 250
    assert [row for row in ROWS if len(row) != 3 or not all(row)] == []


def test_every_item_is_answered_once() -> None:
    assert [item for item, count in Counter(row[0] for row in ROWS).items() if count > 1] == []


def test_a_row_stands_on_the_page_of_its_group() -> None:
    """The page of a group is named after it, and the index has them all."""
    groups = [name for name in PAGES if re.fullmatch(r"[FKST]\d+", name)]
    assert len(groups) > 15
    stray = [
        item
        for name in groups
        for item in re.findall(r"^\| ([A-Z]\d+)\.\d+ \|", PAGES[name], re.MULTILINE)
        if item != name
    ]
    assert stray == []
    assert set(re.findall(r"\]\(([\w-]+)\.md\)", PAGES["README"])) == set(PAGES) - {"README"}


def test_an_answer_is_a_test_or_a_reason() -> None:
    """Or another item's answer."""
    unanswered = [row[0] for row in ROWS if not NAMED.search(row[2]) and not REASON.match(row[2])]
    assert unanswered == []


def test_an_answer_that_leaves_something_for_later_counts_as_partly_shown() -> None:
    """Whoever counts what is shown must not find the remainder in half a sentence at the end."""
    wrong = [
        row[0]
        for row in ROWS
        if REMAINDER.search(row[2]) and not row[2].startswith(("partly: ", "not built: "))
    ]
    assert wrong == []
    parts = [row for row in ROWS if re.search(r"\bpartly\b", row[2])]
    assert [row[0] for row in parts if not row[2].startswith("partly: ")] == []
    assert len([row for row in ROWS if row[2].startswith("partly: ")]) > 10


def test_every_operator_of_the_dsl_has_topologies_that_use_it_or_a_test() -> None:
    """Recorded topologies are named as in specs.json.gz, and their operations nearly as our methods."""
    page = PAGES["streams-operators"]
    rows = re.findall(r"^\| `(\w+)\.(\w+)`([^|]*) \| (.*) \| ?(.*) \|$", page, re.MULTILINE)
    kinds = {name: getattr(dsl, name) for name in dsl.__all__} | {
        "BranchedKStream": BranchedKStream
    }
    methods = {
        (name, method)
        for name, kind in kinds.items()
        for method, found in vars(kind).items()
        if inspect.isfunction(found) and not method.startswith("_")
    }
    assert {(kind, method) for kind, method, *_ in rows} == methods
    with gzip.open(ROOT / "tests/oracle/streams/specs.json.gz") as file:
        operations = {spec["name"]: {op["op"] for op in spec["ops"]} for spec in json.load(file)}
    wrong = []
    for kind, method, what, topologies, besides in rows:
        named = re.findall(r"`(\w+)`", topologies)
        inside = "split" if "branch" in method else method
        operation = f"fk_{inside}" if "foreign key" in what else inside
        if not all(operation in operations.get(name, ()) for name in named):
            wrong.append(f"{kind}.{method}: {named}")
        if not named and not NAMED.search(besides):
            wrong.append(f"{kind}.{method}: nothing shows it")
    assert wrong == []


def test_the_tests_that_are_named_exist() -> None:
    sources: dict[str, str | None] = {}
    missing = []
    for path, name in NAMED.findall(TEXT):
        if path not in sources:
            file = ROOT / path
            sources[path] = file.read_text() if file.exists() else None
        source = sources[path]
        if source is None or (name and not re.search(rf"\b(def|class) {name}\b", source)):
            missing.append(f"{path}::{name}" if name else path)
    assert missing == []


def test_each_rule_of_streams_is_held_by_a_test_or_has_a_reason() -> None:
    rows = re.findall(r"^\| (.+) \| (.+) \|$", PAGES["streams-rules"], re.MULTILINE)
    rules = [(rule, answer) for rule, answer in rows if (rule, answer) != ("rule", "held by")]
    assert len(rules) == 47
    unanswered = [
        rule
        for rule, answer in rules
        if not NAMED.search(answer) and not answer.startswith("not built: ")
    ]
    assert unanswered == []
