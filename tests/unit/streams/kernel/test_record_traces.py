"""Traces of records: in the test driver, and of one record of so many in a task."""

from __future__ import annotations

import pytest

from millstream.streams import StreamsBuilder, StreamsConfig
from millstream.streams.errors import ProcessingError
from millstream.streams.kernel import RawBatch, StreamTask
from millstream.streams.serdes import long, string
from millstream.streams.state import in_memory_stores
from millstream.streams.topology import Topology
from millstream.streams.tracing import RecordTrace
from millstream.testing import TopologyTestDriver


def _topology() -> Topology:
    builder = StreamsBuilder()
    words = builder.stream("in", key=string(), value=string(), name="words")
    loud = words.filter(lambda _, v: v != "", name="not-empty").map_values(
        lambda v: 1 // (v != "bad") and v.upper(), name="upper"
    )
    loud.to("out", key=string(), value=string(), name="sink")
    return builder.build()


def test_a_trace_is_the_tree_of_the_nodes_that_a_record_came_to() -> None:
    with TopologyTestDriver(_topology()) as driver:
        topic = driver.input_topic("in", key=string(), value=string())
        with driver.traced() as traces:
            topic.pipe("k", "hello")
        topic.pipe("k", "not traced")
    assert [str(each).splitlines() for each in traces] == [
        [
            "in-0 offset 0 (task 0_0)",
            "  words  'k': 'hello' @0",
            "    not-empty  'k': 'hello' @0",
            "      upper  'k': 'hello' @0",
            "        sink  'k': 'HELLO' @0",
        ]
    ]
    assert traces[0].visit("upper").gave["sink"][0].value == "HELLO"


def test_a_node_that_gives_nothing_says_so() -> None:
    with TopologyTestDriver(_topology()) as driver, driver.traced() as traces:
        driver.input_topic("in", key=string(), value=string()).pipe("k", "")
    assert str(traces[0]).splitlines()[-1] == "    not-empty  'k': '' @0 -> nothing"
    with pytest.raises(LookupError, match="did not come to upper"):
        traces[0].visit("upper")


def test_a_failed_record_has_a_trace_that_ends_in_its_error() -> None:
    with (
        TopologyTestDriver(_topology()) as driver,
        driver.traced() as traces,
        pytest.raises(ProcessingError),
    ):
        driver.input_topic("in", key=string(), value=string()).pipe("k", "bad")
    assert "ZeroDivisionError" in (traces[0].visit("upper").error or "")


def test_a_processed_count_shows_its_changes() -> None:
    builder = StreamsBuilder()
    counted = builder.stream("in", key=string(), value=string()).group_by_key().count()
    counted.to_stream().to("out", key=string(), value=long(), name="sink")
    with TopologyTestDriver(builder.build()) as driver, driver.traced() as traces:
        topic = driver.input_topic("in", key=string(), value=string())
        topic.pipe("k", "a")
        topic.pipe("k", "b")
    assert [each.visit("sink").row.value for each in traces] == [1, 2]


def _sampled(records: int, every: int) -> tuple[list[RecordTrace], list[bytes | None]]:
    traces: list[RecordTrace] = []
    config = StreamsConfig("app", trace_every=every, on_trace=traces.append)
    task = StreamTask(_topology(), 0, 0, in_memory_stores(), config)
    values = [str(each).encode() for each in range(records)]
    task.add("in", RawBatch([b"k"] * records, values, [0] * records, range(records)))
    written = list(task.process(0).sinks["out"].values)
    task.close()
    return traces, written


def test_one_record_of_so_many_is_traced_and_none_is_lost() -> None:
    traces, written = _sampled(10, every=4)
    assert [each.offset for each in traces] == [3, 7]
    assert written == [str(each).encode() for each in range(10)]


def test_nothing_is_traced_unless_asked_for() -> None:
    assert _sampled(10, every=0)[0] == []
