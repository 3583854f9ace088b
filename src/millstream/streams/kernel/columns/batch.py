"""The columns that operators pass on. One row is one record or one change of a table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain, compress
from typing import TYPE_CHECKING, Final, TypeVar

from millstream.runtime.native import load_leaf
from millstream.streams.kernel.columns.arrow_bytes import ArrowBytes
from millstream.streams.kernel.columns.column import AnyColumn, Data, values_of

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from millstream.records import writer

    Numbers = npt.NDArray[np.int64]
else:
    writer = load_leaf("millstream.records.writer")

Headers = tuple[tuple[str, bytes | None], ...]
T = TypeVar("T")
SequenceT = TypeVar("SequenceT", bound=Sequence[object])
NO_HEADERS: Headers = ()


@dataclass(slots=True)
class Batch:
    """Rows as columns of equal length.

    `ordinals` names the input row each row comes from, ascending: where paths meet again rows are merged by
    it. Keys and values are lists, or columns that are read when `keys` or `values` is first asked for. `values` of a
    table are the new values; `old_values` is a column only where a node below asked for them.
    """

    key_column: AnyColumn
    value_column: AnyColumn
    timestamps: list[int]
    headers: list[Headers]
    ordinals: list[int]
    old_values: list[object] | None = None
    newest: list[bool] | None = None
    """Of a versioned table: False where the table knows a newer version of the row. None: every row is the newest."""

    def __len__(self) -> int:
        return len(self.timestamps)

    @property
    def keys(self) -> list[object]:
        """The keys as objects; reads them if they are not read yet."""
        return values_of(self.key_column)

    @property
    def values(self) -> list[object]:
        """The values as objects; reads them if they are not read yet."""
        return values_of(self.value_column)

    def with_values(self, values: AnyColumn) -> Batch:
        """Returns the same rows with other values, no longer changes of a table."""
        return Batch(self.key_column, values, self.timestamps, self.headers, self.ordinals)

    def with_changes(self, values: list[object], old_values: list[object] | None = None) -> Batch:
        """Returns the same changes of a table with other values."""
        changed = self.with_values(values)
        changed.old_values, changed.newest = old_values, self.newest
        return changed

    def only_newest(self) -> Batch:
        """Returns the batch without changes that came out of order: nothing that keeps one value a
        row may see them (KIP-914).
        """
        return self if self.newest is None else self.where(self.newest)

    def without_versions(self) -> Batch:
        """Returns the batch in which every change counts as the newest of its key."""
        if self.newest is None:
            return self
        changed = self.with_changes(self.values, self.old_values)
        changed.newest = None
        return changed

    def with_keys(self, keys: AnyColumn) -> Batch:
        """Returns the same rows with other keys."""
        return Batch(keys, self.value_column, self.timestamps, self.headers, self.ordinals)

    def where(self, mask: Sequence[object]) -> Batch:
        """Returns the rows whose mask is true."""
        old, newest = self.old_values, self.newest
        return Batch(
            _where(self.key_column, mask),
            _where(self.value_column, mask),
            list(compress(self.timestamps, mask)),
            list(compress(self.headers, mask)),
            list(compress(self.ordinals, mask)),
            None if old is None else list(compress(old, mask)),
            None if newest is None else list(compress(newest, mask)),
        )

    def part(self, first: int, end: int) -> Batch:
        """Returns rows first to end; shares its lists with the batch where these are all."""
        keys, values, old, newest = (
            self.key_column,
            self.value_column,
            self.old_values,
            self.newest,
        )
        if end - first == len(self.timestamps):
            return Batch(keys, values, self.timestamps, self.headers, self.ordinals, old, newest)
        return Batch(
            keys[first:end] if isinstance(keys, list) else keys.part(first, end),
            values[first:end] if isinstance(values, list) else values.part(first, end),
            self.timestamps[first:end],
            self.headers[first:end],
            self.ordinals[first:end],
            None if old is None else old[first:end],
            None if newest is None else newest[first:end],
        )

    def each(self) -> Iterable[Batch]:
        """Yields every row as a batch of its own."""
        if len(self.timestamps) == 1:
            return (self,)
        keys, values = self.key_column, self.value_column
        is_plain = self.old_values is None and self.newest is None
        if is_plain and isinstance(keys, list) and isinstance(values, list):
            rows = zip(keys, values, self.timestamps, self.headers, self.ordinals, strict=True)
            return (Batch([k], [v], [at], [h], [number]) for k, v, at, h, number in rows)
        return (self.part(row, row + 1) for row in range(len(self)))

    def as_lists(self) -> Batch:
        """Returns the same rows, all of them read: cheaper where they are going to be taken one by one."""
        self.key_column, self.value_column = self.keys, self.values
        return self

    def take(self, rows: Sequence[int]) -> Batch:
        """Returns the rows at these positions, in their order."""
        old, newest = self.old_values, self.newest
        return Batch(
            _take(self.key_column, rows),
            _take(self.value_column, rows),
            [self.timestamps[i] for i in rows],
            [self.headers[i] for i in rows],
            [self.ordinals[i] for i in rows],
            None if old is None else [old[i] for i in rows],
            None if newest is None else [newest[i] for i in rows],
        )


NO_ROWS: Final = Batch([], [], [], [], [])
"""Shared: do not change it."""


def rows_of(column: SequenceT, first: int, end: int) -> SequenceT:
    """Returns rows first to end; the column itself where these are all."""
    return column if end - first == len(column) else column[first:end]  # type: ignore[return-value]  # of its own kind


def merge_by_ordinal(batches: Sequence[Batch]) -> Batch:
    """Merges rows of several paths in the order in which record-at-a-time processing would give them:
    by input row, then by the order of the paths.
    """
    if len(batches) == 1:
        return batches[0]
    old_values: list[object] | None = None
    if batches[0].old_values is not None:
        old_values = []
        for batch in batches:
            assert batch.old_values is not None, "all parents of a table send old values, or none"
            old_values += batch.old_values
    newest: list[bool] | None = None
    if any(batch.newest is not None for batch in batches):
        newest = [each for batch in batches for each in batch.newest or [True] * len(batch)]
    whole = Batch(
        [key for batch in batches for key in batch.keys],
        [value for batch in batches for value in batch.values],
        [timestamp for batch in batches for timestamp in batch.timestamps],
        [headers for batch in batches for headers in batch.headers],
        [ordinal for batch in batches for ordinal in batch.ordinals],
        old_values,
        newest,
    )
    return whole.take(sorted(range(len(whole)), key=whole.ordinals.__getitem__))


def _where(column: AnyColumn, mask: Sequence[object]) -> AnyColumn:
    return list(compress(column, mask)) if isinstance(column, list) else column.where(mask)


def _take(column: AnyColumn, rows: Sequence[int]) -> AnyColumn:
    return [column[row] for row in rows] if isinstance(column, list) else column.take(rows)


@dataclass(slots=True)
class RawBatch:
    """Records of one topic partition as bytes, in offset order: lists, or `ArrowBytes` of what came as Arrow.

    `headers` None means that none has any.
    """

    keys: Sequence[bytes | None]
    values: Sequence[bytes | None]
    timestamps: list[int]
    offsets: Sequence[int]
    headers: list[Headers] | None = None
    origin_times: Numbers | None = None
    """Of the records of a repartition topic that is read in the order of origin time."""

    def __len__(self) -> int:
        return len(self.keys)

    def part(self, first: int, end: int) -> RawBatch:
        """Returns rows first to end; the batch itself where these are all."""
        if first <= 0 and end >= len(self):
            return self
        return RawBatch(
            self.keys[first:end],
            self.values[first:end],
            self.timestamps[first:end],
            self.offsets[first:end],
            None if self.headers is None else self.headers[first:end],
            None if self.origin_times is None else self.origin_times[first:end],
        )

    @property
    def arrow_bytes(self) -> int | None:
        """The memory of keys and values; None where one of them did not come as Arrow."""
        keys, values = self.keys, self.values
        if not (isinstance(keys, ArrowBytes) and isinstance(values, ArrowBytes)):
            return None
        return int(keys.array.nbytes + values.array.nbytes)

    def size_bytes(self, topic: str) -> int:
        """Returns the size of the records as Kafka Streams counts it: that of a null is -1, as its consumer has it."""
        around = _bytes_around(topic, len(self.keys), self.headers)
        return around + _data_bytes(self.keys, -1) + _data_bytes(self.values, -1)


def joined(batches: Sequence[RawBatch]) -> RawBatch:
    """Returns the records of several batches of one topic partition, in offset order, as one."""
    if len(batches) == 1:
        return batches[0]
    return RawBatch(
        data_one_after_the_other([batch.keys for batch in batches]),
        data_one_after_the_other([batch.values for batch in batches]),
        _one_after_the_other(batch.timestamps for batch in batches),
        _one_after_the_other(batch.offsets for batch in batches),
        headers_one_after_the_other([(batch.headers, len(batch)) for batch in batches]),
    )


@dataclass(slots=True)
class SinkBatch:
    """Records to be written to one topic, in order. Its lists may be those of others: read them, do not change them.

    Keys and values that came as Arrow and are passed on as they are stay `ArrowBytes`.

    `partitions`: a number where the topology's own partitioner decided, None where the default partitioner
    (murmur2) is to decide by `partition_keys`, or by the key itself where that column is None.
    """

    topic: str
    keys: Sequence[bytes | None] = field(default_factory=list)
    values: Sequence[bytes | None] = field(default_factory=list)
    timestamps: list[int] = field(default_factory=list)
    headers: list[Headers] = field(default_factory=list)
    partitions: list[int | None] | None = None
    partition_keys: Data | None = None
    origin_times: Numbers | None = None
    """Of the records of a repartition topic, the origin time of each (ADR 0021)."""
    data_bytes: int | None = None
    """The size of keys and values, where whoever has written the records knows it."""

    def __len__(self) -> int:
        return len(self.keys)

    @property
    def size_bytes(self) -> int:
        """The size of the records as Kafka Streams counts it."""
        data_bytes = self.data_bytes
        if data_bytes is None:
            data_bytes = _data_bytes(self.keys) + _data_bytes(self.values)
        return data_bytes + _bytes_around(self.topic, len(self.keys), self.headers)

    def take(self, rows: Sequence[int]) -> SinkBatch:
        """Returns the records at these positions, in their order."""
        partitions, partition_keys = self.partitions, self.partition_keys
        keys, values = list(self.keys), list(self.values)
        return SinkBatch(
            self.topic,
            [keys[i] for i in rows],
            [values[i] for i in rows],
            [self.timestamps[i] for i in rows],
            [self.headers[i] for i in rows],
            None if partitions is None else [partitions[i] for i in rows],
            None if partition_keys is None else [partition_keys[i] for i in rows],
            None if self.origin_times is None else self.origin_times[list(rows)],
        )


def concatenate(batches: Sequence[SinkBatch]) -> SinkBatch:
    """Returns the records of several batches of one topic, one batch after the other."""
    if len(batches) == 1:
        return batches[0]
    return SinkBatch(
        batches[0].topic,
        data_one_after_the_other([batch.keys for batch in batches]),
        data_one_after_the_other([batch.values for batch in batches]),
        _one_after_the_other(batch.timestamps for batch in batches),
        _one_after_the_other(batch.headers for batch in batches),
        _partitions(batches),
        _partition_keys(batches),
        _origin_times(batches),
    )


def _origin_times(batches: Sequence[SinkBatch]) -> Numbers | None:
    """Returns those of several batches of one topic, which all have them or none."""
    known = [batch.origin_times for batch in batches if batch.origin_times is not None]
    if not known:
        return None
    import numpy as np

    return np.concatenate(known)


_PLACE_BYTES: Final = 8 + 8 + 4
"""Timestamp, offset and partition, which Kafka Streams counts to a record, as it does the name of its topic."""


def _bytes_around(topic: str, count: int, headers: Sequence[Headers] | None) -> int:
    size = count * (_PLACE_BYTES + len(topic))
    if headers is not None and headers.count(NO_HEADERS) < count:
        size += sum(
            len(name.encode()) + len(value or b"") for each in headers for name, value in each
        )
    return size


def _data_bytes(column: Sequence[bytes | None], of_null: int = 0) -> int:
    """Returns the size of the rows together, where a null counts as given."""
    if isinstance(column, ArrowBytes):
        return column.size_bytes + of_null * int(column.array.null_count)
    return writer.column_size(column if isinstance(column, list) else list(column), of_null)


def _partitions(batches: Sequence[SinkBatch]) -> list[int | None] | None:
    if all(batch.partitions is None for batch in batches):
        return None
    return _one_after_the_other(batch.partitions or [None] * len(batch) for batch in batches)


def _partition_keys(batches: Sequence[SinkBatch]) -> Data | None:
    if all(batch.partition_keys is None for batch in batches):
        return None
    return _one_after_the_other(
        batch.keys if batch.partition_keys is None else batch.partition_keys for batch in batches
    )


def headers_one_after_the_other(
    columns: Sequence[tuple[list[Headers] | None, int]],
) -> list[Headers] | None:
    """Returns those of several batches, each given with its number of records; None where no record has any."""
    if all(headers is None for headers, _ in columns):
        return None
    return _one_after_the_other(headers or [NO_HEADERS] * rows for headers, rows in columns)


def data_one_after_the_other(
    columns: Sequence[Sequence[bytes | None]],
) -> Sequence[bytes | None]:
    """Arrow stays Arrow where all of it is."""
    arrays = [column.array for column in columns if isinstance(column, ArrowBytes)]
    if len(arrays) < len(columns):
        return _one_after_the_other(columns)
    import pyarrow as pa

    return ArrowBytes(pa.concat_arrays(arrays))


def _one_after_the_other(columns: Iterable[Iterable[T]]) -> list[T]:
    return list(chain.from_iterable(columns))
