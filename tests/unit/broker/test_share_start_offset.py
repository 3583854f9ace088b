"""`share.auto.offset.reset=by_duration:...`: ISO 8601 durations."""

from __future__ import annotations

import pytest

from millstream.broker.share_start_offset import duration_ms


@pytest.mark.parametrize(
    ("text", "expected_ms"),
    [
        ("PT0S", 0),
        ("PT1.5S", 1_500),
        ("PT2M", 120_000),
        ("PT3H", 10_800_000),
        ("P1D", 86_400_000),
        ("P1DT2H3M4.5S", 93_784_500),
        ("pt1h", 3_600_000),
    ],
)
def test_durations(text: str, expected_ms: int) -> None:
    assert duration_ms(text) == expected_ms
