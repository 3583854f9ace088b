"""timeline: draws, as text, how a topology processes some records.

For documentation, for tests that a reader should understand, and for trying things: the topology runs on the
TopologyTestDriver, and the picture shows what went in and what came out, step by step.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Any

from millstream.streams.config import StreamsConfig
from millstream.streams.topology import SinkNode, SourceNode, Topology
from millstream.streams.topology.functions import names_of_stores
from millstream.streams.topology.nodes import ProcessorNode, parents_of
from millstream.streams.topology.operators import (
    SelfJoin,
    SessionAggregate,
    SlidingAggregate,
    StreamJoin,
    WindowAggregate,
)
from millstream.streams.windows import to_ms
from millstream.testing.streams.timeline.lanes import draw_lanes
from millstream.testing.streams.timeline.steps import Step, TimelineRecord
from millstream.testing.streams.timeline.windows import JoinWindow, draw_windows
from millstream.testing.streams.topology_test_driver import TestRecord, TopologyTestDriver

_WINDOWED = WindowAggregate | SlidingAggregate | SessionAggregate

Input = tuple[str, Any, Any, int] | timedelta  # Any: keys and values of the user's types
"""(topic, key, value, timestamp in ms), or how far the wall clock moves."""


def timeline(
    topology: Topology,
    inputs: Iterable[Input],
    *,
    config: StreamsConfig | None = None,
    stores: Sequence[str] = (),
    width: int = 96,
) -> str:
    """Returns a picture of the inputs, one after the other, and of what the topology does with each.

    Without windows it has a lane for each topic, and one for each of the key-value `stores` with its rows. With
    windows, or a join of streams, it has an axis of event time, on which windows are spans.

    `∅` is a null: as a value a tombstone. `←5` is a record with timestamp 5 that comes after a later one, `✗` one
    that the topology drops. `@7` is the timestamp of a result, where it is not that of the record it comes from.
    Serdes are those of the topology's sources and sinks, or the defaults in `config`.
    """
    config = config or StreamsConfig("timeline")
    inputs = list(inputs)
    _check_inputs(inputs)
    shown_stores = names_of_stores("timeline", stores)
    topics = {each[0] for each in inputs if isinstance(each, tuple)}
    with TopologyTestDriver(topology, config, pattern_topics=sorted(topics)) as driver:
        run = _Run(topology, driver, shown_stores, f"{config.application_id}-")
        steps = [run.step(each) for each in inputs]
    join_windows, operators = _join_windows(topology), _operators(topology).values()
    if join_windows or any(isinstance(each, _WINDOWED) for each in operators):
        closed = not any(isinstance(each, WindowAggregate) for each in operators)
        return draw_windows(steps, join_windows, closed=closed, width=width)
    read = [step.cause.topic for step in steps if isinstance(step.cause, TimelineRecord)]
    written = [result.topic for step in steps for result in step.results]
    outputs = dict.fromkeys((*_sink_topics(topology), *sorted(written), *shown_stores))
    return draw_lanes(steps, list(dict.fromkeys(read)), list(outputs), width)


def _check_inputs(inputs: Iterable[object]) -> None:
    for given in inputs:
        if isinstance(given, timedelta) or (isinstance(given, tuple) and len(given) == 4):
            continue
        raise TypeError(
            f"an input of a timeline is (topic, key, value, timestamp in ms), or a timedelta, not {given!r}"
        )


class _Run:
    """One topology on its driver; `step` pipes one input in and collects what came of it."""

    def __init__(
        self, topology: Topology, driver: TopologyTestDriver, stores: Sequence[str], prefix: str
    ) -> None:
        self._topology = topology
        self._driver = driver
        self._stores = stores
        self._prefix = prefix

    def step(self, given: Input) -> Step:
        driver, dropped = self._driver, self._driver.dropped_records
        cause: TimelineRecord | int
        if isinstance(given, timedelta):
            cause = to_ms(given)
            driver.advance_wall_clock(given)
        else:
            cause = TimelineRecord(*given)
            source = self._source(cause.topic)
            topic = driver.input_topic(cause.topic, key=source.key, value=source.value)
            topic.pipe(cause.key, cause.value, at=cause.timestamp)
        return Step(
            cause,
            self._results(),
            driver.dropped_records > dropped,
            self._rows(),
        )

    def _results(self) -> list[TimelineRecord]:
        """Records in the user's topics; those in internal ones are not shown."""
        return [
            TimelineRecord(name, record.key, record.value, record.timestamp)
            for name in self._driver.produced_topics()
            for record in self._read(name)
        ]

    def _read(self, topic: str) -> Sequence[TestRecord[Any, Any]]:  # Any: the sink's types
        sink = self._sink(topic)
        if sink is None:
            self._driver.read_bytes(topic)
            return ()
        return self._driver.output_topic(topic, key=sink.key, value=sink.value).read()

    def _rows(self) -> Mapping[str, Sequence[TimelineRecord]]:
        return {
            name: [
                TimelineRecord(name, key, value, 0)
                for key, value in self._driver.key_value_store(name).all()
            ]
            for name in self._stores
        }

    def _source(self, topic: str) -> SourceNode:
        for node in self._topology.nodes.values():
            if isinstance(node, SourceNode) and _reads(node, topic):
                return node
        raise ValueError(f"the topology does not read topic {topic}")

    def _sink(self, topic: str) -> SinkNode | None:
        """The sink that writes a topic, by name or by a function; None for internal topics."""
        sinks = [node for node in self._topology.nodes.values() if isinstance(node, SinkNode)]
        if topic.startswith(self._prefix):
            return None
        by_function = (sink for sink in sinks if not isinstance(sink.topic, str))
        return next((sink for sink in sinks if sink.topic == topic), next(by_function, None))


def _reads(source: SourceNode, topic: str) -> bool:
    return topic in source.topics or (
        source.pattern is not None and re.fullmatch(source.pattern, topic) is not None
    )


def _sink_topics(topology: Topology) -> list[str]:
    return [
        node.topic
        for node in topology.nodes.values()
        if isinstance(node, SinkNode)
        and isinstance(node.topic, str)
        and node.topic not in topology.internal_topics
    ]


def _operators(topology: Topology) -> dict[str, object]:
    return {
        name: node.operator
        for name, node in topology.nodes.items()
        if isinstance(node, ProcessorNode)
    }


def _join_windows(topology: Topology) -> dict[str, JoinWindow]:
    """For each topic that goes into a join of streams, the window of its records' partners."""
    join_windows: dict[str, JoinWindow] = {}
    for name, operator in _operators(topology).items():
        if isinstance(operator, StreamJoin | SelfJoin):
            window = (operator.before_ms, operator.after_ms)
            join_windows.update(dict.fromkeys(_topics_above(topology, name), window))
    return join_windows


def _topics_above(topology: Topology, name: str) -> Iterable[str]:
    node = topology.nodes[name]
    if isinstance(node, SourceNode):
        yield from node.topics
    for parent in parents_of(node):
        yield from _topics_above(topology, parent)
