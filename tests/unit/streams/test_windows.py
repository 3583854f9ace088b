"""Windows of time."""

from __future__ import annotations

import pytest

from millstream.streams import TimeWindows, UnlimitedWindows


@pytest.mark.parametrize(("size", "advance"), [(1, 1), (7, 7), (7, 2), (10, 3), (10, 10)])
def test_all_timestamps_of_a_span_fall_in_the_same_windows(size: int, advance: int) -> None:
    windows = TimeWindows(size, advance)
    for timestamp in range(4 * size):
        low, high = windows.span(timestamp)
        assert low <= timestamp < high
        starts = [windows.starts(at) for at in range(max(low, 0), high)]
        assert starts == [windows.starts(timestamp)] * len(starts)


def test_the_span_of_an_unlimited_window_begins_where_it_does() -> None:
    assert UnlimitedWindows(5).span(4) == (4, 5)
    assert UnlimitedWindows(5).span(5) == (5, 2**63)
