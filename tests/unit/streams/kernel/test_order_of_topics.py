"""Which topic of a task goes first, whichever records came first: the one of the smaller time, then the one whose name comes first."""

from __future__ import annotations

from itertools import permutations

import pytest

from millstream.streams import StreamsBuilder, StreamsConfig
from millstream.streams.kernel import RawBatch, StreamTask, TaskTopics
from millstream.streams.kernel.task.upstreams import AT_ITS_END
from millstream.streams.serdes import bytes_
from millstream.streams.state import in_memory_stores
from millstream.streams.topology.alignment import AlignedTopics

LAST = 2**63 - 1
RECORDS = {
    "a": {b"a0": 2, b"a1": 1, b"a2": 3, b"a3": LAST},
    "b": {b"b0": 2, b"b1": 3, b"b2": LAST, b"b3": LAST},
    "c": {b"c0": 1, b"c1": 2, b"c2": 2, b"c3": LAST},
}
ORDER = [b"c0", b"a0", b"a1", b"b0", b"c1", b"c2", b"a2", b"b1", b"a3", b"b2", b"b3", b"c3"]


def passed_on(arrivals: tuple[str, ...], aligned: frozenset[str]) -> list[bytes | None]:
    """Returns the values that a task writes which reads all topics, `aligned` behind repartitions."""
    builder = StreamsBuilder()
    builder.stream(list(RECORDS), key=bytes_(), value=bytes_()).to("out")
    topics = TaskTopics(aligned=AlignedTopics(read=aligned), by_arrival=False)
    task = StreamTask(
        builder.build(), 0, 0, in_memory_stores(), StreamsConfig("app"), topics=topics
    )
    for topic in arrivals:
        values, times = list(RECORDS[topic]), list(RECORDS[topic].values())
        task.add(topic, RawBatch([b"k"] * len(values), values, times, range(len(values))))
    for topic in aligned:
        task.inputs.upstreams_of(topic).expect({0: AT_ITS_END})
    return list(task.process(0).sinks["out"].values)


@pytest.mark.parametrize("aligned", ["", "a", "bc", "abc"])
def test_order_does_not_depend_on_what_came_first(aligned: str) -> None:
    """The last time there is stops nothing either."""
    for arrivals in permutations(RECORDS):
        assert passed_on(arrivals, frozenset(aligned)) == ORDER
