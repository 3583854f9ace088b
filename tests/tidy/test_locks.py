"""docs/concurrency.md names every file that makes a lock: whoever adds one says there what it keeps apart."""

from __future__ import annotations

import re

from tests.tidy.test_source_rules import ROOT, SOURCE

LOCK = re.compile(r"\b(?:asyncio|threading)\.R?Lock\(")
PAGE = (ROOT / "docs/concurrency.md").read_text()


def test_every_file_with_a_lock_is_named_on_the_page() -> None:
    made = {path.relative_to(SOURCE).as_posix() for path in SOURCE.rglob("*.py") if LOCK.search(path.read_text())}  # fmt: skip
    assert len(made) > 20, "the pattern finds the locks"
    assert sorted(path for path in made if f"`{path}`" not in PAGE) == []


def test_locks_are_made_by_their_full_names() -> None:
    """So that the pattern above finds all of them."""
    other = re.compile(r"from (?:asyncio|threading) import[^\n]*\bR?Lock\b")
    assert [path for path in SOURCE.rglob("*.py") if other.search(path.read_text())] == []
