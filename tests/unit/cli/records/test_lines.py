from __future__ import annotations

from io import BytesIO

import click
import pytest

from millstream.cli.records.lines import Line, line_format, parse_envelope, split
from millstream.cli.records.sending import LinePlace, placed
from millstream.clients.core.serialization import SerializationError


@pytest.mark.parametrize(
    ("data", "delimiter", "pieces"),
    [
        (b"a\nb\n", b"\n", [b"a", b"b"]),
        (b"a\r\nb", b"\n", [b"a", b"b"]),
        (b"\n\n", b"\n", [b"", b""]),
        (b"a;;b;", b";", [b"a", b"", b"b"]),
        (b"aXYbX", b"XY", [b"a", b"bX"]),
        (b"", b";", []),
    ],
)
def test_records_are_what_stands_between_delimiters(data: bytes, delimiter: bytes, pieces: list[bytes]) -> None:  # fmt: skip
    assert list(split(BytesIO(data), delimiter)) == pieces


def test_a_line_is_a_value() -> None:
    assert line_format({}, None, None).parse(b"a:b") == Line(b"a:b")


def test_the_key_stands_before_the_first_separator() -> None:
    parse = line_format({}, b":", None).parse
    assert parse(b"a:b:c") == Line(b"b:c", b"a")


def test_kafka_wants_a_key_where_it_is_told_to_parse_one() -> None:
    parse = line_format({"parse.key": "true"}, None, None).parse
    assert parse(b"a\tb") == Line(b"b", b"a")


@pytest.mark.parametrize("ours", [b":", None])
def test_a_line_without_its_separator_is_an_error_unless_it_shall_be_forgiven(
    ours: bytes | None,
) -> None:
    """It would become a record without a key, in silence."""
    kafkas = {"parse.key": "true", "key.separator": ":"}
    with pytest.raises(SerializationError, match="no key separator in 'plain'"):
        line_format(kafkas, ours, None).parse(b"plain")
    forgiving = line_format(kafkas | {"ignore.error": "true"}, ours, None)
    assert forgiving.parse(b"plain") == Line(b"plain")
    with_headers = line_format({"parse.headers": "true", "ignore.error": "true"}, None, None)
    assert with_headers.parse(b"plain") == Line(b"plain")


@pytest.mark.parametrize(
    ("properties", "told"),
    [
        ({"parse.keys": "true"}, "there is no property parse.keys; did you mean parse.key?"),
        ({"parse.key": "yes"}, "parse.key must be true or false, not 'yes'"),
    ],
)
def test_properties_of_the_reader_are_checked(properties: dict[str, str], told: str) -> None:
    with pytest.raises(click.BadParameter) as failed:
        line_format(properties, None, None)
    assert failed.value.message == told


def test_an_error_names_the_line_and_the_file() -> None:
    parse = line_format({}, b":", None).parse
    read = placed("orders.txt", BytesIO(b"a:1\nplain\n"), b"\n", parse)
    assert next(read) == (LinePlace("orders.txt", 1), Line(b"1", b"a"))
    with pytest.raises(SerializationError, match=r"^line 2 of orders\.txt: no key separator in"):
        next(read)
    with pytest.raises(SerializationError, match=r"^record 1: no key separator"):
        next(placed("-", BytesIO(b"plain;"), b";", parse))


def test_nulls_have_a_marker() -> None:
    parse = line_format({}, b":", "NULL").parse
    assert parse(b"a:NULL") == Line(None, b"a")
    assert parse(b"NULL:b") == Line(b"b", None)
    assert line_format({"null.marker": "-"}, None, None).parse(b"-") == Line(None)


def test_headers_stand_first_as_in_kafkas_console_producer() -> None:
    parse = line_format({"parse.headers": "true", "parse.key": "true"}, None, None).parse
    assert parse(b"a:1,b:2\tkey\tvalue") == Line(b"value", b"key", [("a", b"1"), ("b", b"2")])
    with pytest.raises(SerializationError, match="no header's separator in 'a'"):
        parse(b"a\tkey\tvalue")
    with pytest.raises(SerializationError, match="no headers' delimiter"):
        parse(b"value")


def test_an_envelope_needs_a_value_and_may_have_the_rest() -> None:
    assert parse_envelope(b'{"value": "x"}', keeps_partition=False) == Line(b"x")
    assert parse_envelope(
        b'{"value":null,"key":{"id":1},"headers":{"a":"1"},"timestamp":5,"partition":3}',
        keeps_partition=False,
    ) == Line(None, b'{"id":1}', [("a", b"1")], 5)


@pytest.mark.parametrize(
    "line",
    [
        b"plain",
        b"[1]",
        b'{"key": "x"}',
        b'{"value": "x", "kee": "y"}',
        b'{"value":1,"headers":5}',
        b'{"value":1,"headers":[[1]]}',
        b'{"value":1,"timestamp":"x"}',
        b'{"value":1,"timestamp":-5}',
        b'{"value":1,"timestamp":9223372036854775808}',
        b'{"value":1,"partition":1.5}',
        b'{"value":{"base64":"%%"}}',
        b'{"value":{"base64":5}}',
    ],
)
def test_what_is_no_envelope_is_refused(line: bytes) -> None:
    with pytest.raises(SerializationError):
        parse_envelope(line, keeps_partition=True)


def test_a_headers_name_must_be_text() -> None:
    parse = line_format({"parse.headers": "true"}, None, None).parse
    with pytest.raises(SerializationError, match="a header's name must be UTF-8"):
        parse(b"\xff:1\tvalue")
