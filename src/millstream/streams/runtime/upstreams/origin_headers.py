"""The headers in which records of a repartition topic say where they come from, column by column (ADR 0021).

The first record of a record batch has `_origin` before its own headers: the partition of the task that wrote all of the
batch (int32). A record whose origin time is not its timestamp, or that has headers of its own, has `_origin` behind
them: that partition, and its origin time (int64, milliseconds). Numbers are big-endian. Records go on without both, and
with all others, also those of users that are called the same.
"""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING, Final

from millstream.streams.kernel.columns.batch import Headers, SinkBatch
from millstream.streams.kernel.columns.origins import UNKNOWN_UPSTREAM

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

    from millstream.streams.kernel.columns.batch import Numbers

    Found = tuple[list[Headers] | None, Numbers, Numbers]

ORIGIN_HEADER: Final = "_origin"
_UPSTREAM: Final = Struct(">i")
_VALUE: Final = Struct(">iq")
_NO_TIME: Final = -1
"""Stands for an origin time that nobody has said; it becomes that of the record before."""


def batch_header(upstream: int) -> tuple[str, bytes]:
    """Returns the header that the first record of each record batch has before its own."""
    return ORIGIN_HEADER, _UPSTREAM.pack(upstream)


def origin_header(upstream: int, origin_time: int) -> tuple[str, bytes]:
    """Returns the header that a record has behind its own, whatever batch it comes into."""
    return ORIGIN_HEADER, _VALUE.pack(upstream, origin_time)


def origin_headers(batch: SinkBatch, timestamps: Numbers, upstream: int) -> pa.Array | None:
    """Returns the headers of all records, their own and what says where each comes from;
    None where no record needs any.

    `timestamps`: those of the batch, as an array.
    """
    import numpy as np
    import pyarrow as pa

    from millstream.records.arrow import HEADERS_TYPE

    times = batch.origin_times
    assert times is not None, "asked for only where the records have them"
    if any(batch.headers):
        return pa.array(
            [
                [{"key": k, "value": v} for k, v in (*each, origin_header(upstream, time))]
                for each, time in zip(batch.headers, times.tolist(), strict=True)
            ],
            HEADERS_TYPE,
        )
    differs = times != timestamps
    count = int(np.count_nonzero(differs))
    if not count:
        return None
    values = np.empty(count, [("upstream", ">i4"), ("time", ">i8")])
    values["upstream"], values["time"] = upstream, times[differs]
    name = ORIGIN_HEADER.encode()
    columns = [
        _fixed_width(pa.string(), count, name * count, len(name)),
        _fixed_width(pa.binary(), count, values, _VALUE.size),
    ]
    structs = pa.StructArray.from_arrays(columns, fields=list(HEADERS_TYPE.value_type))
    offsets = np.concatenate([[0], np.cumsum(differs)]).astype(np.int32)
    return pa.Array.from_buffers(
        HEADERS_TYPE, len(batch), [None, pa.py_buffer(offsets)], children=[structs]
    )


def headers_and_origins(records: pa.RecordBatch) -> Found:
    """Returns the other headers of the records, None where none has any, and of each record its
    upstream task and its origin time.

    Records without them, as Kafka Streams writes them, come from an unknown task at the times that they bear.
    """
    import numpy as np

    headers = records.column("headers")
    names, values = headers.flatten().flatten()
    first = _first_rows(records)
    counts = _header_counts(headers)
    if len(names) == len(first) == np.count_nonzero(counts[first]):  # as nearly all batches
        told = list(zip(names.to_pylist(), values.to_pylist(), strict=True))
        if all(_is_ours(*header, _UPSTREAM) for header in told):
            of_each = np.array([_UPSTREAM.unpack(value)[0] for _, value in told], np.int64)
            return None, _of_batches(of_each, first, len(headers)), _told_by_timestamps(records)
    places = np.repeat(np.arange(len(headers)), counts)
    sizes = _sizes(names, values)
    if sizes is None:
        return _one_by_one(records)
    of_batches = np.flatnonzero(sizes == _UPSTREAM.size)
    of_records = np.flatnonzero(sizes == _VALUE.size)
    begun, rows = places[of_batches], places[of_records]
    are_in_front = np.isin(begun, first) & (np.searchsorted(places, begun) == of_batches)
    if not are_in_front.all() or not np.diff(rows).all():  # some is of a user
        return _one_by_one(records)
    upstreams = np.full(len(headers), UNKNOWN_UPSTREAM, np.int64)
    upstreams[begun] = _matrix(values, of_batches, _UPSTREAM.size).view(">i4")[:, 0]
    upstreams = _of_batches(upstreams[first], first, len(headers))
    times = _told_by_timestamps(records).copy()
    data = _matrix(values, of_records, _VALUE.size)
    upstreams[rows] = np.ascontiguousarray(data[:, :4]).view(">i4")[:, 0]
    times[rows] = np.ascontiguousarray(data[:, 4:]).view(">i8")[:, 0]
    return None, upstreams, times


def _sizes(names: pa.Array, values: pa.Array) -> npt.NDArray[np.int32] | None:
    """Returns how long the value of each header is; None where one is not ours."""
    import numpy as np
    import pyarrow.compute as pc

    if values.null_count or not pc.all(pc.equal(names, ORIGIN_HEADER)).as_py():
        return None
    sizes: npt.NDArray[np.int32] = pc.binary_length(values).to_numpy()
    return sizes if np.isin(sizes, (_UPSTREAM.size, _VALUE.size)).all() else None


def _matrix(values: pa.Array, chosen: npt.NDArray[np.intp], size: int) -> npt.NDArray[np.uint8]:
    """Returns the bytes of some values, all of one size, a row each."""
    import numpy as np

    _, offsets, data = values.buffers()
    begins = np.frombuffer(offsets, np.int32)[values.offset : values.offset + len(values)]
    places = begins[chosen][:, np.newaxis] + np.arange(size)
    found: npt.NDArray[np.uint8] = np.frombuffer(data or b"", np.uint8)[places]
    return found


def _first_rows(records: pa.RecordBatch) -> npt.NDArray[np.intp]:
    """Returns where each record batch begins."""
    import numpy as np

    bases = records.column("baseOffset").to_numpy()
    is_first = np.ones(len(bases), np.bool_)
    np.not_equal(bases[1:], bases[:-1], out=is_first[1:])
    return np.flatnonzero(is_first)


def _of_batches(values: Numbers, first: npt.NDArray[np.intp], rows: int) -> Numbers:
    """Returns a column that has one value for all records of a batch."""
    import numpy as np

    return np.repeat(values, np.diff(np.append(first, rows)))


def _header_counts(headers: pa.Array) -> npt.NDArray[np.int32]:
    import numpy as np

    offsets = np.frombuffer(headers.buffers()[1], np.int32)
    return np.diff(offsets[headers.offset : headers.offset + len(headers) + 1])


def _told_by_timestamps(records: pa.RecordBatch) -> Numbers:
    """Returns the origin times of records that say none: their timestamps, unless the
    broker has put its own time there.
    """
    import numpy as np

    times: Numbers = records.column("timestamp").to_numpy()
    is_append_time = records.column("timestampType").to_numpy()
    return np.where(is_append_time, _NO_TIME, times) if is_append_time.any() else times


def _one_by_one(records: pa.RecordBatch) -> Found:
    import numpy as np

    left: list[Headers] = []
    upstreams: list[int] = []
    times = _told_by_timestamps(records).copy()
    base, of_batch = None, UNKNOWN_UPSTREAM
    rows = zip(
        records.column("headers").to_pylist(), records.column("baseOffset").to_pylist(), strict=True
    )
    for row, (headers, base_offset) in enumerate(rows):
        own = [(header["key"], header["value"]) for header in headers or ()]
        if base_offset != base:
            base, of_batch = base_offset, UNKNOWN_UPSTREAM
            if own and _is_ours(*own[0], _UPSTREAM):
                (of_batch,) = _UPSTREAM.unpack(own.pop(0)[1])
        upstream = of_batch
        found = [place for place, header in enumerate(own) if _is_ours(*header, _VALUE)]
        if found:  # those before it are of users
            upstream, times[row] = _VALUE.unpack(own.pop(found[-1])[1])
        left.append(tuple(own))
        upstreams.append(upstream)
    return (left if any(left) else None), np.asarray(upstreams, np.int64), times


def _is_ours(name: str, value: bytes | None, layout: Struct) -> bool:
    return name == ORIGIN_HEADER and value is not None and len(value) == layout.size


def _fixed_width(kind: pa.DataType, rows: int, data: object, size: int) -> pa.Array:
    """Returns rows that are equally long. A batch is far below the 2 GB that such a place can say."""
    import numpy as np
    import pyarrow as pa

    offsets = pa.py_buffer(np.arange(rows + 1, dtype=np.int32) * np.int32(size))
    return pa.Array.from_buffers(kind, rows, [None, offsets, pa.py_buffer(data)])
