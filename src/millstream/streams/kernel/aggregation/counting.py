"""The fold of counts: it looks at no values and calls no function, so that it need not go through records one by one.

Gives what `fold_records` gives with an aggregator that adds one.
"""

from __future__ import annotations

from collections import Counter

from millstream.streams.kernel.aggregation.column_counts import RowCounts
from millstream.streams.kernel.aggregation.fold import Folded
from millstream.streams.state.rows.running import AnyRows, RowKeys, RunningRows


def counted(keys: RowKeys, timestamps: list[int], rows: AnyRows, *, with_old: bool) -> Folded:
    """Count records into rows, which are found by `keys`; gives the count after each record."""
    if isinstance(rows, RunningRows):
        counts = _counted_in_order(keys, timestamps, rows)
        if counts is not None:
            return counts, timestamps, _old(counts, with_old=with_old)
    counts = []
    newest: list[int] = []
    for by, at in zip(keys, timestamps, strict=True):
        before, timestamp = rows[by]
        count = 1 if before is None else before + 1
        if timestamp < at or before is None:
            timestamp = at
        rows[by] = (count, timestamp)
        counts.append(count)
        newest.append(timestamp)
    return counts, newest, _old(counts, with_old=with_old)


def count_rows(keys: RowKeys, timestamps: list[int], rows: AnyRows) -> None:
    """The same where only the rows are wanted, as all records leave them."""
    newest, counts = _newest(keys, timestamps), Counter(keys)
    if isinstance(rows, RunningRows):
        add_to_rows(RowCounts(counts, newest), rows)
        return
    for by, more in counts.items():
        before, timestamp = rows[by]
        at = newest[by]
        if before is None:
            rows[by] = (more, at)
        else:
            rows[by] = (before + more, max(timestamp, at))


def add_to_rows(tally: RowCounts, rows: RunningRows) -> None:
    """Counts what was tallied into rows; the tally is used up."""
    counts, newest = tally.counts, tally.newest
    for by, (before, timestamp) in rows.stored_among(counts):
        counts[by] += before
        newest[by] = max(newest[by], timestamp)
    rows.update(zip(counts, zip(counts.values(), newest.values(), strict=True), strict=True))


def _newest(keys: RowKeys, timestamps: list[int]) -> dict[bytes, int]:
    """The newest timestamp by key, in the order in which keys come first, as counts are."""
    newest = dict(zip(keys, timestamps, strict=True))
    if timestamps != sorted(timestamps):
        for by, at in zip(keys, timestamps, strict=True):
            if newest[by] < at:  # noqa: PLR1730  # a call takes longer
                newest[by] = at
    return newest


def _old(counts: list[object], *, with_old: bool) -> list[object]:
    return [count - 1 for count in counts] if with_old else []  # type: ignore[operator]  # counts are numbers


class _Counts(dict[bytes, int]):
    """The counts of rows, read when first asked for, and the newest timestamp among them."""

    __slots__ = ("_rows", "newest")

    def __init__(self, rows: RunningRows) -> None:
        super().__init__()
        self._rows = rows
        self.newest = -1

    def __missing__(self, key: bytes) -> int:
        count, timestamp = self._rows[key]
        if count is None:
            return 0
        self.newest = max(self.newest, timestamp)
        known: int = count
        return known


def _counted_in_order(
    keys: RowKeys, timestamps: list[int], rows: RunningRows
) -> list[object] | None:
    """Counts where every record is as new as all before it, as most are: no timestamp needs a look. Otherwise None."""
    if timestamps != sorted(timestamps):
        return None
    running = _Counts(rows)
    counts: list[object] = []
    for by in keys:
        count = running[by] = running[by] + 1
        counts.append(count)
    if timestamps and running.newest > timestamps[0]:
        return None
    newest = dict(zip(keys, timestamps, strict=True))
    for by, count in running.items():
        rows[by] = (count, newest[by])
    return counts
