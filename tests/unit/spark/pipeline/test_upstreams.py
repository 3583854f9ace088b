"""How far upstream tasks have come, as Spark's driver tells the tasks of a sub-topology (ADR 0021)."""

from __future__ import annotations

from millstream.spark.pipeline.upstreams import TimeOrder, UpstreamTasks
from millstream.streams.kernel.task.upstreams import NOT_BEGUN
from millstream.streams.runtime.upstreams.progress import (
    Look,
    TaskFlow,
    TaskProgress,
    UpstreamProgress,
)
from millstream.streams.topology.alignment import Alignment

ALIGNMENT = Alignment({"behind": 0}, {1: frozenset({"behind"})})
FLOW = TaskFlow(ALIGNMENT, {0: {0: ("in",)}, 1: {0: ("behind", "wide"), 1: ("wide",)}})


def upstreams() -> UpstreamTasks:
    """Those of sub-topology 1, of whose topics `behind` has one partition and `wide` two."""
    found = UpstreamTasks("app", 1, TimeOrder(ALIGNMENT, 1_000))
    found._progress = UpstreamProgress(FLOW)
    found._progress.take(Look({(0, 0): TaskProgress({"in": 0}, NOT_BEGUN)}, {}))
    return found


def test_a_task_is_told_of_the_topics_that_have_its_partition_alone() -> None:
    def told(partition: int) -> object:
        topics = FLOW.tasks[1][partition]
        return upstreams().reached(partition, topics, {}, 0, is_waiting=False)

    assert told(0) == {"behind": {0: NOT_BEGUN}}
    assert told(1) == {}
