"""A group of stream threads is shown with the partitions that its active tasks read."""

from __future__ import annotations

from millstream.cli.groups.streams_groups import as_group, source_topics
from millstream.clients.admin import (
    GroupState,
    GroupType,
    StreamsAssignment,
    StreamsGroupDescription,
    StreamsMemberDescription,
    StreamsSubtopology,
    StreamsTask,
    StreamsTopic,
)
from millstream.model import TopicPartition

REPARTITION = StreamsTopic("app-by-word-repartition", 2, 1, {})
SUBTOPOLOGIES = [
    StreamsSubtopology("0", ("words", "short"), (REPARTITION.name,), (), ()),
    StreamsSubtopology("1", (), (), (), (REPARTITION,)),
]


def assignment(*active: tuple[str, int]) -> StreamsAssignment:
    return StreamsAssignment([StreamsTask(*task) for task in active], [StreamsTask("1", 1)], [])


GROUP = StreamsGroupDescription(
    group_id="app",
    state=GroupState.STABLE,
    group_epoch=4,
    target_assignment_epoch=4,
    topology_epoch=0,
    subtopologies=SUBTOPOLOGIES,
    members=[
        StreamsMemberDescription(
            member_id="m",
            member_epoch=4,
            group_instance_id=None,
            rack_id=None,
            client_id="c",
            client_host="/h",
            topology_epoch=0,
            process_id="p",
            user_endpoint=None,
            client_tags={},
            task_offsets={},
            task_end_offsets={},
            assignment=assignment(("0", 1), ("1", 0)),
            target_assignment=assignment(("0", 1), ("9", 0)),
            is_classic=False,
        )
    ],
    coordinator=1,
    authorized_operations=None,
)


def test_a_member_reads_the_partition_of_its_task_in_each_topic_that_has_it() -> None:
    """Standbys read changelogs, which are no input; a sub-topology that the group does not have is not shown."""
    counts = {"words": 2, "short": 1, REPARTITION.name: 2}
    (member,) = as_group(GROUP, counts).members
    assert member.assignment == [TopicPartition("words", 1), TopicPartition(REPARTITION.name, 0)]
    assert member.target_assignment == [TopicPartition("words", 1)]


def test_the_rest_is_as_the_coordinator_says() -> None:
    group = as_group(GROUP, {})
    assert (group.type, group.protocol_type) == (GroupType.STREAMS, "streams")
    assert (group.group_id, group.state, group.group_epoch, group.coordinator) == (
        "app",
        GroupState.STABLE,
        4,
        1,
    )
    assert group.members[0].assignment == []


def test_topics_between_sub_topologies_are_read_too() -> None:
    assert source_topics(GROUP) == {"0": ("words", "short"), "1": (REPARTITION.name,)}
