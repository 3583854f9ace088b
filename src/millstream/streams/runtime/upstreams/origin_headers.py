"""The header in which a record of a repartition topic says where it comes from, column by column (ADR 0021).

`_origin`: the partition of the task that wrote the record (int32) and its origin time (int64, milliseconds), both big-endian. The last header
of that name and size counts; records go on without it, and with all others, also those of users that are called the same.
"""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING, Final

from millstream.streams.kernel.columns.batch import Headers, SinkBatch
from millstream.streams.kernel.columns.origins import UNKNOWN_UPSTREAM, Origins

if TYPE_CHECKING:
    import pyarrow as pa

ORIGIN_HEADER: Final = "_origin"
_VALUE: Final = Struct(">iq")
_DTYPE: Final = [("upstream", ">i4"), ("time", ">i8")]


def origin_header(upstream: int, origin_time: int) -> tuple[str, bytes]:
    """Returns the header of one record."""
    return ORIGIN_HEADER, _VALUE.pack(upstream, origin_time)


def origin_headers(batch: SinkBatch, upstream: int) -> pa.Array:
    """Returns the headers of all records, with what says where each comes from behind its own."""
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
    rows = len(batch)
    values = np.empty(rows, _DTYPE)
    values["upstream"], values["time"] = upstream, times
    name = ORIGIN_HEADER.encode()
    columns = [
        _fixed_width(pa.string(), rows, name * rows, len(name)),
        _fixed_width(pa.binary(), rows, values, _VALUE.size),
    ]
    structs = pa.StructArray.from_arrays(columns, fields=list(HEADERS_TYPE.value_type))
    return pa.Array.from_buffers(HEADERS_TYPE, rows, [None, _offsets(rows, 1)], children=[structs])


def headers_and_origins(records: pa.RecordBatch) -> tuple[list[Headers] | None, Origins]:
    """Returns the other headers of the records, None where none has any, and where the records come from.

    A record without the header, as Kafka Streams writes it, comes from an unknown task at the time that it bears.
    """
    import numpy as np

    values = _only_origins(records.column("headers"))
    if values is None:
        return _one_by_one(records)
    found = np.frombuffer(values.buffers()[2], _DTYPE, len(values), values.offset * _VALUE.size)
    return None, Origins(found["upstream"].astype(np.int64), found["time"].astype(np.int64))


def _only_origins(headers: pa.Array) -> pa.Array | None:
    """Returns the values of the headers where each record has one, of this name and of the right size; else None."""
    import pyarrow.compute as pc

    if not len(headers) or headers.null_count:
        return None
    if pc.min_max(pc.list_value_length(headers)).as_py() != {"min": 1, "max": 1}:
        return None
    names, values = headers.flatten().flatten()
    sizes = pc.min_max(pc.binary_length(values)).as_py()
    if values.null_count or sizes != {"min": _VALUE.size, "max": _VALUE.size}:
        return None
    is_origin = bool(pc.all(pc.equal(names, ORIGIN_HEADER)).as_py())
    return values if is_origin and _begins_at_zero(values) else None


def _begins_at_zero(values: pa.Array) -> bool:
    """Whether the bytes of row n stand at n times their size, as they do where nothing was cut off before."""
    import numpy as np

    offsets = np.frombuffer(values.buffers()[1], np.int32, len(values) + 1, values.offset * 4)
    first: int = offsets[0].item()
    begin: int = values.offset * _VALUE.size
    return first == begin


def _one_by_one(records: pa.RecordBatch) -> tuple[list[Headers] | None, Origins]:
    import numpy as np

    left: list[Headers] = []
    upstreams: list[int] = []
    times: list[int] = []
    rows = zip(
        records.column("headers").to_pylist(), records.column("timestamp").to_pylist(), strict=True
    )
    for headers, timestamp in rows:
        upstream, time = UNKNOWN_UPSTREAM, timestamp
        own = [(header["key"], header["value"]) for header in headers or ()]
        found = [place for place, header in enumerate(own) if _is_origin(*header)]
        if found:  # those before it are of users
            upstream, time = _VALUE.unpack(own.pop(found[-1])[1])
        left.append(tuple(own))
        upstreams.append(upstream)
        times.append(time)
    origins = Origins(np.asarray(upstreams, np.int64), np.asarray(times, np.int64))
    return (left if any(left) else None), origins


def _is_origin(name: str, value: bytes | None) -> bool:
    return name == ORIGIN_HEADER and value is not None and len(value) == _VALUE.size


def _fixed_width(kind: pa.DataType, rows: int, data: object, size: int) -> pa.Array:
    import pyarrow as pa

    return pa.Array.from_buffers(kind, rows, [None, _offsets(rows, size), pa.py_buffer(data)])


def _offsets(rows: int, size: int) -> pa.Buffer:
    """The places of rows that are equally long. A batch is far below the 2 GB that such a place can say."""
    import numpy as np
    import pyarrow as pa

    return pa.py_buffer(np.arange(rows + 1, dtype=np.int32) * np.int32(size))
