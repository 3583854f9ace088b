"""A look at a cluster: what it asks, in which order, and what it makes of the answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import cast

import pytest

from millstream.clients import OffsetAndMetadata
from millstream.clients.admin import Admin, OffsetSpec
from millstream.clients.admin.core.results import Results
from millstream.clients.admin.topics.offsets import OffsetAndTimestamp
from millstream.errors import UnknownTopicOrPartition
from millstream.model import TopicPartition
from millstream.streams.kernel.offset_metadata import OffsetMetadata
from millstream.streams.runtime.committed import CommittedPosition
from millstream.streams.runtime.upstreams.looks import look_at_cluster
from millstream.streams.runtime.upstreams.progress import Look, TaskFlow, TaskKey, TaskProgress
from millstream.streams.topology.alignment import Alignment

FLOW = TaskFlow(
    Alignment({"r": 0}, {1: frozenset({"r"})}),
    {0: {0: ("x",), 1: ("x",)}, 1: {0: ("r",)}, 2: {0: ("elsewhere",)}},
)
X0, X1, R0 = TopicPartition("x", 0), TopicPartition("x", 1), TopicPartition("r", 0)


@dataclass
class Cluster:
    """Stands for an admin client. `ends`: by whether open transactions are left out."""

    committed: Mapping[TopicPartition, OffsetAndMetadata]
    ends: Mapping[bool, Mapping[TopicPartition, int]]
    begins: Mapping[TopicPartition, int] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    async def list_consumer_group_offsets(
        self, groups: Mapping[str, Iterable[TopicPartition]]
    ) -> Results[str, Results[TopicPartition, OffsetAndMetadata]]:
        assert list(groups) == ["app"]
        self.asked.append("group")
        found = {tp: self.committed[tp] for tp in groups["app"] if tp in self.committed}
        return Results({"app": Results(found)})  # type: ignore[arg-type]  # as its own kind has them

    async def list_offsets(
        self, wanted: Mapping[TopicPartition, int], *, read_committed: bool
    ) -> Results[TopicPartition, OffsetAndTimestamp]:
        is_end = set(wanted.values()) == {OffsetSpec.LATEST}
        self.asked.append("ends" if is_end else "begins")
        known = self.ends[read_committed] if is_end else self.begins
        return Results(
            {
                tp: OffsetAndTimestamp(known[tp], -1, None)
                if tp in known
                else UnknownTopicOrPartition(str(tp))
                for tp in wanted
            }
        )


async def look(
    cluster: Cluster,
    known: Mapping[TaskKey, TaskProgress] | None = None,
    *,
    is_read_committed: bool = True,
) -> Look:
    def here() -> Mapping[TaskKey, TaskProgress]:
        cluster.asked.append("here")
        return known or {}

    admin = cast("Admin", cluster)
    return await look_at_cluster(admin, "app", FLOW, here, is_read_committed=is_read_committed)


def committed(offset: int, origin_time: int) -> OffsetAndMetadata:
    position = CommittedPosition({"x": offset}, {"x": 7}, origin_time=origin_time)
    return position.encode(0)[X0]


async def test_tasks_are_looked_at_before_the_ends_and_other_sub_topologies_are_not() -> None:
    cluster = Cluster(
        {X0: committed(3, 50), X1: committed(4, 60), R0: committed(9, 40)},
        {True: {X0: 3, X1: 8}, False: {R0: 12}},
    )
    found = await look(cluster, {(1, 0): TaskProgress({"r": 10}, 45)})
    assert cluster.asked == ["group", "here", "ends", "ends"]
    assert found == Look(
        {
            (0, 0): TaskProgress({"x": 3}, 50),
            (0, 1): TaskProgress({"x": 4}, 60),
            (1, 0): TaskProgress({"r": 10}, 45),
        },
        {X0: 3, X1: 8, R0: 12},
    )


async def test_what_upstream_tasks_have_written_counts_before_their_transaction_shows_everywhere() -> (
    None
):
    """The offsets of a transaction may be seen before its records: nothing says in which order a coordinator tells the partitions."""
    cluster = Cluster(
        {X0: committed(3, 50), X1: committed(4, 60), R0: committed(9, 40)},
        {True: {X0: 3, X1: 4, R0: 9}, False: {X0: 5, X1: 6, R0: 12}},
    )
    assert (await look(cluster)).ends == {X0: 3, X1: 4, R0: 12}
    assert (await look(cluster, is_read_committed=False)).ends == {X0: 5, X1: 6, R0: 12}


async def test_a_task_that_has_committed_nothing_is_where_its_topic_begins() -> None:
    """All of the partition may have been deleted before the application was there: there is nothing that anybody has to wait for."""
    cluster = Cluster({}, {True: {X0: 500, X1: 8}, False: {R0: 0}}, {X0: 500, X1: 2, R0: 0})
    found = await look(cluster)
    assert found.tasks == {
        (0, 0): TaskProgress({"x": 500}),
        (0, 1): TaskProgress({"x": 2}),
        (1, 0): TaskProgress({"r": 0}),
    }


async def test_partitions_that_brokers_do_not_know_are_left_out() -> None:
    cluster = Cluster({X0: committed(3, 50)}, {True: {X0: 3}, False: {}})
    found = await look(cluster)
    assert found.ends == {X0: 3}
    assert found.tasks[0, 1] == TaskProgress()


async def test_an_instance_of_kafka_streams_is_as_far_as_the_largest_timestamp_it_tells() -> None:
    kafka = OffsetAndMetadata(3, OffsetMetadata(80).encode())
    by_hand = OffsetAndMetadata(3, "set by hand")
    cluster = Cluster({X0: kafka, X1: by_hand}, {True: {X0: 3, X1: 3}, False: {R0: 0}})
    found = await look(cluster)
    assert found.tasks[0, 0] == TaskProgress({"x": 3}, 80)
    assert found.tasks[0, 1] == TaskProgress({"x": 3}, -1)


async def test_an_error_of_the_group_is_raised() -> None:
    class Failing(Cluster):
        async def list_consumer_group_offsets(
            self, groups: Mapping[str, Iterable[TopicPartition]]
        ) -> Results[str, Results[TopicPartition, OffsetAndMetadata]]:
            return Results(dict.fromkeys(groups, UnknownTopicOrPartition("offsets")))

    with pytest.raises(UnknownTopicOrPartition):
        await look(Failing({}, {}))
