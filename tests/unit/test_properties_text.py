from __future__ import annotations

import pytest

from millstream.errors import ConfigError
from millstream.properties_text import parse_properties, properties_text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a=1\nb = 2\nc:3\nd 4", {"a": "1", "b": "2", "c": "3", "d": "4"}),
        ("# no\n! no\n\n  a=1  ", {"a": "1  "}),
        ("a=one,\\\n   two", {"a": "one,two"}),
        ("a\\=b=c", {"a=b": "c"}),
        ("path=C\\:\\\\logs", {"path": "C:\\logs"}),
        ("u=\\u00e9\\t.", {"u": "é\t."}),
        ("a=1\na=2", {"a": "2"}),
        ("empty=\nalone", {"empty": "", "alone": ""}),
        ("url=http://x:1/?a=b", {"url": "http://x:1/?a=b"}),
        ("pair=\\ud83d\\ude00", {"pair": "\N{GRINNING FACE}"}),
        ("a=1\r\nb=\x85\u2028\rc=\x1c3", {"a": "1", "b": "\x85\u2028", "c": "\x1c3"}),
        ("last=open\\", {"last": "open"}),
    ],
)
def test_java_properties_are_read_as_java_reads_them(text: str, expected: dict[str, str]) -> None:
    assert parse_properties(text) == expected


def test_it_is_written_as_java_writes_it() -> None:
    """In ASCII, which Java's `Properties.load` takes for what it is; a value loses no blank at its beginning."""
    text = properties_text({"a b=": " é =:\n", "path": "C:\\"}, "Mine.")
    assert text == "# Mine.\na\\ b\\==\\ \\u00e9 =:\\n\npath=C:\\\\\n"


def test_a_broken_unicode_escape_is_named() -> None:
    with pytest.raises(ConfigError, match="hexadecimal"):
        parse_properties("a=\\u12")
