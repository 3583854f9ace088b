from __future__ import annotations

import json

import pytest

from millstream.cli.rows import print_rows, table

ROWS = [
    {"topic": "flights", "lag": 5, "isr": [1, 2], "more": "x"},
    {"topic": "a", "lag": None, "isr": [], "more": "y"},
]


def test_a_table_is_as_wide_as_what_stands_in_it() -> None:
    assert table(ROWS, ("topic", "lag", "isr")) == [
        "TOPIC    LAG  ISR",
        "flights    5  1,2",
        "a          -  -",
    ]


def test_nothing_is_no_table() -> None:
    assert table([], ("topic",)) == []


def test_json_has_all_that_rows_hold(capsys: pytest.CaptureFixture[str]) -> None:
    print_rows(ROWS, "json", ("topic",))
    assert json.loads(capsys.readouterr().out) == ROWS
    print_rows(ROWS, "jsonl", ("topic",))
    assert [json.loads(line) for line in capsys.readouterr().out.splitlines()] == ROWS
