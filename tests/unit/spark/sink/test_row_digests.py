"""The digest of a writer's rows: equal for equal records, and for no others."""

from __future__ import annotations

import itertools
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.spark.sink.digests import RowDigest

HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
TYPES = {"key": pa.binary(), "value": pa.string(), "headers": HEADERS, "partition": pa.int32()}

headers = st.lists(st.tuples(st.text(max_size=2), st.none() | st.binary(max_size=2)), max_size=3)
rows = st.lists(
    st.fixed_dictionaries(
        {
            "key": st.none() | st.binary(max_size=3),
            "value": st.none() | st.text(max_size=3),
            "headers": st.none() | headers,
            "partition": st.none() | st.integers(0, 3),
        }
    )
)


def batch_of(records: list[dict[str, Any]]) -> pa.RecordBatch:
    columns = {name: [each.get(name) for each in records] for name in TYPES}
    return pa.RecordBatch.from_pydict(
        {name: pa.array(values, TYPES[name]) for name, values in columns.items()}
    )


def digest(*batches: pa.RecordBatch) -> tuple[int, int]:
    made = RowDigest()
    for batch in batches:
        made.add(batch)
    return made.records, made.value


@given(records=rows, cuts=st.lists(st.integers(0, 20)), random=st.randoms())
def test_order_and_cuts_do_not_count(
    records: list[dict[str, Any]], cuts: list[int], random: Any
) -> None:
    """A shuffle brings the rows of a Spark partition in another order each time."""
    whole = batch_of(records)
    places = sorted({0, len(records), *(cut for cut in cuts if cut <= len(records))})
    parts = [whole.slice(start, end - start) for start, end in itertools.pairwise(places)]
    shuffled = random.sample(records, len(records))
    assert digest(whole) == digest(*parts) == digest(batch_of(shuffled))
    assert digest(whole)[0] == len(records)


@pytest.mark.parametrize(
    "other",
    [
        [{"key": b"a", "value": "1"}],
        [{"key": b"a", "value": "2"}, {"key": b"b", "value": "1"}],
        [{"key": b"a", "value": "1"}, {"key": None, "value": "2"}],
        [{"key": b"a", "value": "1"}, {"key": b"", "value": "2"}],
        [{"key": b"a", "value": "1"}, {"key": b"b", "value": None}],
        [{"key": b"a", "value": "1"}, {"key": b"b", "value": ""}],
        [{"key": b"a1", "value": ""}, {"key": b"b", "value": "2"}],
        [{"key": b"a", "value": "1"}, {"key": b"b", "value": "2", "partition": 0}],
        [{"key": b"a", "value": "1"}, {"key": b"b", "value": "2", "headers": [("h", b"")]}],
        [{"key": b"a", "value": "1"}, {"key": b"b", "value": "2", "headers": [("h", None)]}],
    ],
)
def test_records_that_differ_in_anything_differ(other: list[dict[str, Any]]) -> None:
    mine = [{"key": b"a", "value": "1"}, {"key": b"b", "value": "2"}]
    assert digest(batch_of(other)) != digest(batch_of(mine))


def test_the_order_of_a_record_s_headers_counts() -> None:
    first = [{"value": "x", "headers": [("a", b"1"), ("b", b"2")]}]
    second = [{"value": "x", "headers": [("b", b"2"), ("a", b"1")]}]
    assert digest(batch_of(first)) != digest(batch_of(second))


def test_the_bytes_of_a_column_say_nothing_of_where_values_begin() -> None:
    assert digest(batch_of([{"value": "ab"}, {"value": "c"}])) != digest(
        batch_of([{"value": "a"}, {"value": "bc"}])
    )


def test_a_column_of_nulls_is_like_none() -> None:
    alone = pa.RecordBatch.from_pydict({"value": pa.array(["x"], pa.string())})
    assert digest(alone) == digest(batch_of([{"value": "x"}]))


def test_a_topic_counts_where_rows_say_it() -> None:
    def of(topic: str, columns: tuple[str, ...]) -> int:
        made = RowDigest(columns)
        made.add(pa.RecordBatch.from_pydict({"value": ["x"], "topic": [topic]}))
        return made.value

    assert of("a", ("value", "topic")) != of("b", ("value", "topic"))
    assert of("a", ("value",)) == of("b", ("value",))
