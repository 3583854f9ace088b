from __future__ import annotations

import json
from io import StringIO

import pytest

from millstream.cli.rows import print_rows, table
from millstream.cli.terminal import bold

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


def test_a_wide_table_has_all_that_rows_hold(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{"topic": "a", "configs": {"retention.ms": "1", "x": None}}, {"topic": "b", "lag": 3}]
    print_rows(rows, "wide", ("topic",))
    assert capsys.readouterr().out.splitlines() == [
        "TOPIC  CONFIGS                LAG",
        "a      retention.ms=1,x=None    -",
        "b      -                        3",
    ]


@pytest.mark.parametrize(
    ("is_terminal", "environment", "expected"),
    [
        (True, {}, "\x1b[1mTOPIC\x1b[0m"),
        (True, {"NO_COLOR": ""}, "\x1b[1mTOPIC\x1b[0m"),
        (True, {"NO_COLOR": "1"}, "TOPIC"),
        (True, {"TERM": "dumb"}, "TOPIC"),
        (False, {}, "TOPIC"),
    ],
)
def test_colours_are_for_terminals_that_want_them(
    monkeypatch: pytest.MonkeyPatch,
    is_terminal: bool,
    environment: dict[str, str],
    expected: str,
) -> None:
    for name, value in ({"NO_COLOR": "", "TERM": "xterm"} | environment).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("sys.stdout", Terminal() if is_terminal else StringIO())
    assert bold("TOPIC") == expected


class Terminal(StringIO):
    def isatty(self) -> bool:
        return True
