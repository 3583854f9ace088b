"""The columns that say where records of a repartition topic come from, and from which time of the sources (ADR 0021)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Numbers = npt.NDArray[np.int64]

UNKNOWN_UPSTREAM: Final = -1
"""The upstream task of a record that does not name one: Kafka Streams' own instances write none."""


@dataclass(frozen=True, slots=True)
class Origins:
    """Of each record, the partition of the upstream task that wrote it and its origin time, in milliseconds."""

    upstreams: Numbers
    times: Numbers

    def __len__(self) -> int:
        return len(self.times)

    def part(self, first: int, end: int) -> Origins:
        """Returns rows first to end."""
        return Origins(self.upstreams[first:end], self.times[first:end])

    def take(self, rows: Sequence[int] | Numbers) -> Origins:
        """Returns these rows, in their order."""
        return Origins(self.upstreams[rows], self.times[rows])


def of_unknown_upstream(timestamps: Sequence[int]) -> Origins:
    """Returns the origins of records that do not tell theirs: their timestamps stand for their origin times."""
    import numpy as np

    times = np.asarray(timestamps, np.int64)
    return Origins(np.full(len(times), UNKNOWN_UPSTREAM, np.int64), times)


def origins_one_after_the_other(parts: Sequence[Origins]) -> Origins:
    """Returns the rows of several columns, one after the other."""
    if len(parts) == 1:
        return parts[0]
    import numpy as np

    return Origins(
        np.concatenate([part.upstreams for part in parts]),
        np.concatenate([part.times for part in parts]),
    )


def never_back(times: Iterable[int] | Numbers, reached: int) -> Numbers:
    """Returns the largest time up to each row, which is `reached` at first."""
    import numpy as np

    given = times if isinstance(times, np.ndarray) else np.fromiter(times, np.int64)
    highest: Numbers = np.maximum.accumulate(np.maximum(given, reached))
    return highest
