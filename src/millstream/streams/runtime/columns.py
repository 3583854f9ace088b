"""Columns of the kernel from Arrow, and Arrow from columns of the kernel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from millstream.streams.kernel.columns.arrow_bytes import ArrowBytes
from millstream.streams.kernel.columns.batch import RawBatch, SinkBatch
from millstream.streams.kernel.columns.origins import OriginBatch
from millstream.streams.runtime.upstreams.origin_headers import headers_and_origins, origin_headers

if TYPE_CHECKING:
    import pyarrow as pa


def raw_batch(records: pa.RecordBatch) -> RawBatch:
    """Returns the columns of a RangeReader (key, value, offset, timestamp in ms, headers if wanted)
    as the kernel takes them.
    """
    import pyarrow.compute as pc

    headers = None
    if "headers" in records.schema.names and pc.any(_has_headers(records)).as_py():
        headers = [
            tuple((header["key"], header["value"]) for header in each or ())
            for each in records.column("headers").to_pylist()
        ]
    return RawBatch(
        keys=ArrowBytes(records.column("key")),
        values=ArrowBytes(records.column("value")),
        timestamps=records.column("timestamp").to_pylist(),
        offsets=records.column("offset").to_pylist(),
        headers=headers,
    )


def origin_batch(records: pa.RecordBatch) -> OriginBatch:
    """Returns the columns of a topic whose records say where they come from, in headers that nobody else sees.

    Wants whole record batches, with the columns headers, baseOffset and timestampType.
    """
    headers, upstreams, times = headers_and_origins(records)
    return OriginBatch(
        keys=ArrowBytes(records.column("key")),
        values=ArrowBytes(records.column("value")),
        timestamps=records.column("timestamp").to_numpy(),
        offsets=records.column("offset").to_numpy(),
        upstreams=upstreams,
        origin_times=times,
        headers=headers,
    )


def record_batch(batch: SinkBatch, upstream: int) -> pa.RecordBatch:
    """Returns the columns that `Producer.send_batch` takes. `upstream`: the partition of the task that writes.

    Record batches of an aligned topic need `batch_header` besides.
    """
    import pyarrow as pa

    from millstream.records.arrow import HEADERS_TYPE

    columns = {
        "key": binary_array(batch.keys),
        "value": binary_array(batch.values),
        "timestamp": pa.array(batch.timestamps, pa.int64()),
    }
    headers: pa.Array | None = None
    if batch.origin_times is not None:
        headers = origin_headers(batch, columns["timestamp"].to_numpy(), upstream)
    elif any(batch.headers):
        headers = pa.array(
            [[{"key": name, "value": value} for name, value in each] for each in batch.headers],
            HEADERS_TYPE,
        )
    if headers is not None:
        columns["headers"] = headers
    return pa.RecordBatch.from_pydict(columns)


def load_arrow() -> None:
    """Imports what the first columns need, pandas among it, which pyarrow looks for: 0.2 s where it is
    installed, more on a busy machine.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    pc.count(pa.array([None], pa.binary()))


def binary_array(column: Sequence[bytes | None]) -> pa.Array:
    """Returns a column of the kernel as an array."""
    import pyarrow as pa

    return column.array if isinstance(column, ArrowBytes) else pa.array(column, pa.binary())


def _has_headers(records: pa.RecordBatch) -> pa.Array:
    import pyarrow.compute as pc

    return pc.greater(pc.list_value_length(records.column("headers")), 0)
