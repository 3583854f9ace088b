"""What is to succeed has as long as it takes on a machine that is busy with other things (tests/patience.py)."""

from __future__ import annotations

import re

from tests.tidy.test_source_rules import ROOT, python_files, where

LIMITED = re.compile(
    r"asyncio\.timeout\((?P<a>\d[\d_.]*)\)"
    r"|\.(?:wait|flush|result|join|communicate)\((?:timeout=)?(?P<b>\d[\d_.]*)\)"
    r"|\btimeout=(?P<c>\d[\d_.]*)"
    r"|monotonic\(\) \+ (?P<d>\d[\d_.]*)"
    r"|await \w+\.poll(?:_arrow)?\(\)"
)
LONG_ENOUGH_S = 60
LIVING = ("compat", "integration", "interaction", "soak", "support", "unit")
"""Where tests wait for what others do."""


def test_a_short_time_limit_in_a_test_says_why() -> None:
    """Use LONG_ENOUGH_S, `until` or `wait_until`; a limit that is the test's subject has a comment on its line."""
    tests = ROOT / "tests"
    found = []
    for path in python_files():
        if not any(path.is_relative_to(tests / each) for each in LIVING):
            continue
        for number, line in enumerate(path.read_text().splitlines(), 1):
            match = LIMITED.search(line)
            if match is None or "  # " in line:
                continue
            limit = next((float(each) for each in match.groups() if each), 0.0)
            if limit < LONG_ENOUGH_S:
                found.append(f"{where(path, number)}: {line.strip()}")
    assert not found, "\n".join(found)
