"""The records in which rows are kept that cannot be decoded or written."""

from __future__ import annotations

import pyarrow as pa

from millstream.spark.dead_letters import header_columns


def test_an_error_that_quotes_half_of_a_character_is_told() -> None:
    """JSON may hold one ("\\ud800"), UTF-8 may not: the query ended instead, at each start anew."""
    rows = pa.RecordBatch.from_pydict({"value": [b"v"]})
    (headers,) = (
        header_columns(rows, [{"message": "no name: \ud800"}]).column("headers").to_pylist()
    )
    assert [header["value"] for header in headers] == [rb"no name: \ud800"]
