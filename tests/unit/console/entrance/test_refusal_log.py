"""Whoever is refused has a line in the log, and fills it with none."""

from __future__ import annotations

import logging

import pytest

from millstream.console.entrance.refusal_log import ADDRESSES_MAX, RefusalLog, one_line


def test_an_address_has_a_line_a_second_and_the_next_says_how_many_had_none(
    caplog: pytest.LogCaptureFixture,
) -> None:
    refusals = RefusalLog()
    with caplog.at_level(logging.INFO):
        for now_ms in (0, 1, 999, 1_000, 1_001, 2_001):
            refusals.say("10.0.0.9", "form", "why", now_ms)
        refusals.say("10.0.0.8", "form", "why", 2_001)
    assert caplog.messages == [
        "form from 10.0.0.9 was refused: why",
        "form from 10.0.0.9 was refused: why (2 more from there before)",
        "form from 10.0.0.9 was refused: why (1 more from there before)",
        "form from 10.0.0.8 was refused: why",
    ]


def test_no_more_addresses_are_remembered_than_fit() -> None:
    refusals = RefusalLog()
    for number in range(ADDRESSES_MAX + 50):
        refusals.say(f"address {number}", "form", "why", 0)
    assert len(refusals._said) == ADDRESSES_MAX


def test_a_sentence_of_others_begins_no_line_and_colours_no_terminal() -> None:
    told = one_line("a\r\nb\x1b[31m" + "x" * 1_000)
    assert told.startswith("a")
    assert told.isprintable()
    assert len(told) < 400
