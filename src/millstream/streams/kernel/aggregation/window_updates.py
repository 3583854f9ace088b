"""Updates of windows by a batch of records: rows as columns, with keys that are made when they are asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from millstream.streams.kernel.columns.batch import Batch
from millstream.streams.kernel.columns.column import Column, Data
from millstream.streams.serdes.serde import Serde
from millstream.streams.serdes.windowed import Windowed, session_windowed, time_windowed
from millstream.streams.state.rows.running import RowKeys

T = TypeVar("T")


@dataclass(slots=True, eq=False)
class Updates:
    """Columns of equal length, a row for each update of a window."""

    records: list[int] = field(default_factory=list)
    """Where in the batch the record stands."""
    names: list[Any] = field(default_factory=list)  # Any: what the operator calls windows
    aggregates: list[object] = field(default_factory=list)
    timestamps: list[int] = field(default_factory=list)
    old: list[object] = field(default_factory=list)

    def rows(
        self,
        batch: Batch,
        keys: Column,
        value_serde: Serde[Any],  # Any: aggregates of any type
        *,
        send_old: bool,
    ) -> Batch:
        """Returns the updates as rows of the batch's records."""
        return Batch(
            keys,
            Column(value_serde, values=self.aggregates),
            self.timestamps,
            rows_at(batch.headers, self.records),
            rows_at(batch.ordinals, self.records),
            self.old if send_old else None,
        )


def rows_at(column: list[T], rows: Sequence[int]) -> list[T]:
    """Returns the rows of a column, which may come several times; the column itself where a range
    says that it is all of them.
    """
    return column if isinstance(rows, range) else [column[row] for row in rows]


def missing_final_time(window: Windowed[Any]) -> ValueError:  # Any: windows of any key
    """Returns the error for a final result without a timestamp, as from stores that keep none: Kafka Streams makes
    no such record either.
    """
    return ValueError(
        f"the final result of window {window.start_ms} to {window.end_ms} of key {window.key!r} has no timestamp, because "
        "its store keeps none: give the aggregation a store with timestamps (StoreSupplier without timestamped=False), "
        "or have it emit every update"
    )


def windowed_keys(
    serde: Serde[Any],  # Any: keys of any type
    data: Data,
    given: tuple[RowKeys, Batch],
) -> Column:
    """Returns a column of windowed keys, which are made when they are first looked at.

    `given`: the keys' bytes and the rows they are from: the windows have the very keys, not
    what their bytes are read as.
    """

    def read(rows: Data) -> list[object]:
        keys = dict(zip(given[0], given[1].keys, strict=True))
        assert serde.inner is not None, "the serde of a windowed key has one of its key"
        inner = Serde(serde.inner.name, serde.inner.encode, keys.__getitem__)
        size_ms = serde.window_size_ms
        windowed = session_windowed(inner) if size_ms is None else time_windowed(inner, size_ms)
        made = {row: windowed.decode(row) for row in set(rows) if row is not None}
        return [None if row is None else made[row] for row in rows]

    return Column(serde, data=data, read=read)
