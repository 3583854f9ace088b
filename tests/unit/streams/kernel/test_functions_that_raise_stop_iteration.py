"""StopIteration out of a function of the user, as `next` raises it, is a failure like any other: it must not end a loop of ours."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from millstream.streams import KStream, OnError, StreamsBuilder, StreamsConfig
from millstream.streams.aggregates import max_of
from millstream.streams.errors import ProcessingError
from millstream.streams.kernel import RawBatch, StreamTask
from millstream.streams.serdes import string
from millstream.streams.state import in_memory_stores

TEXT = StreamsConfig("app", default_key=string(), default_value=string())
GO_ON = StreamsConfig(
    "app",
    default_key=string(),
    default_value=string(),
    on_processing_error=OnError.CONTINUE,
)


def found(value: str) -> str:
    """The value, if it is one of those that can be found."""
    return next(each for each in ("one", "three") if each == value)


OPERATORS: dict[str, Callable[[StreamsBuilder, KStream[str, str]], KStream[str, str]]] = {
    "filter": lambda b, s: s.filter(lambda key, value: bool(found(value))),
    "map": lambda b, s: s.map(lambda key, value: (key, found(value))),
    "map_values": lambda b, s: s.map_values(found),
    "map_values of a table": lambda b, s: s.to_table().map_values(found).to_stream(),
    "select_key": lambda b, s: s.select_key(lambda key, value: found(value)),
    "flat_map": lambda b, s: s.flat_map(lambda key, value: [(key, found(value))]),
    "flat_map_values": lambda b, s: s.flat_map_values(lambda value: [found(value)]),
    "peek": lambda b, s: s.peek(lambda key, value: found(value)),
    "branch": lambda b, s: (
        s.split(name="by-")
        .branch(lambda key, value: bool(found(value)), name="found")
        .no_default_branch()["by-found"]
    ),
    "on": lambda b, s: s.left_join(
        b.global_table("g"), lambda left, right: left, on=lambda key, value: found(value)
    ),
    "joiner": lambda b, s: s.left_join(b.table("t"), lambda left, right: found(left)),
    "ready-made aggregate": lambda b, s: (
        s.group_by_key().aggregate(max_of(found), value=string()).to_stream()
    ),
}


def run(operator: str, config: StreamsConfig) -> list[bytes]:
    """The values that three records give that come in one batch."""
    builder = StreamsBuilder()
    OPERATORS[operator](builder, builder.stream("in")).to("out")
    topology = builder.build()
    group = next(group for group in topology.sub_topologies if not group.is_global)
    others = [each for each in topology.sub_topologies if each.is_global]
    filling = [StreamTask(topology, each, 0, in_memory_stores(), config) for each in others]
    stores = {name: store for task in filling for name, store in task.stores.items()}
    task = StreamTask(topology, group.id, 0, in_memory_stores(), config, global_stores=stores)
    values = [b"one", b"two", b"three"]
    task.add("in", RawBatch([b"a", b"b", b"c"], values, [1, 2, 3], range(3)))
    output = task.process(0)
    return list(output.sinks["out"].values)


@pytest.mark.parametrize("operator", OPERATORS)
def test_it_stops_the_task(operator: str) -> None:
    with pytest.raises(ProcessingError, match="StopIteration"):
        run(operator, TEXT)


@pytest.mark.parametrize("operator", OPERATORS)
def test_it_costs_its_own_record_alone(operator: str) -> None:
    assert run(operator, GO_ON) == [b"one", b"three"]
