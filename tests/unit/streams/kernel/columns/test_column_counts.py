"""Counts of records whose keys came as Arrow are those of going through the records one by one."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.streams.kernel import ArrowBytes
from millstream.streams.kernel.aggregation.column_counts import RowCounts, Run, tallied

MANY = 200
"""Records, so that counting them in columns is worth it."""


def one_by_one(keys: Sequence[bytes], timestamps: Sequence[int], runs: Sequence[Run]) -> RowCounts:
    counts: dict[bytes, int] = {}
    newest: dict[bytes, int] = {}
    for first, end, tails in runs:
        for row in range(first, end):
            for tail in tails:
                name = keys[row] + tail
                counts[name] = counts.pop(name, 0) + 1
                newest.pop(name, None)
                newest[name] = timestamps[row]
    return RowCounts(counts, newest)


@given(
    st.lists(st.integers(0, 30), min_size=MANY, max_size=MANY),
    st.lists(st.integers(0, 3), min_size=MANY, max_size=MANY),
    st.lists(st.lists(st.integers(0, 9), max_size=3, unique=True), min_size=4, max_size=4),
)
def test_rows_have_the_counts_newest_times_and_order_of_their_last_records(
    numbers: list[int], steps: list[int], windows: list[list[int]]
) -> None:
    keys = [b"key-%d" % number for number in numbers]
    timestamps = [sum(steps[: row + 1]) for row in range(MANY)]
    quarter = MANY // 4
    runs = [
        (number * quarter, (number + 1) * quarter, [b"@%d" % start for start in sorted(starts)])
        for number, starts in enumerate(windows)
    ]
    tally = tallied(ArrowBytes(pa.array(keys, pa.binary())), timestamps, runs)
    expected = one_by_one(keys, timestamps, runs)
    assert tally == expected
    assert list(tally.counts) == list(tally.newest) == list(expected.counts)


@pytest.mark.parametrize(
    ("keys", "timestamps", "windows"),
    [
        pytest.param([b"a"] * 100, list(range(100)), 1, id="few records"),
        pytest.param([b"a"] * MANY, [1, 0] * (MANY // 2), 1, id="out of order"),
        pytest.param([b"a", None] * (MANY // 2), list(range(MANY)), 1, id="null keys"),
        pytest.param([b"%d" % n for n in range(MANY)], list(range(MANY)), 5, id="spread thin"),
    ],
)
def test_other_records_must_be_gone_through(
    keys: list[bytes | None], timestamps: list[int], windows: int
) -> None:
    runs = [(0, len(keys), [b"@%d" % start for start in range(windows)])]
    assert tallied(ArrowBytes(pa.array(keys, pa.binary())), timestamps, runs) is None
