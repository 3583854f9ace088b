"""Input and output topics of the driver, as Java's (inventory J1). Times and orders are those of 4.3.1."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest

from millstream.streams import StreamsBuilder, StreamsConfig
from millstream.streams.errors import StreamsError
from millstream.streams.serdes import string
from millstream.testing import TestOutputTopic, TestRecord, TopologyTestDriver

MS = timedelta(milliseconds=1)


@pytest.fixture
def driver() -> Iterator[TopologyTestDriver]:
    builder = StreamsBuilder()
    builder.stream("in").to("out")
    config = StreamsConfig("app", string(), string())
    with TopologyTestDriver(builder.build(), config, wall_clock_ms=1_000) as running:
        yield running


@pytest.fixture
def out(driver: TopologyTestDriver) -> TestOutputTopic[str, str]:
    return driver.output_topic("out", key=string(), value=string())


def test_records_without_a_time_have_that_of_the_topic(
    driver: TopologyTestDriver, out: TestOutputTopic[str, str]
) -> None:
    records = driver.input_topic("in", start_ms=100, advance=7 * MS)
    records.pipe("k", "a")
    records.pipe_value("b")
    records.pipe("k", "x", at=5)
    records.pipe("k", "c")
    records.advance_time(100 * MS)
    records.pipe("k", "d")
    records.pipe_values(["e", "f"])
    records.pipe_key_values([("q", "g"), ("q", "h")], start_ms=500, advance=3 * MS)
    records.pipe("k", "z")
    records.pipe_records([TestRecord("r", "l", 9, (("h", b"1"),))])
    assert out.read() == [
        TestRecord("k", "a", 100),
        TestRecord(None, "b", 107),
        TestRecord("k", "x", 5),
        TestRecord("k", "c", 114),
        TestRecord("k", "d", 221),
        TestRecord(None, "e", 228),
        TestRecord(None, "f", 235),
        TestRecord("q", "g", 500),
        TestRecord("q", "h", 503),
        TestRecord("k", "z", 242),
        TestRecord("r", "l", 9, (("h", b"1"),)),
    ]


def test_the_time_of_a_topic_is_the_wall_clock_when_it_was_made(
    driver: TopologyTestDriver, out: TestOutputTopic[str, str]
) -> None:
    before = driver.input_topic("in")
    driver.advance_wall_clock(50 * MS)
    before.pipe("k", "a")
    driver.input_topic("in").pipe("k", "b")
    assert [record.timestamp for record in out.read()] == [1_000, 1_050]


def test_time_does_not_go_back(driver: TopologyTestDriver) -> None:
    records = driver.input_topic("in")
    with pytest.raises(ValueError, match="time does not go back"):
        records.advance_time(-MS)
    with pytest.raises(ValueError, match="time does not go back"):
        driver.input_topic("in", advance=-MS)
    with pytest.raises(ValueError, match="time does not go back"):
        records.pipe_values(["a"], start_ms=0, advance=-MS)


def test_one_record_is_read_after_the_other(
    driver: TopologyTestDriver, out: TestOutputTopic[str, str]
) -> None:
    driver.input_topic("in").pipe_key_values([("a", "1"), ("b", "2"), ("c", None)])
    assert out.read_value() == "1"
    assert out.read_key_value() == ("b", "2")
    assert out.queue_size == 1
    assert out.read_record() == TestRecord("c", None, 1_000)
    assert out.is_empty
    with pytest.raises(LookupError, match="topic out has no record that was not read"):
        out.read_record()


def test_everything_is_read_as_values_pairs_or_a_map(
    driver: TopologyTestDriver, out: TestOutputTopic[str, str]
) -> None:
    records = driver.input_topic("in")
    pairs = [("a", "1"), ("b", "2"), ("a", "3")]
    records.pipe_key_values(pairs)
    assert out.read_values() == ["1", "2", "3"]
    records.pipe_key_values(pairs)
    assert out.read_key_values() == pairs
    records.pipe_key_values(pairs)
    assert out.read_map() == {"a": "3", "b": "2"}
    assert out.read_map() == {}
    records.pipe_value("no key")
    with pytest.raises(ValueError, match="without a key"):
        out.read_map()


def test_topics_stay_produced_after_they_were_read(
    driver: TopologyTestDriver, out: TestOutputTopic[str, str]
) -> None:
    assert driver.produced_topics() == []
    driver.input_topic("in").pipe_value("a")
    out.read()
    assert driver.produced_topics() == ["out"]


def test_a_closed_driver_takes_nothing(driver: TopologyTestDriver) -> None:
    records = driver.input_topic("in")
    driver.close()
    driver.close()
    with pytest.raises(StreamsError, match="the driver is closed"):
        records.pipe_value("a")


def of_pattern(builder: StreamsBuilder) -> TopologyTestDriver:
    return TopologyTestDriver(builder.build(), StreamsConfig("app", string(), string()))


def test_a_pattern_reads_what_is_piped_into_a_topic_that_matches() -> None:
    builder = StreamsBuilder()
    builder.stream(pattern="in.*").to("out")
    with of_pattern(builder) as driver:
        for topic, value in (("in1", "a"), ("in2", "b"), ("in1", "c")):
            driver.input_topic(topic).pipe("k", value)
        assert driver.output_topic("out").read_values() == ["a", "b", "c"]


def test_a_topic_that_no_pattern_matches_is_refused() -> None:
    """All of its name must match."""
    builder = StreamsBuilder()
    builder.stream(pattern="in.*").to("out")
    with of_pattern(builder) as driver:
        driver.input_topic("in1").pipe("k", "a")
        for topic in ("xin1", "other"):
            with pytest.raises(ValueError, match=f"does not read topic {topic}; it reads"):
                driver.input_topic(topic).pipe("k", "a")


def test_an_output_that_the_pattern_matches_goes_in_again() -> None:
    builder = StreamsBuilder()
    short = builder.stream(pattern="o.*").filter(lambda _, value: len(value) < 4)
    short.map_values(lambda value: value + "B").to("out")
    with of_pattern(builder) as driver:
        driver.input_topic("o1").pipe("k", "v")
        assert driver.output_topic("out").read_values() == ["vB", "vBB", "vBBB"]


def test_streams_of_one_pattern_share_its_source() -> None:
    builder = StreamsBuilder()
    builder.stream(pattern="in.*").map_values(lambda value: value + "1").to("out")
    builder.stream(pattern="in.*").map_values(lambda value: value + "2").to("out")
    with of_pattern(builder) as driver:
        driver.input_topic("in1").pipe("k", "v")
        assert driver.output_topic("out").read_values() == ["v1", "v2"]


def test_a_row_that_is_written_first_to_one_topic_of_a_task_is_read_first() -> None:
    """Both topics of the record's rows have its time; 4.3.1 reads them in the order in which they were written to."""
    builder = StreamsBuilder()
    letters = builder.stream("in", key=string(), value=string()).flat_map_values(list)
    is_b = letters.filter(lambda _key, value: value == "b").repartition(name="x")
    is_other = letters.filter(lambda _key, value: value != "b").repartition(name="y")
    is_b.merge(is_other).to("out")
    with TopologyTestDriver(builder.build(), StreamsConfig("app", string(), string())) as driver:
        read = driver.output_topic("out", key=string(), value=string())
        driver.input_topic("in", key=string(), value=string()).pipe("k", "ab", at=7)
        driver.input_topic("in", key=string(), value=string()).pipe("k", "ba", at=7)
        assert [record.value for record in read.read()] == ["a", "b", "b", "a"]
