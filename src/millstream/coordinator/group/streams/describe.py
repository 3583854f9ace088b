"""StreamsGroupDescribe: what an administrator sees of a streams group."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from millstream.coordinator.assignors.partition_assignor import TaskId, Tasks
from millstream.coordinator.group.context import GroupContext
from millstream.coordinator.group.groups import Groups
from millstream.coordinator.group.streams.configured_topology import (
    ConfiguredInternalTopic,
    ConfiguredSubtopology,
    ConfiguredTopology,
)
from millstream.coordinator.group.streams.group import StreamsGroup
from millstream.coordinator.group.streams.member import StreamsGroupMember
from millstream.coordinator.group.streams.records import by_subtopology
from millstream.coordinator.group.streams.topology import StreamsTopology
from millstream.coordinator.result import CoordinatorResult
from millstream.errors import GroupIdNotFound
from millstream.protocol.generated import streams_group_describe as wire
from millstream.protocol.generated.group_records import (
    StreamsGroupTopologyValueTopicInfo,
    Subtopology,
)


def describe_groups(
    context: GroupContext, request: wire.StreamsGroupDescribeRequest
) -> CoordinatorResult:
    described = [_described(context.groups, group_id) for group_id in request.group_ids]
    return context.reply(wire.StreamsGroupDescribeResponse(groups=described))


def _described(groups: Groups, group_id: str) -> wire.DescribedGroup:
    group = groups.find(group_id)
    if group is None:
        return _not_found(group_id, f"Group {group_id} not found.")
    if not isinstance(group, StreamsGroup):
        return _not_found(group_id, f"Group {group_id} is not a streams group.")
    return wire.DescribedGroup(
        group_id=group_id,
        group_state=group.state,
        group_epoch=group.epoch,
        assignment_epoch=group.assignment_epoch,
        topology=_topology(group),
        members=[
            _member(member, group.target_of(member.member_id)) for member in group.members.values()
        ],
    )


def _not_found(group_id: str, message: str) -> wire.DescribedGroup:
    return wire.DescribedGroup(
        error_code=GroupIdNotFound.code,
        error_message=str(GroupIdNotFound(message)),
        group_id=group_id,
    )


# Members


def _member(member: StreamsGroupMember, target: Tasks) -> wire.Member:
    metadata, assigned = member.metadata, member.current.assigned
    endpoint = metadata.user_endpoint
    return wire.Member(
        member_id=member.member_id,
        member_epoch=member.epoch,
        rack_id=metadata.rack_id,
        client_id=metadata.client_id,
        client_host=metadata.client_host,
        topology_epoch=metadata.topology_epoch,
        process_id=metadata.process_id,
        user_endpoint=None if endpoint is None else wire.Endpoint(endpoint.host, endpoint.port),
        client_tags=[wire.KeyValue(key, value) for key, value in metadata.client_tags.items()],
        assignment=wire.Assignment(
            _tasks(assigned.active), _tasks(assigned.standby), _tasks(assigned.warmup)
        ),
        target_assignment=wire.Assignment(
            _tasks(target.active), _tasks(target.standby), _tasks(target.warmup)
        ),
    )


def _tasks(tasks: Iterable[TaskId]) -> list[wire.TaskIds]:
    return [wire.TaskIds(name, partitions) for name, partitions in by_subtopology(tasks)]


# The topology


def _topology(group: StreamsGroup) -> wire.Topology | None:
    """With the numbers of partitions that were derived, once the topology can run; as members
    brought it before that.
    """
    configured = group.configured_topology
    if configured is not None and configured.is_ready:
        return _configured(configured)
    return None if group.topology is None else _as_brought(group.topology)


def _configured(topology: ConfiguredTopology) -> wire.Topology:
    return wire.Topology(
        topology.epoch,
        [_configured_subtopology(name, sub) for name, sub in topology.subtopologies.items()],
    )


def _configured_subtopology(name: str, subtopology: ConfiguredSubtopology) -> wire.Subtopology:
    return wire.Subtopology(
        subtopology_id=name,
        source_topics=sorted(subtopology.source_topics),
        repartition_sink_topics=sorted(subtopology.repartition_sink_topics),
        state_changelog_topics=_internal_topics(subtopology.state_changelog_topics),
        repartition_source_topics=_internal_topics(subtopology.repartition_source_topics),
    )


def _internal_topics(topics: Sequence[ConfiguredInternalTopic]) -> list[wire.TopicInfo]:
    return [
        wire.TopicInfo(
            name=topic.name,
            partitions=topic.partitions,
            replication_factor=topic.replication_factor,
            topic_configs=[wire.KeyValue(key, value) for key, value in topic.configs.items()],
        )
        for topic in sorted(topics, key=lambda topic: topic.name)
    ]


def _as_brought(topology: StreamsTopology) -> wire.Topology:
    return wire.Topology(
        topology.epoch,
        [_subtopology_as_brought(sub) for _, sub in sorted(topology.subtopologies.items())],
    )


def _subtopology_as_brought(subtopology: Subtopology) -> wire.Subtopology:
    return wire.Subtopology(
        subtopology_id=subtopology.subtopology_id,
        source_topics=sorted(subtopology.source_topics),
        repartition_sink_topics=sorted(subtopology.repartition_sink_topics),
        state_changelog_topics=_infos_as_brought(subtopology.state_changelog_topics),
        repartition_source_topics=_infos_as_brought(subtopology.repartition_source_topics),
    )


def _infos_as_brought(infos: Iterable[StreamsGroupTopologyValueTopicInfo]) -> list[wire.TopicInfo]:
    return [
        wire.TopicInfo(
            name=info.name,
            partitions=info.partitions,
            replication_factor=info.replication_factor,
            topic_configs=[wire.KeyValue(c.key, c.value) for c in info.topic_configs],
        )
        for info in sorted(infos, key=lambda info: info.name)
    ]
