"""The headers that say where a record comes from are read as they were written, beside whatever else there is."""

from __future__ import annotations

from struct import unpack

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from millstream.clients.core.arrow_batches import encode_rows
from millstream.records.arrow import HEADERS_TYPE, ReadOptions, to_arrow
from millstream.records.batch import iterate_batches, patch_offset_and_epoch
from millstream.records.builder import BatchOptions
from millstream.streams.kernel.columns.batch import Headers, SinkBatch
from millstream.streams.kernel.columns.origins import UNKNOWN_UPSTREAM, OriginBatch
from millstream.streams.runtime.columns import origin_batch, record_batch
from millstream.streams.runtime.upstreams.origin_headers import batch_header, origin_header

UPSTREAM = st.integers(0, 2**31 - 1)
TIME = st.integers(-1, 2**63 - 1)
USERS = st.tuples(st.sampled_from(["a", "", "_origin2"]), st.none() | st.binary(max_size=13))
OURS = st.builds(origin_header, UPSTREAM, TIME) | st.builds(batch_header, UPSTREAM)
ODD = st.tuples(st.just("_origin"), st.none() | st.binary(max_size=20))
ROW = st.lists(OURS, max_size=2).map(tuple) | st.lists(USERS | OURS | ODD, max_size=3).map(tuple)
BATCHES = st.lists(st.lists(ROW, min_size=1, max_size=6), max_size=5)
OWN = st.lists(USERS | ODD, max_size=2).map(tuple) | st.just(())
WHOLE_BATCHES = ReadOptions(headers=True, batch_columns=True, whole_batches=True)


def read(batches: list[list[Headers]]) -> OriginBatch:
    rows = [row for batch in batches for row in batch]
    headers = [[{"key": k, "value": v} for k, v in row] for row in rows]
    bases = [100 * number for number, batch in enumerate(batches) for _ in batch]
    return origin_batch(
        pa.RecordBatch.from_pydict(
            {
                "key": pa.nulls(len(rows), pa.binary()),
                "value": pa.nulls(len(rows), pa.binary()),
                "offset": pa.array(range(len(rows)), pa.int64()),
                "timestamp": pa.array(range(1_000, 1_000 + len(rows)), pa.int64()),
                "headers": pa.array(headers, HEADERS_TYPE),
                "baseOffset": pa.array(bases, pa.int64()),
                "timestampType": pa.array([0] * len(rows), pa.int32()),
            }
        )
    )


def expected(batch: list[Headers], timestamp: int) -> list[tuple[int, int, Headers]]:
    """Returns upstream task, origin time and the other headers of each record, as a reader of one batch finds them."""
    found: list[tuple[int, int, Headers]] = []
    of_batch = UNKNOWN_UPSTREAM
    for row, all_headers in enumerate(batch):
        headers = list(all_headers)
        if row == 0 and headers and headers[0][0] == "_origin" and len(headers[0][1] or b"") == 4:
            (of_batch,) = unpack(">i", headers.pop(0)[1] or b"")
        upstream, time = of_batch, timestamp + row
        for place in reversed(range(len(headers))):
            name, value = headers[place]
            if name == "_origin" and value is not None and len(value) == 12:
                upstream, time = unpack(">iq", value)
                del headers[place]
                break
        found.append((upstream, time, tuple(headers)))
    return found


@given(BATCHES)
def test_every_batch_is_read_as_if_it_stood_alone(batches: list[list[Headers]]) -> None:
    records = read(batches)
    headers = records.headers or [()] * len(records)
    found = list(
        zip(records.upstreams.tolist(), records.origin_times.tolist(), headers, strict=True)
    )
    alone = []
    for batch in batches:
        alone += expected(batch, 1_000 + len(alone))
    assert found == alone
    assert (records.upstreams.dtype, records.origin_times.dtype) == (np.int64, np.int64)
    assert records.headers is None or any(records.headers), "None where no record has any"


@given(
    st.lists(st.tuples(OWN, st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=30),
    UPSTREAM,
    st.booleans(),
    st.integers(100, 400),
    st.integers(0, 30),
)
def test_what_is_written_comes_back_from_wherever_it_is_read(
    rows: list[tuple[Headers, int, int]],
    upstream: int,
    has_headers: bool,
    batch_bytes_max: int,
    start: int,
) -> None:
    own: list[Headers] = [headers if has_headers else () for headers, _, _ in rows]
    timestamps = [timestamp for _, timestamp, _ in rows]
    origin_times = [time for _, _, time in rows]
    written = record_batch(
        SinkBatch(
            *("r", [b"k"] * len(rows), [None] * len(rows), timestamps, own),
            origin_times=np.array(origin_times, np.int64),
        ),
        upstream,
    )
    written.validate(full=True)
    log, offset = b"", 0
    for encoded, count in encode_rows(
        written, BatchOptions(), batch_bytes_max, 0, (batch_header(upstream),)
    ):
        patch_offset_and_epoch(memoryview(encoded), offset, 0)
        log, offset = log + encoded, offset + count
    records = origin_batch(to_arrow(log, start, WHOLE_BATCHES))
    first = records.offsets[0] if len(records) else len(rows)
    bases = [header.base_offset for header, _ in iterate_batches(memoryview(log))]
    assert first == max((base for base in bases if base <= start < len(rows)), default=len(rows))
    assert records.offsets.tolist() == list(range(first, len(rows)))
    assert records.origin_times.tolist() == origin_times[first:]
    assert records.timestamps.tolist() == timestamps[first:]
    assert records.upstreams.tolist() == [upstream] * len(records)
    assert (records.headers or [()] * len(records)) == own[first:]
