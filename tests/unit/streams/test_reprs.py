"""What streams, builders and topologies say they are, at a prompt and in a notebook."""

from __future__ import annotations

from datetime import timedelta
from xml.etree import ElementTree as ET

from millstream.streams import (
    ContextualProcessor,
    SessionWindows,
    StreamsBuilder,
    TimeWindows,
    Topology,
    TopologyBuilder,
)
from millstream.streams.serdes import long, string
from millstream.testing import Broker, FaultProxy, MockProcessorContext, TopologyTestDriver

SECOND = timedelta(seconds=1)


def counted() -> StreamsBuilder:
    builder = StreamsBuilder()
    builder.stream("clicks", key=string(), value=long()).group_by_key().count().to_stream().to("o")
    return builder


def topology() -> Topology:
    return counted().build()


def test_builders_count_what_they_have() -> None:
    assert repr(StreamsBuilder()) == "<StreamsBuilder operators=0>"
    assert repr(counted()) == "<StreamsBuilder operators=4>"
    nodes = TopologyBuilder().add_source("in", "t").add_processor("p", ContextualProcessor, "in")
    assert repr(nodes) == "<TopologyBuilder nodes=2 stores=0>"


def test_streams_and_tables_tell_the_name_of_their_node() -> None:
    builder = StreamsBuilder()
    stream = builder.stream("t", key=string(), value=long(), name="in")
    grouped = stream.group_by_key()
    cogrouped = grouped.cogroup(lambda _key, value, total: value + total)
    tumbling = TimeWindows.tumbling(SECOND)
    sessions = SessionWindows.of(SECOND)
    assert repr(stream) == "<KStream in>"
    assert repr(grouped) == "<KGroupedStream in>"
    assert repr(grouped.windowed_by(tumbling)) == "<TimeWindowedKStream in>"
    assert repr(grouped.windowed_by(sessions)) == "<SessionWindowedKStream in>"
    assert repr(cogrouped) == "<CogroupedKStream streams=1>"
    assert repr(cogrouped.windowed_by(tumbling)) == "<TimeWindowedCogroupedKStream streams=1>"
    assert repr(cogrouped.windowed_by(sessions)) == "<SessionWindowedCogroupedKStream streams=1>"
    assert repr(stream.split(name="by-size")) == "<BranchedKStream by-size>"
    table = builder.table("u", key=string(), value=long(), name="rows")
    assert repr(table) == "<KTable rows>"
    assert repr(table.group_by(lambda key, value: (key, value), name="g")) == "<KGroupedTable g>"
    everywhere = builder.global_table("v", key=string(), value=long())
    assert repr(everywhere).startswith("<GlobalKTable in store v-STATE-STORE-")


def test_a_topology_is_short_at_a_prompt() -> None:
    assert repr(topology()) == "<Topology sub_topologies=1 nodes=4 stores=1>"


def test_a_notebook_shows_a_topology_as_its_picture() -> None:
    assert topology()._repr_svg_() == topology().to_svg()
    shown = topology()._repr_html_()
    assert shown.startswith(topology().to_svg())
    assert "--&gt; KSTREAM-AGGREGATE-" in shown
    ET.fromstring(f"<div>{shown}</div>")


def test_tools_of_tests_tell_what_they_are_about() -> None:
    with TopologyTestDriver(topology()) as driver:
        assert repr(driver) == "<TopologyTestDriver of clicks>"
        assert (
            repr(driver.input_topic("clicks", key=string(), value=long()))
            == "<TestInputTopic clicks>"
        )
        (name,) = driver.stores()
        assert repr(driver.key_value_store(name)) == f"<KeyValueView of store {name}>"
        assert repr(driver.stores()[name]) == f"<TimestampedKeyValueStore {name}>"
        assert repr(driver.output_topic("o", key=string(), value=long())) == "<TestOutputTopic o>"
    assert repr(driver) == "<TopologyTestDriver of clicks closed>"
    assert repr(MockProcessorContext(task_id="0_3")) == "<MockProcessorContext of task 0_3>"
    assert repr(FaultProxy("host:9092", seed=7)) == "<FaultProxy before host:9092, seed 7>"
    broker = Broker(data="/nowhere")
    assert repr(broker) == "<Broker not started, in this process>"
