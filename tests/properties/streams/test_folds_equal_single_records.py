"""Aggregations whose rows are read and written once a batch give what record-at-a-time processing gives:
the same records in the same order, the same changelogs, the same rows.
"""

from __future__ import annotations

from datetime import timedelta

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from millstream.streams import (
    Materialized,
    SessionWindows,
    SlidingWindows,
    StreamsBuilder,
    StreamsConfig,
    TimeWindows,
    UnlimitedWindows,
)
from millstream.streams.aggregates import sum_of
from millstream.streams.kernel import ArrowBytes, RawBatch, StreamTask
from millstream.streams.serdes import json, long, session_windowed, string, time_windowed
from millstream.streams.state import in_memory_stores


def ms(count: int) -> timedelta:
    return timedelta(milliseconds=count)


LONG = 30_000
"""Stretches windows and times over many segments of a store, which are deleted on the way."""
WINDOWS = {
    "tumbling": TimeWindows.tumbling(ms(10), grace=ms(5)),
    "hopping": TimeWindows.hopping(ms(10), ms(4), grace=ms(7)),
    "unlimited": UnlimitedWindows(20),
    "sliding": SlidingWindows.of(ms(10), grace=ms(5)),
    "sessions": SessionWindows.of(ms(6), grace=ms(5)),
    "sliding that expire": SlidingWindows.of(ms(10 * LONG), grace=ms(5 * LONG)),
    "sessions that expire": SessionWindows.of(ms(6 * LONG), grace=ms(5 * LONG)),
}


def sum_or_nothing(_key: str, value: str | None, total: int) -> int | None:
    """Some records delete the row, some are null where windows let them through."""
    return None if value == "delete" else total + len(value or "")


def merged_sums(_key: str, one: int, other: int) -> int:
    return one + other


def merged_lists(_key: str, one: list[str | None], other: list[str | None]) -> list[str | None]:
    return one + other


def collected(_key: str, value: str | None, words: list[str | None]) -> list[str | None]:
    words.append(value)  # whoever keeps this list would see it change
    return words[-3:]


def key_serde(windowed: str | None):
    if windowed is None:
        return string()
    if "sessions" in windowed:
        return session_windowed(string())
    return time_windowed(string(), WINDOWS[windowed].size_ms)


def aggregated(kind: str, windowed: str | None):
    builder = StreamsBuilder()
    grouped = builder.stream("in").group_by_key()
    if windowed is not None:
        grouped = grouped.windowed_by(WINDOWS[windowed])
    kept = Materialized(store="rows")
    value = long()
    if kind == "count":
        table = grouped.count(materialized=kept)
    elif kind == "reduce":
        value = string()
        table = grouped.reduce(lambda one, other: f"{one}{other}"[-9:], materialized=kept)
    elif kind == "sum_of":
        table = grouped.aggregate(sum_of(len), materialized=kept)
    elif kind == "aggregate":
        merger = {"merger": merged_sums} if "sessions" in (windowed or "") else {}
        table = grouped.aggregate(
            lambda: 0, sum_or_nothing, value=value, materialized=kept, **merger
        )
    else:
        value = json()
        merger = {"merger": merged_lists} if "sessions" in (windowed or "") else {}
        table = grouped.aggregate(list, collected, value=value, materialized=kept, **merger)
    key = key_serde(windowed)
    table.to_stream().to("all", key=key, value=value)
    table.filter(lambda _key, count: count != 2).to_stream().to("some", key=key, value=value)
    return builder.build()


def run(topology, raw: RawBatch, batch_max: int, cache_bytes: int):
    config = StreamsConfig(
        "app",
        default_key=string(),
        default_value=string(),
        batch_records_max=batch_max,
        cache_max_bytes=cache_bytes,
    )
    task = StreamTask(topology, 0, 0, in_memory_stores(), config)
    task.add("in", raw)
    outputs = [task.process(0), task.prepare_commit().output]
    task.commit()
    rows = {name: list(store.rows.scan(b"", None)) for name, store in task.stores.items()}
    written = [
        [(b.topic, list(b.keys), list(b.values), b.timestamps, b.headers) for b in batches.values()]
        for output in outputs
        for batches in (output.sinks, output.changelogs)
    ]
    return written, rows, (task.dropped.total, task.dropped.take()), task.stores["rows"].times


RECORDS = st.lists(
    st.tuples(
        st.sampled_from([b"a", b"b", b"c", None]),
        st.sampled_from([b"x", b"yy", b"delete", None]),
        st.integers(0, 60),
        st.booleans(),
    ),
    min_size=1,
    max_size=40,
)


@pytest.mark.parametrize("cache_bytes", [0, 1 << 20])
@pytest.mark.parametrize("windowed", [None, *WINDOWS])
@pytest.mark.parametrize("kind", ["count", "reduce", "aggregate", "sum_of", "mutable"])
@settings(max_examples=15, deadline=None)
@given(records=RECORDS)
def test_rows_written_together_are_those_written_one_by_one(
    kind: str, windowed: str | None, cache_bytes: int, records
) -> None:
    keys, values, timestamps, marked = (list(column) for column in zip(*records, strict=True))
    if "expire" in (windowed or ""):
        timestamps = [at * LONG for at in timestamps]
    headers = [(("h", b"1"),) if mark and not cache_bytes else () for mark in marked]
    raw = RawBatch(keys, values, timestamps, range(len(keys)), headers)
    topology = aggregated(kind, windowed)
    one_by_one = run(topology, raw, 1, cache_bytes)
    assert run(topology, raw, 7, cache_bytes) == one_by_one
    assert run(topology, raw, 1000, cache_bytes) == one_by_one
    raw.keys, raw.values = (ArrowBytes(pa.array(each, pa.binary())) for each in (keys, values))
    assert run(topology, raw, 1000, cache_bytes) == one_by_one
