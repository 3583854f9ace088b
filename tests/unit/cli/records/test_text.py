from __future__ import annotations

import click
import pytest

from millstream.cli.records.lines import parse_envelope
from millstream.cli.records.text import (
    Shown,
    console_format,
    formatted,
    json_line,
    plain,
    table,
    unescaped,
    with_headers,
)

RECORD = Shown("flights", 2, 41, 1_357_016_400_000, b"UA", b"late", (("a", b"1"), ("b", None)))
NULLS = Shown("flights", 0, 0, 0, None, None, ())


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("%t %p %o %k=%s\n", b"flights 2 41 UA=late\n"),
        ("%t [%p]\\n", b"flights [2]\n"),
        ("%K %S %T", b"2 4 1357016400000"),
        ("%h", b"a=1,b=NULL"),
        ("%R%s", b"\x00\x00\x00\x04late"),
        ("100%%\\t\\x41\\\\", b"100%\tA\\"),
    ],
)
def test_a_format_string_is_kcats(template: str, expected: bytes) -> None:
    assert formatted(template)(RECORD) == expected


def test_a_null_has_the_length_minus_one_and_stands_as_asked_for() -> None:
    assert formatted("%K %S %R|%s", "NULL")(NULLS) == b"-1 -1 \xff\xff\xff\xff|NULL"


def test_a_field_that_no_record_has_is_refused() -> None:
    with pytest.raises(click.BadParameter, match="%q is not a field"):
        formatted("%q")


def test_plain_records_are_values_and_perhaps_keys() -> None:
    assert plain(None, "\\n", "")(RECORD) == b"late\n"
    assert plain(":", ";", "")(RECORD) == b"UA:late;"
    assert plain("\\t", "\\n", "NIL")(NULLS) == b"NIL\tNIL\n"


def test_headers_stand_first_if_they_are_printed() -> None:
    assert with_headers(plain(":", "\\n", ""))(RECORD) == b"a=1,b=NULL\tUA:late\n"
    assert with_headers(plain(None, "\\n", ""))(NULLS) == b"\t\n"


def test_decoded_values_are_written_as_json() -> None:
    assert plain(None, "\\n", "")(RECORD._replace(value={"a": 1})) == b'{"a":1}\n'
    assert plain(None, "\\n", "")(RECORD._replace(value=7)) == b"7\n"


@pytest.mark.parametrize(
    ("properties", "expected"),
    [
        ({}, b"late\n"),
        ({"print.key": "true"}, b"UA\tlate\n"),
        ({"print.key": "true", "print.value": "false", "key.separator": "|"}, b"UA\n"),
        (
            {"print.timestamp": "true", "print.partition": "true", "print.offset": "true",
             "print.headers": "true", "print.key": "true", "key.separator": "|", "line.separator": ";"},
            b"CreateTime:1357016400000|Partition:2|Offset:41|a:1,b:null|UA|late;",
        ),
    ],
)  # fmt: skip
def test_formatter_properties_print_as_kafkas_console_consumer(properties: dict[str, str], expected: bytes) -> None:  # fmt: skip
    assert console_format(properties).write(RECORD) == expected


def test_a_record_without_headers_says_so_when_headers_are_printed() -> None:
    write = console_format({"print.headers": "true", "null.literal": "NIL"}).write
    assert write(NULLS) == b"NO_HEADERS\tNIL\n"


def test_a_json_line_has_everything_and_is_taken_back() -> None:
    line = json_line(RECORD._replace(value=b"\xff"))
    assert line == (
        b'{"topic":"flights","partition":2,"offset":41,"timestamp":1357016400000,"key":"UA",'
        b'"value":{"base64":"/w=="},"headers":[["a","1"],["b",null]]}\n'
    )
    taken = parse_envelope(line, keeps_partition=True)
    assert taken.value == b"\xff"
    assert (taken.key, taken.partition, taken.timestamp_ms) == (b"UA", 2, 1_357_016_400_000)
    assert taken.headers == [("a", b"1"), ("b", None)]


def test_a_row_of_the_table_stands_under_its_head() -> None:
    shown = table(["flights"], more_may_come=False)
    row = shown.row(RECORD)
    assert row.startswith(b"2          41          2013-01-01T05:00:00.000Z  UA")
    assert row.index(b"late") == shown.head().index(b"VALUE")


def test_records_of_several_topics_have_a_column_for_the_topic() -> None:
    several = table(["flights", "a"], more_may_come=False)
    assert several.head().startswith(b"TOPIC    PARTITION")
    assert several.row(RECORD).startswith(b"flights  2   ")
    assert table([], more_may_come=True).row(RECORD).startswith(b"flights  2   ")


def test_what_a_record_holds_cannot_command_the_terminal() -> None:
    """Escape sequences (also the one-byte CSI of C1), line ends and overrides of the direction are shown."""
    evil = RECORD._replace(key=b"\x1b]0;title\x07", value="a\nb\x9b2J\u202e\x7f".encode())
    row = table(["flights"], more_may_come=False).row(evil).decode()
    assert row.count("\n") == 1
    assert row.removesuffix("\n").isprintable()
    assert "\\x1b]0;title\\x07" in row
    assert "a\\nb\\x9b2J\\u202e\\x7f" in row


def test_a_time_beyond_the_calendar_is_its_number() -> None:
    row = table(["flights"], more_may_come=False).row(RECORD._replace(timestamp_ms=2**62))
    assert str(2**62).encode() in row


def test_bytes_that_are_no_text_stay_as_they_were_typed() -> None:
    assert unescaped("k\udcff") == b"k\xff"
    assert formatted("%s\udcff", "\udcfe")(NULLS) == b"\xfe\xff"


def test_escapes_in_separators_mean_bytes() -> None:
    assert unescaped("\\t\\x00%s") == b"\t\x00%s"
