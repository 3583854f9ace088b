"""auto_offset_reset: names, and durations as ISO 8601 writes them (KIP-1106)."""

from __future__ import annotations

import pytest

from millstream.clients.config import ConsumerConfig
from millstream.clients.config.settings import parse_settings
from millstream.clients.consumer.core.offset_reset import (
    EARLIEST,
    LATEST,
    AutoOffsetResetStrategy,
    parse_offset_reset,
)
from millstream.errors import ConfigError

MINUTE_MS = 60_000


def test_names_mean_the_start_the_end_and_an_error() -> None:
    assert parse_offset_reset("earliest") == EARLIEST
    assert parse_offset_reset("Latest") == LATEST
    assert parse_offset_reset("none") is None
    assert (EARLIEST.timestamp_at(5), LATEST.timestamp_at(5)) == (-2, -1)


@pytest.mark.parametrize(
    ("text", "ago_ms"),
    [
        ("PT1H30M", 90 * MINUTE_MS),
        ("P2D", 2 * 24 * 60 * MINUTE_MS),
        ("P1DT1S", 24 * 60 * MINUTE_MS + 1000),
        ("PT0.5S", 500),
        ("pt90s", 90_000),
        ("PT0S", 0),
    ],
)
def test_a_duration_means_that_long_ago(text: str, ago_ms: int) -> None:
    reset = parse_offset_reset(f"by_duration:{text}")
    assert reset == AutoOffsetResetStrategy(ago_ms=ago_ms)
    assert reset is not None
    assert reset.timestamp_at(10**12) == 10**12 - ago_ms


def test_before_1970_there_is_nothing() -> None:
    assert AutoOffsetResetStrategy(ago_ms=100).timestamp_at(30) == 0


@pytest.mark.parametrize(
    "text",
    [
        "",
        "newest",
        "by_duration",
        "by_duration:",
        "by_duration:1h",
        "by_duration:P",
        "by_duration:PT",
        "by_duration:PT-1H",
        "by_duration:-PT1H",
        "by_duration:P1M",
    ],
)
def test_anything_else_is_refused_with_what_to_write(text: str) -> None:
    with pytest.raises(ConfigError, match="auto_offset_reset"):
        parse_settings(ConsumerConfig, {"auto_offset_reset": text})
