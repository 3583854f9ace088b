"""Rows that cannot be written, found before any of their batch is: too large, to no legal topic or partition, or with
parts that no record has.

Pure. Sizes are estimated for whole columns; only rows that may be too large are encoded to be measured.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from millstream.errors import (
    InvalidPartitions,
    InvalidRecord,
    InvalidTimestamp,
    InvalidTopic,
    KafkaError,
    MessageTooLarge,
    MillstreamError,
)
from millstream.metadata.topic_names import check_topic_name
from millstream.records.builder import BatchOptions
from millstream.spark.sink.encoding.unencodable import UNENCODED, UnencodableRow

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    IntArray = NDArray[np.int64]

_OVERHEAD_BYTES: Final = 100
"""More than a batch of one record has around key, value and headers."""
_HEADER_OVERHEAD_BYTES: Final = 10


class RowLimits(NamedTuple):
    """The limits of the topic that the rows go to. `options` are those with which the producer encodes."""

    topic: str
    partition_count: int
    record_bytes_max: int
    options: BatchOptions


def faults(rows: pa.RecordBatch, limits: RowLimits) -> dict[int, MillstreamError]:
    """Returns the rows that cannot be written, by number, and what a producer or broker would raise for each."""
    found: dict[int, MillstreamError] = {}
    for row, size in too_large(rows, limits.record_bytes_max, limits.options).items():
        found[row] = MessageTooLarge(
            f"a record of {size} bytes is larger than {limits.topic} and the producer take ({limits.record_bytes_max})"
        )
    found |= _outside(rows, limits)
    found |= _headers_without_name(rows)
    found |= _before_1970(rows)
    found |= _unencoded(rows)
    return found


def illegal_name(topic: str) -> InvalidTopic | None:
    """Returns what is wrong with the name of a topic; None where nothing is."""
    try:
        check_topic_name(topic)
    except InvalidTopic as error:
        return error
    return None


def too_large(rows: pa.RecordBatch, bytes_max: int, options: BatchOptions) -> dict[int, int]:
    """Returns the sizes of rows that are larger, each alone in a batch, as a producer sends those."""
    import numpy as np

    from millstream.records.arrow import from_arrow

    suspects = np.flatnonzero(_sizes(rows) > bytes_max)
    found = {}
    for row in suspects.tolist():
        (encoded,) = from_arrow(_valid_part(rows.slice(row, 1)), options)
        if len(encoded) > bytes_max:
            found[row] = len(encoded)
    return found


def _valid_part(row: pa.RecordBatch) -> pa.RecordBatch:
    """Without what may be wrong with the row in other ways: a timestamp's size does not depend on it here."""
    names = [name for name in ("key", "value", "headers") if name in row.schema.names]
    if _headers_without_name(row):
        names.remove("headers")
    return row.select(names)


def _sizes(rows: pa.RecordBatch) -> IntArray:
    """Upper bounds, in bytes."""
    import numpy as np

    total = np.full(rows.num_rows, _OVERHEAD_BYTES, np.int64)
    for name in ("key", "value"):
        if name in rows.schema.names:
            total += _lengths(rows.column(name))
    if "headers" in rows.schema.names:
        headers = rows.column("headers").fill_null([])
        names, values = headers.flatten().flatten()
        each = _lengths(names) + _lengths(values) + _HEADER_OVERHEAD_BYTES
        ends = np.concatenate([[0], np.cumsum(each)])
        places = headers.offsets.to_numpy() - headers.offsets[0].as_py()
        total += ends[places[1:]] - ends[places[:-1]]
    return total


def _lengths(column: pa.Array) -> IntArray:
    import pyarrow.compute as pc

    lengths: IntArray = pc.binary_length(column).fill_null(0).to_numpy().astype("int64")
    return lengths


def _outside(rows: pa.RecordBatch, limits: RowLimits) -> dict[int, KafkaError]:
    import pyarrow.compute as pc

    if "partition" not in rows.schema.names:
        return {}
    partitions = rows.column("partition")
    outside = pc.or_(pc.less(partitions, 0), pc.greater_equal(partitions, limits.partition_count))
    last = limits.partition_count - 1
    return {
        row: InvalidPartitions(
            f"{limits.topic} has partitions 0 to {last}, not {partitions[row].as_py()}"
        )
        for row in _rows_where(outside)
    }


def _headers_without_name(rows: pa.RecordBatch) -> dict[int, KafkaError]:
    import pyarrow.compute as pc

    if "headers" not in rows.schema.names:
        return {}
    headers = rows.column("headers").fill_null([])
    names, _ = headers.flatten().flatten()
    if not names.null_count:
        return {}
    parents = pc.list_parent_indices(headers).filter(pc.is_null(names))
    error = InvalidRecord("a header needs a key, which is null here")
    return dict.fromkeys(parents.to_pylist(), error)


def _before_1970(rows: pa.RecordBatch) -> dict[int, KafkaError]:
    import pyarrow as pa
    import pyarrow.compute as pc

    if "timestamp" not in rows.schema.names:
        return {}
    times = rows.column("timestamp")
    in_ms = times.cast(pa.timestamp("ms", times.type.tz), safe=False).cast(pa.int64())
    return {
        row: InvalidTimestamp(f"timestamp {in_ms[row].as_py()} is before 1970")
        for row in _rows_where(pc.less(in_ms, -1))
    }


def _unencoded(rows: pa.RecordBatch) -> dict[int, UnencodableRow]:
    if UNENCODED not in rows.schema.names:
        return {}
    reasons = rows.column(UNENCODED).to_pylist()
    return {row: UnencodableRow(why) for row, why in enumerate(reasons) if why is not None}


def _rows_where(mask: pa.BooleanArray) -> list[int]:
    import pyarrow.compute as pc

    rows: list[int] = pc.indices_nonzero(mask.fill_null(fill_value=False)).to_pylist()
    return rows
