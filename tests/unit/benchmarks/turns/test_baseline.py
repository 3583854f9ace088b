"""Speed in turns: the file that names the base commit."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.turns.baseline import BASELINE, Baseline, parse_baseline

GOOD = {"commit": "0123456789abcdef" * 2 + "01234567", "raised": "2026-11-29", "because": "counts"}


def test_a_baseline_names_commit_date_and_reason() -> None:
    assert parse_baseline(json.dumps(GOOD)) == Baseline(
        "0123456789abcdef0123456789abcdef01234567", "2026-11-29", "counts"
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"commit": "0123abcd"}, "named by its 40 digits, not '0123abcd'"),
        ({"commit": "main"}, "named by its 40 digits, not 'main'"),
        ({"raised": "29 November"}, "raised is a date such as 2026-11-29"),
        ({"because": ""}, "because says what was won"),
        ({"note": "more"}, "has the fields because, commit, raised, and no others"),
    ],
)
def test_what_else_stands_there_is_an_error_that_says_what_belongs_there(
    change: dict[str, str], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        parse_baseline(json.dumps(GOOD | change))


def test_the_committed_file_is_a_baseline() -> None:
    text = (Path(__file__).parents[4] / BASELINE).read_text()
    assert len(parse_baseline(text).commit) == 40
