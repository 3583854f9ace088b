"""Reading primitives where Kafka's reader has an opinion of its own."""

from __future__ import annotations

import pytest

from millstream.protocol.reading import (
    LENIENT,
    BrokenField,
    read_compact_string,
    read_compact_string_or_null,
    read_length,
    read_uvarint,
)


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        ("00", 0),
        ("7f", 127),
        ("8001", 128),
        ("8000", 0),
        ("8280808000", 2),
        ("ffffffff0f", 0xFFFFFFFF),
        ("8080808010", 0),
    ],
)
def test_a_uvarint_has_up_to_five_bytes_and_thirty_two_bits(raw: str, value: int) -> None:
    data = bytes.fromhex(raw)
    assert read_uvarint(data, 0) == (value, len(data))


def test_a_sixth_byte_is_refused() -> None:
    with pytest.raises(BrokenField, match="more than five bytes"):
        read_uvarint(bytes.fromhex("828080808000"), 0)


@pytest.mark.parametrize(
    ("raw", "length"),
    [("00", -1), ("01", 0), ("8080808008", 0x7FFFFFFF), ("8180808008", -1), ("ffffffff0f", -1)],
)
def test_a_length_above_two_to_the_thirty_first_is_null(raw: str, length: int) -> None:
    assert read_length(bytes.fromhex(raw), 0)[0] == length


def test_a_string_may_have_32767_bytes_and_no_more() -> None:
    assert read_compact_string(bytes.fromhex("808002") + bytes(32767), 0) == ("\0" * 32767, 32770)
    with pytest.raises(BrokenField, match="a string of 32768 bytes is longer than 32767"):
        read_compact_string_or_null(bytes.fromhex("818002") + bytes(32768), 0)


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ("c328", "\ufffd("),
        ("eda080", "\ufffd"),
        ("eda08041", "\ufffdA"),
        ("eda041", "\ufffdA"),
        ("eda0", "\ufffd"),
        ("ed", "\ufffd"),
        ("edbfbfedbfbf", "\ufffd\ufffd"),
        ("c080", "\ufffd\ufffd"),
        ("e282", "\ufffd"),
        ("e28241", "\ufffdA"),
        ("f09f98", "\ufffd"),
        ("f09f9841", "\ufffdA"),
        ("f5808080", "\ufffd" * 4),
        ("e08080", "\ufffd" * 3),
        ("80ff41", "\ufffd\ufffdA"),
    ],
)
def test_broken_utf8_becomes_the_replacement_characters_of_java(raw: str, text: str) -> None:
    assert bytes.fromhex(raw).decode("utf-8", LENIENT) == text
