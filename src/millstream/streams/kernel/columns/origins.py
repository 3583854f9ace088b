"""Records of a repartition topic, with where each comes from and from which time of the sources (ADR 0021)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from millstream.streams.kernel.columns.arrow_bytes import ArrowBytes
from millstream.streams.kernel.columns.batch import (
    Headers,
    RawBatch,
    data_one_after_the_other,
    headers_one_after_the_other,
)

if TYPE_CHECKING:
    from millstream.streams.kernel.columns.batch import Numbers

UNKNOWN_UPSTREAM: Final = -1
"""The upstream task of a record that does not name one: Kafka Streams' own instances write none."""


@dataclass(frozen=True, slots=True)
class OriginBatch:
    """Records of one partition of a repartition topic whose order is not that in which they go on.

    `upstreams`: of each record, the partition of the task that wrote it. `origin_times`, like `timestamps`, in
    milliseconds. Numbers are arrays until the order is found: lists cost as much as finding it.
    """

    keys: Sequence[bytes | None]
    values: Sequence[bytes | None]
    timestamps: Numbers
    offsets: Numbers
    upstreams: Numbers
    origin_times: Numbers
    headers: list[Headers] | None = None

    def __len__(self) -> int:
        return len(self.offsets)

    def part(self, first: int, end: int) -> OriginBatch:
        """Returns rows first to end; the batch itself where these are all."""
        if first <= 0 and end >= len(self):
            return self
        return OriginBatch(
            self.keys[first:end],
            self.values[first:end],
            self.timestamps[first:end],
            self.offsets[first:end],
            self.upstreams[first:end],
            self.origin_times[first:end],
            None if self.headers is None else self.headers[first:end],
        )

    def take(self, rows: Numbers) -> OriginBatch:
        """Returns these rows, in their order."""
        headers = self.headers
        return OriginBatch(
            _taken(self.keys, rows),
            _taken(self.values, rows),
            self.timestamps[rows],
            self.offsets[rows],
            self.upstreams[rows],
            self.origin_times[rows],
            None if headers is None else [headers[row] for row in rows.tolist()],
        )

    def never_back(self, reached: int) -> OriginBatch:
        """Returns the records with origin times that are at least `reached`, and never go back."""
        return replace(self, origin_times=never_back(self.origin_times, reached))

    def raw(self) -> RawBatch:
        """Returns the records as they go on."""
        return RawBatch(
            self.keys,
            self.values,
            self.timestamps.tolist(),
            self.offsets.tolist(),
            self.headers,
            self.origin_times,
        )


def of_unknown_upstream(raw: RawBatch) -> OriginBatch:
    """Returns records that do not tell their origins: their timestamps stand for their origin times."""
    import numpy as np

    times = np.asarray(raw.timestamps, np.int64)
    return OriginBatch(
        raw.keys,
        raw.values,
        times,
        np.asarray(raw.offsets, np.int64),
        np.full(len(raw), UNKNOWN_UPSTREAM, np.int64),
        times,
        raw.headers,
    )


def one_after_the_other(parts: Sequence[OriginBatch]) -> OriginBatch:
    """Returns the records of several batches as one."""
    if len(parts) == 1:
        return parts[0]
    import numpy as np

    return OriginBatch(
        data_one_after_the_other([part.keys for part in parts]),
        data_one_after_the_other([part.values for part in parts]),
        np.concatenate([part.timestamps for part in parts]),
        np.concatenate([part.offsets for part in parts]),
        np.concatenate([part.upstreams for part in parts]),
        np.concatenate([part.origin_times for part in parts]),
        headers_one_after_the_other([(part.headers, len(part)) for part in parts]),
    )


def never_back(times: Iterable[int] | Numbers, reached: int) -> Numbers:
    """Returns the largest time up to each row, which is `reached` at first."""
    import numpy as np

    given = times if isinstance(times, np.ndarray) else np.asarray(times, np.int64)
    highest: Numbers = np.maximum.accumulate(np.maximum(given, reached))
    return highest


def _taken(column: Sequence[bytes | None], rows: Numbers) -> Sequence[bytes | None]:
    if not isinstance(column, ArrowBytes):
        return [column[row] for row in rows.tolist()]
    import pyarrow as pa

    return ArrowBytes(column.array.take(pa.array(rows)))
