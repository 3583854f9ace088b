"""The digest of the rows that one writer writes: equal for equal records, whatever their order and however
they are cut into batches.

Pure. It sums up a number for each row, because a shuffle brings rows of a Spark partition in another order each time.
All that makes a record counts: key, value, headers, timestamp, partition and topic. It finds what was changed by
mistake, not what was forged.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from millstream.runtime.native import load_leaf

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

    from millstream.clients.producer.core import murmur2

    Numbers = np.ndarray[Any, np.dtype[np.uint64]]  # Any: of any shape
else:
    murmur2 = load_leaf("millstream.clients.producer.core.murmur2")

COLUMNS: Final = ("key", "value", "headers", "timestamp", "partition", "topic")
_HASH_BITS: Final = 31
"""Those that are left of murmur2 where it says partitions: its sign is cut off."""
_MIX: Final = 0x9E3779B97F4A7C15
"""An odd number near 2**64 divided by the golden ratio, as in splitmix64: products with it spread over all bits."""


class RowDigest:
    """Counts rows and sums up their numbers. `value` is below 2**64."""

    def __init__(self, columns: tuple[str, ...] = COLUMNS) -> None:
        self.records = 0
        self.value = 0
        self._columns = columns

    def add(self, batch: pa.RecordBatch) -> None:
        import numpy as np

        self.records += batch.num_rows
        rows = np.zeros(batch.num_rows, np.uint64)
        for number, name in enumerate(self._columns, 1):
            if name in batch.schema.names:
                rows += _mixed(_numbers(batch.column(name)), number)
        self.value = (self.value + int(_mixed(rows, 0).sum(dtype=np.uint64))) % 2**64


def _numbers(column: pa.Array) -> Numbers:
    """A number for each value, 0 for null: a column of nulls is like none."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return _of_lists(column)
    if pa.types.is_timestamp(kind) or pa.types.is_integer(kind):
        whole = pc.fill_null(column.cast(pa.int64()), 0).to_numpy(zero_copy_only=False)
        numbers: Numbers = whole.astype(np.uint64) + np.uint64(1)
    else:
        numbers = _of_bytes(column.cast(pa.binary()))
    if column.null_count:
        numbers = numbers * column.is_valid().to_numpy(zero_copy_only=False)
    return numbers


def _of_bytes(column: pa.Array) -> Numbers:
    """The hash that decides partitions, with the length above it, plus one."""
    import numpy as np
    import pyarrow as pa

    _, offsets, data = column.buffers()
    bounds = (
        memoryview(offsets).cast("B").cast("i")[column.offset : column.offset + len(column) + 1]
    )
    out = pa.allocate_buffer(4 * len(column))
    murmur2.partitions_for_keys(
        bounds,
        memoryview(b"" if data is None else data).cast("B"),
        1 << _HASH_BITS,
        memoryview(out).cast("B").cast("i"),
    )
    hashes = np.frombuffer(out, np.int32).astype(np.uint64)
    lengths = np.diff(np.asarray(bounds)).astype(np.uint64)
    return hashes + (lengths << np.uint64(_HASH_BITS)) + np.uint64(1)


def _of_lists(column: pa.Array) -> Numbers:
    """Headers: the order of a record's headers counts. No headers and null are the same record."""
    import numpy as np
    import pyarrow.compute as pc

    if not len(column):
        return np.zeros(0, np.uint64)
    filled = pc.fill_null(column, []) if column.null_count else column
    bounds = filled.offsets.to_numpy().astype(np.int64)
    values = filled.values
    starts = np.repeat(bounds[:-1], np.diff(bounds))
    places = np.arange(bounds[0], bounds[-1]) - starts
    within = values.slice(int(bounds[0]), int(bounds[-1] - bounds[0]))
    each = np.zeros(len(within), np.uint64)
    for number in range(within.type.num_fields):
        each += _mixed(_numbers(within.field(number)), number + 1)
    each = _mixed(each + places.astype(np.uint64), 0)
    sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(each, dtype=np.uint64)])
    lists: Numbers = np.take(sums, bounds[1:] - bounds[0]) - np.take(sums, bounds[:-1] - bounds[0])
    return lists


def _mixed(numbers: Numbers, place: int) -> Numbers:
    """Other numbers for the same ones in another place, so that what is swapped between
    columns or rows gives another sum.
    """
    import numpy as np

    mixed = numbers * np.uint64((_MIX * (2 * place + 1)) % 2**64)
    mixed = mixed ^ (mixed >> np.uint64(29))
    mixed = mixed * np.uint64(0xBF58476D1CE4E5B9)  # splitmix64's
    return mixed ^ (mixed >> np.uint64(32))
