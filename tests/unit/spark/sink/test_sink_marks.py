"""What the mark of an exactly-once sink says about an attempt."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.spark.sink.marks import (
    Attempt,
    BatchChanged,
    BatchMark,
    RowDigest,
    attempt_after,
    require_same,
)

NOW = BatchMark(query="q", batch=7, run="run 2", write="w")


def test_a_mark_comes_back_as_it_was_written() -> None:
    mark = replace(NOW, records=12, digest=99)
    assert BatchMark.decode(mark.encode()) == mark


@pytest.mark.parametrize(
    "metadata", ["", "text", "[]", "{}", '{"v":2,"query":"q"}', '{"v":1,"x":1}']
)
def test_what_no_sink_has_written_is_no_mark(metadata: str) -> None:
    assert BatchMark.decode(metadata) is None


@pytest.mark.parametrize(
    ("marks", "expected"),
    [
        ([], Attempt.WRITE),
        ([replace(NOW, batch=6)], Attempt.WRITE),
        ([replace(NOW, batch=3)], Attempt.WRITE),
        ([replace(NOW, query="another")], Attempt.WRITE),
        ([replace(NOW, run="run 1", write="v")], Attempt.COMPARE),
        ([NOW], Attempt.COMPARE),
        ([replace(NOW, batch=8, write="v")], Attempt.COMPARE),
        ([replace(NOW, batch=5), replace(NOW, run="run 1")], Attempt.COMPARE),
    ],
)
def test_the_newest_mark_of_the_query_decides(marks: list[BatchMark], expected: Attempt) -> None:
    assert attempt_after(marks, NOW) is expected


def test_two_writes_of_one_micro_batch_cannot_share_a_prefix() -> None:
    with pytest.raises(BatchChanged, match="a prefix of its own"):
        attempt_after([replace(NOW, write="another write")], NOW)


def test_other_rows_than_before_are_refused() -> None:
    before = replace(NOW, run="run 1", records=3, digest=1)
    require_same([before, replace(NOW, batch=6, records=9)], replace(NOW, records=3, digest=1), 0)
    for records, digest in ((4, 1), (3, 2)):
        with pytest.raises(BatchChanged, match="Spark partition 5 of micro-batch 7 was written"):
            require_same([before], replace(NOW, records=records, digest=digest), 5)


@given(
    rows=st.lists(st.tuples(st.none() | st.binary(max_size=3), st.none() | st.text(max_size=3))),
    cuts=st.lists(st.integers(0, 20)),
)
def test_a_digest_is_the_same_however_rows_are_cut_into_batches(
    rows: list[tuple[bytes | None, str | None]], cuts: list[int]
) -> None:
    keys = pa.array([key for key, _ in rows], pa.binary())
    values = pa.array([value for _, value in rows], pa.string())
    batch = pa.RecordBatch.from_arrays([keys, values], ["key", "value"])
    whole, parts = RowDigest(), RowDigest()
    whole.add(batch)
    places = sorted({0, len(rows), *(cut for cut in cuts if cut <= len(rows))})
    for start, end in itertools.pairwise(places):
        parts.add(batch.slice(start, end - start))
    assert (parts.records, parts.value) == (whole.records, whole.value) == (len(rows), whole.value)


def test_other_values_give_another_digest() -> None:
    digests = set()
    for values in (["a", "b"], ["b", "a"], ["a", "c"], ["a"]):
        digest = RowDigest()
        digest.add(pa.RecordBatch.from_pydict({"value": pa.array(values)}))
        digests.add(digest.value)
    assert len(digests) == 4
