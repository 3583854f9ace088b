"""The origin of records of repartition topics, so that the next task counts a repeated write once.

A micro-batch that is repeated after a crash writes its outputs again. In a user's topic those are duplicates; in a
repartition topic the next task would count them twice, because each copy has an offset of its own. So every record that is
written to a repartition topic carries, as its last header, the query, task and micro-batch it was made in and its number
among their records. A repeated micro-batch makes equal records in equal order; the reader keeps, for each task that
writes, the last number it has counted, and leaves out what is not above it. The header never reaches the topology.

Pure, and without a Python object per record where records have no headers of their own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import pyarrow as pa

HEADER: Final = "__origin"
_FIELDS: Final = [("writer", "V20"), ("batch", ">i8"), ("number", ">i4")]
_BYTES: Final = 32
_NUMBER_BITS: Final = 31

Seen = Mapping[str, int]
"""By writer (hexadecimal), micro-batch and number of the last record counted, in one integer."""


@dataclass(frozen=True, slots=True)
class Origin:
    """One run of a task: `query` is Spark's query id (16 bytes, new with each checkpoint), `task` the partition."""

    query: bytes
    task: int
    batch: int

    @property
    def writer(self) -> bytes:
        return self.query + self.task.to_bytes(4, "big")


def add_origin(rows: pa.RecordBatch, origin: Origin) -> pa.RecordBatch:
    """The rows, numbered from 0, with the header behind those they have."""
    import numpy as np
    import pyarrow as pa

    from millstream.records.arrow import HEADER_FIELDS, HEADERS_TYPE

    count = rows.num_rows
    stamps = np.zeros(count, _FIELDS)
    stamps["writer"], stamps["batch"] = np.void(origin.writer), origin.batch
    stamps["number"] = np.arange(count)
    if "headers" in rows.schema.names:
        stamped = [
            [*given, {"key": HEADER, "value": stamp.tobytes()}]
            for given, stamp in zip(rows.column("headers").to_pylist(), stamps, strict=True)
        ]
        at = rows.schema.get_field_index("headers")
        return rows.set_column(at, "headers", pa.array(stamped, HEADERS_TYPE))
    values = pa.Array.from_buffers(
        pa.binary(_BYTES), count, [None, pa.py_buffer(stamps.tobytes())]
    ).cast(pa.binary())
    names = pa.repeat(pa.scalar(HEADER), count)
    one_each = pa.StructArray.from_arrays([names, values], fields=HEADER_FIELDS)
    ends = pa.array(np.arange(count + 1, dtype=np.int32))
    headers = pa.ListArray.from_arrays(ends, one_each, type=HEADERS_TYPE)
    return rows.append_column("headers", headers)


def only_new(rows: pa.RecordBatch, seen: Seen) -> tuple[pa.RecordBatch, dict[str, int]]:
    """The rows that were not counted yet, without the header, and what has been counted after them.

    Rows without the header, written by someone else, are always new.
    """
    import numpy as np
    import pyarrow as pa

    stamped, stamps = _stamps(rows.column("headers"))
    positions = np.flatnonzero(stamped)
    numbers = (stamps["batch"].astype(np.int64) << _NUMBER_BITS) + stamps["number"]
    keep = np.ones(rows.num_rows, bool)
    counted = dict(seen)
    for writer in sorted(set(stamps["writer"].tolist())):
        of_writer = stamps["writer"] == np.void(writer)
        mine = numbers[of_writer]
        before = np.maximum.accumulate(np.concatenate([[counted.get(writer.hex(), -1)], mine]))
        keep[positions[of_writer]] = mine > before[:-1]
        counted[writer.hex()] = int(before[-1])
    rows = _without_header(rows, stamped)
    return (rows if keep.all() else rows.filter(pa.array(keep))), counted


def _stamps(headers: pa.Array) -> tuple[Any, Any]:  # numpy: which rows have the header; its fields
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    lengths = pc.list_value_length(headers).fill_null(0).to_numpy(zero_copy_only=False)
    last = np.cumsum(lengths) - 1
    flat = headers.flatten()
    stamped = lengths > 0
    names = flat.field("key").take(pa.array(last[stamped]))
    stamped[stamped] = pc.equal(names, HEADER).to_numpy(zero_copy_only=False)
    values = flat.field("value").take(pa.array(last[stamped]))
    return stamped, np.frombuffer(b"".join(values.to_pylist()), _FIELDS)


def _without_header(rows: pa.RecordBatch, stamped: Any) -> pa.RecordBatch:  # a numpy array of bool
    import pyarrow as pa
    import pyarrow.compute as pc

    headers = rows.column("headers")
    at = rows.schema.get_field_index("headers")
    if pc.max(pc.list_value_length(headers)).as_py() <= 1 and stamped.all():
        return rows.remove_column(at)
    left = [
        each[:-1] if marked else each
        for each, marked in zip(headers.to_pylist(), stamped, strict=True)
    ]
    return rows.set_column(at, "headers", pa.array(left, headers.type))
