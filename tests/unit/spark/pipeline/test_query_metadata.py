"""Where the stores of an application are."""

from __future__ import annotations

from millstream.model import TopicPartition
from millstream.spark.pipeline.placement import Slot
from millstream.spark.pipeline.queries.metadata import (
    StreamsMetadata,
    TaskHostInfo,
    metadata_of_hosts,
)
from millstream.streams import Materialized, StreamsBuilder
from millstream.streams.serdes import string
from millstream.streams.topology.plan import SubTopologyPlan


def test_each_host_has_the_stores_and_inputs_of_its_tasks() -> None:
    builder = StreamsBuilder()
    for name in ("left", "right"):
        builder.table(name, key=string(), value=string(), materialized=Materialized(name))
    everywhere = Materialized("everywhere")
    builder.global_table("names", key=string(), value=string(), materialized=everywhere)
    plans = {0: SubTopologyPlan(0, {"left": 2}), 1: SubTopologyPlan(1, {"right": 1})}
    first, second = Slot("executor_a_0", 0), Slot(None, 1)
    places = {(0, 0): first, (0, 1): second, (1, 0): first}
    third = Slot("executor_b_1", 0)
    copies = {(0, 0): (third,), (0, 1): (first,), (1, 0): ()}
    assert metadata_of_hosts(builder.build(), plans, places, copies) == [
        StreamsMetadata(
            TaskHostInfo("driver", 1),
            frozenset(["left", "everywhere"]),
            frozenset([TopicPartition("left", 1)]),
        ),
        StreamsMetadata(
            TaskHostInfo("executor_a_0", 0),
            frozenset(["left", "right", "everywhere"]),
            frozenset([TopicPartition("left", 0), TopicPartition("right", 0)]),
            frozenset(["left"]),
            frozenset([TopicPartition("left", 1)]),
        ),
        StreamsMetadata(
            TaskHostInfo("executor_b_1", 0),
            frozenset(),
            frozenset(),
            frozenset(["left"]),
            frozenset([TopicPartition("left", 0)]),
        ),
    ]
