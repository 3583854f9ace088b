"""Fetches that wait behind one another are run through the operators together."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pytest

from millstream.streams import StreamsBuilder, StreamsConfig
from millstream.streams.handlers import OnError
from millstream.streams.kernel import ArrowBytes, RawBatch, StreamTask
from millstream.streams.kernel.columns.batch import Headers
from millstream.streams.serdes import bytes_, long, string
from millstream.streams.state import in_memory_stores
from millstream.streams.vectorised import vectorised

RUNS: list[list[str]] = []


@pytest.fixture(autouse=True)
def _no_runs() -> None:
    RUNS.clear()


@vectorised
def noting(values: pa.Array) -> pa.Array:
    RUNS.append(values.to_pylist())
    return values


def arrow(
    values: Sequence[bytes | None], first: int, headers: list[Headers] | None = None
) -> RawBatch:
    column, offsets = ArrowBytes(pa.array(values, pa.binary())), range(first, first + len(values))
    return RawBatch(column, column, list(offsets), offsets, headers)


def lists(values: list[bytes | None], first: int) -> RawBatch:
    offsets = range(first, first + len(values))
    return RawBatch(values, values, list(offsets), offsets)


def noting_task(**settings: int) -> StreamTask:
    builder = StreamsBuilder()
    builder.stream("in", key=string(), value=string()).map_values(noting).to("out")
    config = StreamsConfig("app", default_key=string(), default_value=string(), **settings)  # type: ignore[arg-type]  # numbers only
    return StreamTask(builder.build(), 0, 0, in_memory_stores(), config)


def test_batches_of_arrow_are_one_run() -> None:
    task = noting_task()
    for first, values in ((0, [b"a", b"b"]), (2, [b"c"]), (7, [b"d"])):
        task.add("in", arrow(values, first))
    output = task.process(0)
    assert RUNS == [["a", "b", "c", "d"]]
    assert list(output.sinks["out"].values) == [b"a", b"b", b"c", b"d"]
    assert task.prepare_commit().offsets == {"in": 8}


def test_a_run_has_no_more_records_than_are_wanted() -> None:
    task = noting_task(batch_records_max=3)
    task.add("in", arrow([b"a", b"b"], 0))
    task.add("in", arrow([b"c", b"d"], 2))
    task.process(0)
    assert RUNS == [["a", "b", "c"], ["d"]]


def test_batches_that_came_as_lists_stay_as_they_came() -> None:
    task = noting_task()
    task.add("in", arrow([b"a"], 0))
    task.add("in", lists([b"b"], 1))
    task.add("in", arrow([b"c"], 2))
    task.process(0)
    assert RUNS == [["a"], ["b"], ["c"]]


def test_batches_are_joined_up_to_16_mib() -> None:
    task = noting_task()
    large = b"x" * (6 * 1024 * 1024)
    for first in range(3):
        task.add("in", arrow([large], first))
    task.process(0)
    assert [len(run) for run in RUNS] == [1, 1, 1]  # keys count, too: two are 24 MiB


def test_headers_stay_with_their_records() -> None:
    builder = StreamsBuilder()
    builder.stream("in", key=bytes_(), value=bytes_()).to("out")
    task = StreamTask(builder.build(), 0, 0, in_memory_stores(), StreamsConfig("app"))
    task.add("in", arrow([b"a"], 0))
    task.add("in", arrow([b"b", b"c"], 1, [(("h", b"1"),), ()]))
    sink = task.process(0).sinks["out"]
    assert list(sink.values) == [b"a", b"b", b"c"]
    assert sink.headers == [(), (("h", b"1"),), ()]


def test_a_record_that_cannot_be_read_is_found_among_joined_ones() -> None:
    builder = StreamsBuilder()
    builder.stream("in", key=bytes_(), value=long()).to("out")
    config = StreamsConfig("app", on_deserialization_error=OnError.CONTINUE)
    task = StreamTask(builder.build(), 0, 0, in_memory_stores(), config)
    good = (1).to_bytes(8)
    task.add("in", arrow([good], 0))
    task.add("in", arrow([b"bad", good], 1))
    assert list(task.process(0).sinks["out"].values) == [good, good]
    assert task.dropped.total == 1
    assert task.prepare_commit().offsets == {"in": 3}
