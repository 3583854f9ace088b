"""A test that uses the test driver, its topics, a timeline or a mock context wrongly is told so in its own words."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from millstream.streams import (
    Materialized,
    PunctuationType,
    StreamsBuilder,
    StreamsConfig,
    Topology,
)
from millstream.streams.errors import SerializationError
from millstream.streams.queries import KeyQuery, StateQueryRequest, StoreQueryParameters
from millstream.streams.serdes import Serde, long, string
from millstream.testing import MockProcessorContext, TopologyTestDriver, timeline


def builder() -> StreamsBuilder:
    given = StreamsBuilder()
    counts = given.stream("in", key=string(), value=string()).group_by_key()
    counts.count(materialized=Materialized("counts")).to_stream().to("out")
    return given


def topology() -> Topology:
    return builder().build()


def driver() -> TopologyTestDriver:
    return TopologyTestDriver(topology(), StreamsConfig("app"))


def pipe(key: object = "a", value: object = "b", **options: object) -> None:
    driver().input_topic("in", key=string(), value=string()).pipe(key, value, **options)


REFUSED: dict[str, tuple[Callable[[], object], str]] = {
    "a builder": (
        lambda: TopologyTestDriver(builder()),
        "TopologyTestDriver: what build() gives, the topology, must be a Topology, not StreamsBuilder",
    ),
    "settings": (
        lambda: TopologyTestDriver(topology(), {"application.id": "app"}),
        "TopologyTestDriver: config must be a StreamsConfig, not dict",
    ),
    "topic to pipe into": (
        lambda: driver().input_topic(5, key=string(), value=string()),
        "input_topic: topic must be a str, not int",
    ),
    "topic to read": (
        lambda: driver().output_topic(None, key=string(), value=string()),
        "output_topic: topic must be a str, not NoneType",
    ),
    "serde": (
        lambda: driver().input_topic("in", key=str, value=string()),
        "a topic of the driver: key must be a Serde, not <class 'str'>",
    ),
    "start": (
        lambda: driver().input_topic("in", key=string(), value=string(), start_ms="noon"),
        "input_topic: start_ms must be an int, not str",
    ),
    "advance": (
        lambda: driver().input_topic("in", key=string(), value=string(), advance=5),
        "durations are timedelta, not 5",
    ),
    "timestamp": (
        lambda: pipe(at="noon"),
        "the timestamp of a record for in must be an int, not str",
    ),
    "headers": (
        lambda: pipe(at=1, headers={"from": b"web"}),
        "headers of a record for in are a tuple of pairs of a name and bytes or None",
    ),
    "wall clock": (lambda: driver().advance_wall_clock(5), "durations are timedelta, not 5"),
    "query": (
        lambda: driver().query("counts"),
        "query: request must be a StateQueryRequest, not str",
    ),
    "partitions of a query": (
        lambda: StateQueryRequest("counts", KeyQuery("a"), partitions=0),
        "StateQueryRequest: partitions must be a Collection, not int",
    ),
    "bound of a query": (
        lambda: StateQueryRequest("counts", KeyQuery("a"), position_bound={"in": 5}),
        "StateQueryRequest: position_bound of a topic must be a Mapping, not int",
    ),
    "view": (
        lambda: driver().store("counts"),
        "store: parameters must be a StoreQueryParameters, not str",
    ),
    "type of a view": (
        lambda: StoreQueryParameters("counts", "key-value"),
        "StoreQueryParameters: type must be a QueryableStoreType, not str",
    ),
    "input of a timeline": (
        lambda: timeline(topology(), [("in", "a", "b")]),
        "an input of a timeline is (topic, key, value, timestamp in ms), or a timedelta, not ('in'",
    ),
    "stores of a timeline": (
        lambda: timeline(topology(), [], stores="counts"),
        "timeline: stores are names of stores, not one str: write ['counts']",
    ),
    "forward of a mock": (
        lambda: MockProcessorContext().forward(("a", "b")),
        "what the processor forwards must be a Record, not tuple",
    ),
    "schedule of a mock": (
        lambda: MockProcessorContext().schedule(timedelta(1), PunctuationType.STREAM_TIME, 5),
        "the processor: the callback of a punctuation must be callable, not 5",
    ),
    "store of a mock": (
        lambda: MockProcessorContext().add_store("counts"),
        "add_store: spec must be a StoreSpec, not str",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_wrong_argument_of_the_driver_is_named(case: str) -> None:
    call, sentence = REFUSED[case]
    with pytest.raises(TypeError) as refused:
        call()
    assert str(refused.value).startswith(sentence)


def test_what_a_serde_cannot_write_names_topic_and_serde() -> None:
    with pytest.raises(SerializationError) as refused:
        pipe(5)
    assert str(refused.value).startswith(
        "input topic in: its serde string cannot write the key 5: "
    )


def test_what_a_serde_cannot_read_names_topic_and_serde() -> None:
    with driver() as given:
        given.input_topic("in", key=string(), value=string()).pipe("a", "b", at=1)
        with pytest.raises(SerializationError) as refused:
            given.output_topic("out", key=long(), value=long()).read()
    assert str(refused.value).startswith(
        "output topic out: its serde long cannot read the key b'a': "
    )


def test_the_wall_clock_does_not_go_back() -> None:
    with pytest.raises(ValueError, match="time does not go back: advance by -1 day"):
        driver().advance_wall_clock(timedelta(days=-1))


def test_a_serde_that_gives_no_bytes_is_found_before_a_producer_finds_it() -> None:
    text = Serde("text", encode=str, decode=bytes.decode)
    given = StreamsBuilder()
    given.stream("in", key=string(), value=string()).to("out", value=text)
    with TopologyTestDriver(given.build()) as running:
        topic = running.input_topic("in", key=string(), value=string())
        with pytest.raises(
            SerializationError, match="the serde of the value of topic out gave 'b'"
        ):
            topic.pipe("a", "b", at=1)
