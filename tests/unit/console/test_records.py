from __future__ import annotations

import pyarrow as pa

from millstream.console.views.payload import Payload
from millstream.console.views.records import HeaderRow, RecordRow, record_rows, time_text

HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))


def batch(headers: pa.Array) -> pa.RecordBatch:
    return pa.record_batch(
        {
            "key": pa.array([None], pa.binary()),
            "value": pa.array([b"x"], pa.binary()),
            "offset": pa.array([41], pa.int64()),
            "timestamp": pa.array([1_356_998_400_123], pa.int64()),
            "headers": headers,
        }
    )


def text(content: str) -> Payload:
    return Payload(content, "text", len(content), is_truncated=False)


def test_a_row_has_everything_of_its_record() -> None:
    headers = pa.array([[{"key": "source", "value": b"faa"}, {"key": "n", "value": None}]], HEADERS)
    assert record_rows(batch(headers)) == [
        RecordRow(
            41,
            1_356_998_400_123,
            "2013-01-01T00:00:00.123Z",
            None,
            text("x"),
            (HeaderRow(text("source"), text("faa")), HeaderRow(text("n"), None)),
        )
    ]


def test_a_header_name_that_is_no_text_is_hex() -> None:
    """The protocol says string; nobody checks what producers write."""
    names = pa.Array.from_buffers(
        pa.string(), 1, [None, pa.py_buffer(b"\0\0\0\0\2\0\0\0"), pa.py_buffer(b"\xff\xfe")]
    )
    pairs = pa.StructArray.from_arrays([names, pa.array([b""], pa.binary())], ["key", "value"])
    headers = pa.ListArray.from_arrays(pa.array([0, 1], pa.int32()), pairs)
    assert record_rows(batch(headers))[0].headers[0].name == Payload(
        "ff fe", "hex", 2, is_truncated=False
    )


def test_a_number_that_is_no_time_has_no_text() -> None:
    assert time_text(-1) is None
    assert time_text(2**62) is None
    assert time_text(0) == "1970-01-01T00:00:00.000Z"
