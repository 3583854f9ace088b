"""The header that says where a record comes from is read as it was written, beside whatever else there is."""

from __future__ import annotations

from struct import pack, unpack

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from millstream.records.arrow import HEADERS_TYPE
from millstream.streams.kernel.columns.batch import Headers, SinkBatch
from millstream.streams.kernel.columns.origins import UNKNOWN_UPSTREAM
from millstream.streams.runtime.columns import raw_batch, record_batch
from millstream.streams.runtime.upstreams.origin_headers import origin_header

UPSTREAM = st.integers(0, 2**31 - 1)
TIME = st.integers(-1, 2**63 - 1)
USERS = st.tuples(st.sampled_from(["a", "", "_origin2"]), st.none() | st.binary(max_size=13))
ORIGINS = st.builds(origin_header, UPSTREAM, TIME)
ODD = st.tuples(
    st.just("_origin"), st.none() | st.binary(max_size=20).filter(lambda value: len(value) != 12)
)
OWN = st.lists(USERS, max_size=2).map(tuple) | st.just(())
ROWS = st.lists(ORIGINS.map(lambda header: (header,)), max_size=20) | st.lists(
    st.lists(USERS | ORIGINS | ODD, max_size=3).map(tuple) | st.none(), max_size=20
)


def batch_of(rows: list[Headers | None], first: int, size: int) -> pa.RecordBatch:
    """Returns rows as they are read, a part of a larger batch."""
    headers = [None if each is None else [{"key": k, "value": v} for k, v in each] for each in rows]
    whole = pa.RecordBatch.from_pydict(
        {
            "key": pa.nulls(len(rows), pa.binary()),
            "value": pa.nulls(len(rows), pa.binary()),
            "offset": pa.array(range(len(rows)), pa.int64()),
            "timestamp": pa.array(range(1_000, 1_000 + len(rows)), pa.int64()),
            "headers": pa.array(headers, HEADERS_TYPE),
        }
    )
    return whole.slice(first, size)


def expected(row: Headers | None, timestamp: int) -> tuple[int, int, Headers]:
    """Returns upstream task, origin time and the other headers, as a reader of one record finds them."""
    headers = list(row or ())
    for place in reversed(range(len(headers))):
        name, value = headers[place]
        if name == "_origin" and value is not None and len(value) == 12:
            upstream, time = unpack(">iq", value)
            del headers[place]
            return upstream, time, tuple(headers)
    return UNKNOWN_UPSTREAM, timestamp, tuple(headers)


@given(ROWS, st.integers(0, 5), st.integers(0, 20))
def test_every_record_is_read_as_if_it_stood_alone(
    rows: list[Headers | None], first: int, size: int
) -> None:
    raw = raw_batch(batch_of(rows, first, size), is_aligned=True)
    assert raw.origins is not None
    upstreams, times = raw.origins.upstreams, raw.origins.times
    headers = raw.headers or [()] * len(raw)
    found = list(zip(upstreams.tolist(), times.tolist(), headers, strict=True))
    assert found == [
        expected(row, 1_000 + at) for at, row in [*enumerate(rows)][first : first + size]
    ]
    assert (upstreams.dtype, times.dtype) == (np.int64, np.int64)
    assert raw.headers is None or any(raw.headers), "None where no record has any"


@given(st.lists(st.tuples(OWN, TIME), max_size=20), UPSTREAM, st.booleans())
def test_what_is_written_comes_back(
    rows: list[tuple[Headers, int]], upstream: int, has_headers: bool
) -> None:
    own: list[Headers] = [headers if has_headers else () for headers, _ in rows]
    times = np.array([time for _, time in rows], np.int64)
    written = record_batch(
        SinkBatch(
            *("r", [b"k"] * len(rows), [None] * len(rows), [5] * len(rows), own),
            origin_times=times,
        ),
        upstream,
    )
    written.validate(full=True)
    assert written.schema.field("headers").type == HEADERS_TYPE
    assert written.column("headers").to_pylist() == [
        [{"key": k, "value": v} for k, v in (*headers, ("_origin", pack(">iq", upstream, time)))]
        for headers, time in zip(own, times.tolist(), strict=True)
    ]
    offsets = pa.array(range(len(rows)), pa.int64())
    raw = raw_batch(written.append_column("offset", offsets), is_aligned=True)
    assert raw.origins is not None
    assert raw.origins.times.tolist() == times.tolist()
    assert raw.origins.upstreams.tolist() == [upstream] * len(rows)
    assert (raw.headers or [()] * len(rows)) == own
