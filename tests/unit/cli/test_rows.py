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


def test_what_others_wrote_cannot_command_the_terminal() -> None:
    """A client's id is whatever the client says."""
    rows = [{"client_id": "a\x1b[2J\n\u202eb", "lag": 1}]
    assert table(rows, ("client_id", "lag")) == [
        "CLIENT-ID          LAG",
        "a\\x1b[2J\\n\\u202eb    1",
    ]


def test_nothing_is_no_table() -> None:
    assert table([], ("topic",)) == []


def test_json_has_all_that_rows_hold(capsys: pytest.CaptureFixture[str]) -> None:
    print_rows(ROWS, "json", ("topic",))
    assert json.loads(capsys.readouterr().out) == ROWS
    print_rows(ROWS, "jsonl", ("topic",))
    assert [json.loads(line) for line in capsys.readouterr().out.splitlines()] == ROWS
