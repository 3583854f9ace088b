"""How far upstream tasks have come, as Spark's driver tells the tasks of a sub-topology (ADR 0021)."""

from __future__ import annotations

from millstream.model import TopicPartition
from millstream.spark.pipeline.backlog import Backlog
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


def test_a_topic_that_has_nothing_new_is_read_to_where_the_task_stands() -> None:
    """Otherwise its upstream tasks seem to have written what is still to be read, and what the task holds of another topic waits for ever."""
    backlog = Backlog({0: ("behind", "other")})
    backlog.learn({TopicPartition("behind", 0): 321, TopicPartition("other", 0): 194})
    assert backlog.read_up_to(0, {"other": 197}) == {"behind": 321, "other": 197}
