"""Expressions of clients: what is taken, what is refused, and that nothing is captured."""

from __future__ import annotations

import re

import pytest

from millstream.errors import InvalidRegularExpression
from millstream.metadata.client_pattern import (
    PATTERN_BYTES_MAX,
    PATTERN_UNICODE_CLASSES_MAX,
    ClientPattern,
    check_pattern,
)

TAKEN_BY_KAFKA = {
    "ten thousand groups": ("()" * 10_000, ""),
    "nine hundred letters of any script": (r"\p{L}{900}", "é" * 900),
    "a thousand letters of any script": (r"\p{L}{1000}", "é" * 1_000),
    "a thousand levels": ("(" * 1_000 + "a" + ")" * 1_000, "a"),
    "the longest text": ("a" * PATTERN_BYTES_MAX, "a" * PATTERN_BYTES_MAX),
}


@pytest.mark.parametrize(("pattern", "text"), TAKEN_BY_KAFKA.values(), ids=TAKEN_BY_KAFKA)
def test_what_kafka_takes_is_taken(pattern: str, text: str) -> None:
    check_pattern(pattern)
    compiled = ClientPattern(pattern)
    assert compiled.matches(text)
    assert not compiled.matches(text + "-")


def test_the_whole_text_must_match() -> None:
    assert ClientPattern("a|b").matches("b")
    assert not ClientPattern("a|b").matches("ab")


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("(", "missing )"),
        ("(?<=a)b", "invalid perl operator"),
        (r"(a)\1", "invalid escape sequence"),
        ("a{1001}", "invalid repetition size"),
        ("a" * (PATTERN_BYTES_MAX + 1), "longer than 32767 bytes"),
        ("é" * (PATTERN_BYTES_MAX // 2 + 1), "longer than 32767 bytes"),
        (r"\pL" * (PATTERN_UNICODE_CLASSES_MAX + 1), "more than 200 Unicode classes"),
    ],
)
def test_what_cannot_be_read_is_refused_with_the_reason(pattern: str, reason: str) -> None:
    with pytest.raises(InvalidRegularExpression, match=re.escape(reason)):
        check_pattern(pattern)
    with pytest.raises(InvalidRegularExpression, match=re.escape(reason)):
        ClientPattern(pattern)


def test_what_is_too_large_once_it_is_compiled_is_refused_then() -> None:
    pattern = r"(\pL{1000})" * 100
    check_pattern(pattern)
    with pytest.raises(InvalidRegularExpression, match="too large"):
        ClientPattern(pattern)
