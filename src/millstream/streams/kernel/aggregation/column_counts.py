"""Counts by row of records whose keys came as Arrow: no Python object is made for a record, only for a row.

Gives what going through the records one by one gives. Knows neither rows nor stores.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from millstream.streams.kernel.columns.arrow_bytes import ArrowBytes

if TYPE_CHECKING:
    import numpy as np

    _Numbers = np.ndarray[Any, np.dtype[np.int64]]  # Any: of one dimension

_RECORDS_MIN: Final = 128
"""Fewer are counted faster one by one."""
_CELLS_PER_RECORD_MAX: Final = 4
"""Keys times windows: where most of them hold no record, looking at all of them takes longer than at the records."""

Run = tuple[int, int, Sequence[bytes]]
"""Records from the first to the end, and what follows their keys in the names of the rows that they
count for, in ascending order."""


@dataclass(frozen=True, slots=True)
class RowCounts:
    """By the bytes of a row's name, the number of records and the newest timestamp; rows in the
    order of their last records.
    """

    counts: dict[bytes, int]
    newest: dict[bytes, int]


def tallied(keys: ArrowBytes, timestamps: list[int], runs: Sequence[Run]) -> RowCounts | None:
    """Counts the records of runs.

    None where they must be gone through one by one: few, out of order, or spread too thin.
    """
    if len(timestamps) < _RECORDS_MIN or keys.has_nulls or timestamps != sorted(timestamps):
        return None
    import numpy as np

    encoded = keys.array.dictionary_encode()
    words: list[bytes] = encoded.dictionary.to_pylist()
    tails = {tail for _, _, of_run in runs for tail in of_run}
    if len(words) * len(tails) > _CELLS_PER_RECORD_MAX * len(timestamps):
        return None
    places = encoded.indices.to_numpy()
    cells: dict[bytes, tuple[_Numbers, _Numbers]] = {}
    for first, end, of_run in runs:
        counts = np.bincount(places[first:end], minlength=len(words))
        last = np.full(len(words), -1)
        last[places[first:end]] = np.arange(first, end)  # of equal places the last one stays
        for tail in of_run:
            known = cells.get(tail)
            if known is None:
                cells[tail] = counts, last
            else:
                cells[tail] = known[0] + counts, np.maximum(known[1], last)
    return _in_order(words, timestamps, cells)


def _in_order(
    words: list[bytes], timestamps: list[int], cells: dict[bytes, tuple[_Numbers, _Numbers]]
) -> RowCounts:
    if not cells:
        return RowCounts({}, {})
    import numpy as np

    tails = sorted(cells)
    present = [np.flatnonzero(cells[tail][0]) for tail in tails]
    places = np.concatenate(present)
    numbers = np.repeat(np.arange(len(tails)), [len(each) for each in present])
    counts = np.concatenate([cells[tail][0][at] for tail, at in zip(tails, present, strict=True)])
    last = np.concatenate([cells[tail][1][at] for tail, at in zip(tails, present, strict=True)])
    order = np.lexsort((numbers, last))  # a record has one key, so one row in each of its windows
    names = [
        words[place] + tails[number]
        for place, number in zip(places[order].tolist(), numbers[order].tolist(), strict=True)
    ]
    return RowCounts(
        dict(zip(names, counts[order].tolist(), strict=True)),
        dict(zip(names, map(timestamps.__getitem__, last[order].tolist()), strict=True)),
    )
