"""Topologies of the Processor API that cannot be built are refused by a sentence with the node and the cure.

Each was given to Kafka Streams 4.3.1 as well. A TopologyException there is a TopologyError here, a NullPointerException a
TypeError, an IllegalArgumentException a ValueError. Those marked "stricter" it takes and fails later.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from millstream.streams import Record, TopologyBuilder
from millstream.streams.errors import TopologyError
from millstream.streams.topology import StoreKind, StoreSpec


class Forget:
    def process(self, record: Record) -> None:
        pass


ONE = Forget()


def store(name: str = "rows") -> StoreSpec:
    return StoreSpec(name, StoreKind.KEY_VALUE, persistent=False)


def source() -> TopologyBuilder:
    return TopologyBuilder().add_source("source", "in")


def processor() -> TopologyBuilder:
    return source().add_processor("forget", Forget, "source")


def with_store() -> TopologyBuilder:
    return processor().add_state_store(store(), "forget")


def with_global() -> TopologyBuilder:
    return processor().add_global_store(store(), "g-source", "g", "g-fill", Forget)


def with_sink() -> TopologyBuilder:
    return processor().add_sink("sink", "out", "forget")


TOPOLOGY_ERRORS: dict[str, tuple[Callable[[], object], str]] = {
    "source named twice": (
        lambda: source().add_source("source", "other"),
        "a node named source exists already: choose another name",
    ),
    "processor named twice": (
        lambda: processor().add_processor("forget", Forget, "source"),
        "a node named forget exists already: choose another name",
    ),
    "sink named as the source": (
        lambda: source().add_sink("source", "out", "source"),
        "a node named source exists already: choose another name",
    ),
    "source without topics": (
        lambda: TopologyBuilder().add_source("source"),
        "source source needs at least one topic or a pattern",
    ),
    "topic twice in one source": (
        lambda: TopologyBuilder().add_source("source", "in", "in"),
        "source source names topic in twice: name it once",
    ),
    "topic of two sources": (
        lambda: source().add_source("second", "in"),
        "topic in of second is read by source source already: use that source",
    ),
    "pattern that matches a topic": (
        lambda: source().add_source("second", pattern="i."),
        "pattern i. of second matches topic in, which source source reads: narrow the pattern",
    ),
    "topic that a pattern matches": (
        lambda: TopologyBuilder().add_source("all", pattern="i.").add_source("second", "in"),
        "topic in of second matches pattern i. of source all: narrow the pattern",
    ),
    "topic that no broker can have (stricter)": (
        lambda: TopologyBuilder().add_source("source", "in put"),
        "the topic of source source may contain ASCII letters, digits, '.', '_' and '-' only, not so 'in put'",
    ),
    "empty topic of a sink (stricter)": (
        lambda: source().add_sink("sink", "", "source"),
        "the topic of sink sink must not be empty",
    ),
    "processor without parents": (
        lambda: source().add_processor("forget", Forget),
        "forget needs at least one parent: name the nodes it reads from",
    ),
    "sink without parents": (
        lambda: source().add_sink("sink", "out"),
        "sink needs at least one parent: name the nodes it reads from",
    ),
    "unknown parent": (
        lambda: source().add_processor("forget", Forget, "sauce"),
        "parent sauce of forget does not exist: add it first",
    ),
    "parent that comes later": (
        lambda: source().add_processor("a", Forget, "b").add_processor("b", Forget, "a"),
        "parent b of a does not exist: add it first",
    ),
    "its own parent": (
        lambda: source().add_sink("sink", "out", "sink"),
        "sink cannot be its own parent: name another node",
    ),
    "sink as parent": (
        lambda: with_sink().add_processor("below", Forget, "sink"),
        "sink sink cannot be the parent of below, as sinks forward nothing: read its topic with a source",
    ),
    "processor of a global store as parent": (
        lambda: with_global().add_processor("below", Forget, "g-fill"),
        (
            "g-fill fills a global store and cannot be the parent of below: "
            "read the store, or give the topic a second name"
        ),
    ),
    "two stores of one name": (
        lambda: with_store().add_state_store(store(), "forget"),
        (
            "another store is named rows already: choose another name, "
            "or add one StoreSpec and connect several processors with it"
        ),
    ),
    "connecting nothing": (
        lambda: with_store().connect_processor_and_state_stores("forget"),
        "no store to connect forget with: name at least one",
    ),
    "connecting an unknown store": (
        lambda: processor().connect_processor_and_state_stores("forget", "rows"),
        "store rows does not exist: add it before connecting forget with it",
    ),
    "connecting an unknown processor": (
        lambda: with_store().connect_processor_and_state_stores("remember", "rows"),
        "processor remember does not exist: add it before connecting stores with it",
    ),
    "connecting a source": (
        lambda: with_store().connect_processor_and_state_stores("source", "rows"),
        "source is a source or a sink and cannot use a store: connect a processor",
    ),
    "connecting a sink": (
        lambda: with_sink().add_state_store(store(), "sink"),
        "sink is a source or a sink and cannot use a store: connect a processor",
    ),
    "connecting a global store": (
        lambda: with_global().connect_processor_and_state_stores("forget", "rows"),
        "forget may use global store rows as every processor may: do not connect it",
    ),
    "global store with one name for both nodes": (
        lambda: TopologyBuilder().add_global_store(store(), "fill", "g", "fill", Forget),
        "source and processor of store rows are both named fill: give them different names",
    ),
    "global store of a topic that is read": (
        lambda: source().add_global_store(store(), "g-source", "in", "g-fill", Forget),
        "topic in of g-source is read by source source already: use that source",
    ),
    "topic of a global store read again": (
        lambda: with_global().add_source("second", "g"),
        "topic g of second is read by source g-source already: use that source",
    ),
    "global store named as a store": (
        lambda: with_store().add_global_store(store(), "g-source", "g", "g-fill", Forget),
        "another store is named rows already: choose another name for the global store",
    ),
    "store named as a global store": (
        lambda: with_global().add_state_store(store(), "forget"),
        (
            "another store is named rows already: choose another name, "
            "or add one StoreSpec and connect several processors with it"
        ),
    ),
    "global source named as a node": (
        lambda: source().add_global_store(store(), "source", "g", "g-fill", Forget),
        "a node named source exists already: choose another name",
    ),
    "read-only store with one name for both nodes": (
        lambda: TopologyBuilder().add_read_only_state_store(store(), "fill", "t", "fill", Forget),
        "source and processor of store rows are both named fill: give them different names",
    ),
}


@pytest.mark.parametrize("case", TOPOLOGY_ERRORS)
def test_a_topology_kafka_streams_refuses_is_a_topology_error(case: str) -> None:
    build, sentence = TOPOLOGY_ERRORS[case]
    with pytest.raises(TopologyError) as refused:
        build()
    assert str(refused.value) == sentence


WRONG_ARGUMENTS: dict[str, tuple[Callable[[], object], type[Exception], str]] = {
    "supplier that returns one object": (
        lambda: source().add_processor("forget", lambda: ONE, "source"),
        ValueError,
        (
            f"processor forget: the supplier must return a new object each time it is called, but returned {ONE!r} twice: "
            "give the class itself, or a function that makes one"
        ),
    ),
    "supplier of a global store that returns one object": (
        lambda: TopologyBuilder().add_global_store(store(), "g-source", "g", "g-fill", lambda: ONE),
        ValueError,
        (
            f"processor g-fill: the supplier must return a new object each time it is called, but returned {ONE!r} twice: "
            "give the class itself, or a function that makes one"
        ),
    ),
    "supplier that returns nothing": (
        lambda: source().add_processor("forget", lambda: None, "source"),
        ValueError,
        (
            "processor forget: the supplier must return a new object each time it is called, but returned None twice: "
            "give the class itself, or a function that makes one"
        ),
    ),
    "no supplier": (
        lambda: source().add_processor("forget", None, "source"),
        TypeError,
        "processor forget: supplier must be callable, not None",
    ),
    "processor instead of a supplier": (
        lambda: source().add_processor("forget", ONE, "source"),
        TypeError,
        f"processor forget: supplier must be callable, not {ONE!r}",
    ),
    "supplier of something else": (
        lambda: source().add_processor("forget", dict, "source"),
        TypeError,
        "processor forget: what the supplier makes, {}, has no method process: add one",
    ),
    "topic that is no text": (
        lambda: TopologyBuilder().add_source("source", None),
        TypeError,
        "the topic of source source must be a str, not None",
    ),
    "no topic of a sink": (
        lambda: source().add_sink("sink", None, "source"),
        TypeError,
        "sink sink: topic must be callable, not None",
    ),
    "source without a name": (
        lambda: TopologyBuilder().add_source(None, "in"),
        TypeError,
        "the name of a node must be a str, not None",
    ),
    "pattern that is none": (
        lambda: TopologyBuilder().add_source("source", pattern="("),
        ValueError,
        (
            "source source: '(' is no regular expression: "
            "missing ), unterminated subpattern at position 0"
        ),
    ),
    "partitioner with too few parameters": (
        lambda: source().add_sink("sink", "out", "source", partitioner=lambda key, value: 0),
        TypeError,
        (
            "sink sink: partitioner is called with (topic, key, value, partitions) but takes (key, value): "
            "too many positional arguments"
        ),
    ),
}


@pytest.mark.parametrize("case", WRONG_ARGUMENTS)
def test_a_wrong_argument_of_the_processor_api_names_the_node(case: str) -> None:
    build, kind, sentence = WRONG_ARGUMENTS[case]
    with pytest.raises(kind) as refused:
        build()
    assert str(refused.value) == sentence


def test_the_same_store_may_be_added_again_with_another_processor() -> None:
    """S2.11: the very same builder object is allowed in 4.3.1."""
    rows = store()
    builder = processor().add_processor("second", Forget, "source")
    builder.add_state_store(rows, "forget").add_state_store(rows, "second")
    assert builder.build().nodes["second"].stores == ("rows",)


def test_stores_connected_at_once_and_later_give_the_same_description() -> None:
    """S2.25."""
    later = processor().add_state_store(store())
    later.connect_processor_and_state_stores("forget", "rows")
    assert later.build().describe() == with_store().build().describe()


def test_a_refused_call_leaves_the_topology_as_it_was() -> None:
    """S2.12: errors come before any change."""
    builder = source()
    with pytest.raises(TopologyError):
        builder.add_source("second", "in")
    with pytest.raises(TopologyError):
        builder.add_processor("forget", Forget, "sauce")
    with pytest.raises(TopologyError):
        builder.add_global_store(store(), "g-source", "g", "source", Forget)
    assert builder.build().describe() == source().build().describe()
