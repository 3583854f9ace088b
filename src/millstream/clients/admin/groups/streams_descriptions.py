"""Descriptions of streams groups (KIP-1071): the topology they run, and which member has which tasks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from millstream.clients.admin.core.call import Asked, Call
from millstream.clients.admin.core.results import Results, item_error, operations
from millstream.clients.admin.core.routes import GROUP_COORDINATOR
from millstream.clients.admin.driver import AdminCalls
from millstream.errors import KafkaError
from millstream.net.client.core.addresses import Address
from millstream.protocol.api import ApiKey
from millstream.protocol.enums import GroupState
from millstream.protocol.generated.streams_group_describe import (
    Assignment,
    DescribedGroup,
    Member,
    StreamsGroupDescribeRequest,
    StreamsGroupDescribeResponse,
    Subtopology,
    TaskIds,
    TaskOffset,
    TopicInfo,
)
from millstream.security.acl import Operation


class StreamsTask(NamedTuple):
    subtopology_id: str
    partition: int


class StreamsTopic(NamedTuple):
    """An internal topic. 0 partitions: as many as its subtopology has tasks."""

    name: str
    partitions: int
    replication_factor: int
    configs: Mapping[str, str]


class StreamsSubtopology(NamedTuple):
    subtopology_id: str
    source_topics: tuple[str, ...]
    repartition_sink_topics: tuple[str, ...]
    changelog_topics: tuple[StreamsTopic, ...]
    repartition_source_topics: tuple[StreamsTopic, ...]


class StreamsAssignment(NamedTuple):
    active_tasks: list[StreamsTask]
    standby_tasks: list[StreamsTask]
    warmup_tasks: list[StreamsTask]


class StreamsMemberDescription(NamedTuple):
    """Offsets are by task: what the member has restored, and where the changelogs end."""

    member_id: str
    member_epoch: int
    group_instance_id: str | None
    rack_id: str | None
    client_id: str
    client_host: str
    topology_epoch: int
    process_id: str
    user_endpoint: Address | None
    client_tags: Mapping[str, str]
    task_offsets: Mapping[StreamsTask, int]
    task_end_offsets: Mapping[StreamsTask, int]
    assignment: StreamsAssignment
    target_assignment: StreamsAssignment
    is_classic: bool


class StreamsGroupDescription(NamedTuple):
    """`coordinator` is the node id of the broker that answered. A group without a topology has epoch -1."""

    group_id: str
    state: GroupState
    group_epoch: int
    target_assignment_epoch: int
    topology_epoch: int
    subtopologies: list[StreamsSubtopology]
    members: list[StreamsMemberDescription]
    coordinator: int | None
    authorized_operations: frozenset[Operation] | None


async def describe_streams_groups(
    admin: AdminCalls,
    group_ids: Iterable[str],
    *,
    include_authorized_operations: bool = False,
    timeout_ms: int | None = None,
) -> Results[str, StreamsGroupDescription]:
    """Streams groups (Kafka 4.1)."""

    def build(asked: Asked[str]) -> StreamsGroupDescribeRequest:
        return StreamsGroupDescribeRequest(
            group_ids=asked.keys, include_authorized_operations=include_authorized_operations
        )

    def read(
        response: StreamsGroupDescribeResponse, asked: Asked[str]
    ) -> dict[str, StreamsGroupDescription | KafkaError]:
        return {group.group_id: _group(group, asked.node_id) for group in response.groups}

    call = Call(
        api=ApiKey.STREAMS_GROUP_DESCRIBE,
        response=StreamsGroupDescribeResponse,
        route=GROUP_COORDINATOR,
        build=build,
        read=read,
    )
    return await admin._driver.run(call, group_ids, admin._driver.deadline(timeout_ms))


def _group(group: DescribedGroup, coordinator: int | None) -> StreamsGroupDescription | KafkaError:
    if group.error_code:
        return item_error(group.error_code, group.group_id, group.error_message)
    topology = group.topology
    return StreamsGroupDescription(
        group.group_id,
        GroupState.of(group.group_state),
        group.group_epoch,
        group.assignment_epoch,
        -1 if topology is None else topology.epoch,
        [_subtopology(each) for each in (topology and topology.subtopologies) or ()],
        [_member(member) for member in group.members],
        coordinator,
        operations(group.authorized_operations),
    )


def _subtopology(subtopology: Subtopology) -> StreamsSubtopology:
    return StreamsSubtopology(
        subtopology.subtopology_id,
        tuple(subtopology.source_topics),
        tuple(subtopology.repartition_sink_topics),
        tuple(_topic(topic) for topic in subtopology.state_changelog_topics),
        tuple(_topic(topic) for topic in subtopology.repartition_source_topics),
    )


def _topic(topic: TopicInfo) -> StreamsTopic:
    configs = {each.key: each.value for each in topic.topic_configs}
    return StreamsTopic(topic.name, topic.partitions, topic.replication_factor, configs)


def _member(member: Member) -> StreamsMemberDescription:
    endpoint = member.user_endpoint
    return StreamsMemberDescription(
        member.member_id,
        member.member_epoch,
        member.instance_id,
        member.rack_id,
        member.client_id,
        member.client_host,
        member.topology_epoch,
        member.process_id,
        None if endpoint is None else Address(endpoint.host, endpoint.port),
        {tag.key: tag.value for tag in member.client_tags},
        _offsets(member.task_offsets),
        _offsets(member.task_end_offsets),
        _assignment(member.assignment),
        _assignment(member.target_assignment),
        member.is_classic,
    )


def _offsets(offsets: Iterable[TaskOffset]) -> dict[StreamsTask, int]:
    return {StreamsTask(each.subtopology_id, each.partition): each.offset for each in offsets}


def _assignment(assignment: Assignment) -> StreamsAssignment:
    return StreamsAssignment(
        _tasks(assignment.active_tasks),
        _tasks(assignment.standby_tasks),
        _tasks(assignment.warmup_tasks),
    )


def _tasks(tasks: Iterable[TaskIds]) -> list[StreamsTask]:
    return [
        StreamsTask(each.subtopology_id, partition)
        for each in tasks
        for partition in each.partitions
    ]
