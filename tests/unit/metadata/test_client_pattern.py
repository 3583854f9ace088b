"""Expressions of clients: what is taken, what is refused, and that nothing is captured."""

from __future__ import annotations

import re

import pytest
import re2

from millstream.errors import InvalidRegularExpression
from millstream.metadata.client_pattern import (
    PATTERN_BYTES_MAX,
    PATTERN_UNICODE_CLASSES_MAX,
    ClientPattern,
    check_pattern,
    is_cheap,
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
        (r"\pL" * (PATTERN_UNICODE_CLASSES_MAX + 1), "more than 50 Unicode classes"),
    ],
)
def test_what_cannot_be_read_is_refused_with_the_reason(pattern: str, reason: str) -> None:
    with pytest.raises(InvalidRegularExpression, match=re.escape(reason)):
        check_pattern(pattern)
    with pytest.raises(InvalidRegularExpression, match=re.escape(reason)):
        ClientPattern(pattern)


def test_what_is_too_large_once_it_is_compiled_is_refused_then() -> None:
    pattern = r"(\pL{1000})" * 40
    check_pattern(pattern)
    with pytest.raises(InvalidRegularExpression, match="too large"):
        ClientPattern(pattern)


@pytest.mark.parametrize(
    "pattern",
    [
        "", "orders", "orders-.*", r"(eu|us)\.orders\.[a-z]+", "[0-9]{4}-[0-9]{2}-[0-9]{2}", "topic-{region}", "a" * 1_000,
        ".{10}.{3,}", "a{100}",
    ],
)  # fmt: skip
def test_what_people_write_is_cheap(pattern: str) -> None:
    assert is_cheap(pattern)


@pytest.mark.parametrize(
    "pattern",
    [
        r"\p{L}", r"\PN", "a" * 1_001, "é" * 501, "a{1000}", "(a{10}){40}", "a{10}{10}{10}", "(a{0,99})*.", "((a{5,}){5,}){5,}",
        "a" * 30_000 + "{1000}" * 400, "{" + "9" * 900 + "}",
    ],
)  # fmt: skip
def test_what_may_take_long_to_compile_is_not_cheap(pattern: str) -> None:
    assert not is_cheap(pattern)


@pytest.mark.parametrize(
    "atom",
    [
        ".",
        ".?",
        "(a?)",
        r"\W",
        "[^a]",
        "(?i:k)",
        "[à-ÿ]",
        "(?:.|a)*",
        "(?:[^\\W]+)?",
        "(?i)[à-ÿ]\\W",
    ],
)
@pytest.mark.parametrize("count", [0, 1, 9])
def test_a_cheap_expression_is_no_larger_than_a_thousand_of_its_atoms(
    atom: str, count: int
) -> None:
    """Of the instructions of RE2; the largest programs that it makes have a million."""
    whole = f"(?:{atom}){{{count}}}" if count else atom
    pattern = ""
    while is_cheap(pattern + whole):
        pattern += whole
    assert re2.compile(pattern or atom).programsize <= 10_000
