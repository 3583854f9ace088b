"""Checks a StreamsGroupHeartbeat by the rules that hold whatever the group (KIP-1071, as far as
Kafka 4.3 supports it).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from millstream.coordinator.assignors.partition_assignor import TaskId, Tasks
from millstream.coordinator.group.streams.member import JOIN_EPOCH
from millstream.errors import (
    InvalidRequest,
    StreamsInvalidTopology,
    StreamsInvalidTopologyEpoch,
)
from millstream.metadata.topic_names import is_internal, is_legal_topic_name
from millstream.protocol.generated.streams_group_heartbeat import (
    StreamsGroupHeartbeatRequest,
    TaskIds,
    Topology,
)

_STATIC_LEAVE_EPOCH = -2
_NOT_GIVEN = -1


def check_heartbeat(request: StreamsGroupHeartbeatRequest) -> None:
    """Checks all but the names of topics. Raises InvalidRequest, StreamsInvalidTopology."""
    _check_is_supported(request)
    _check_ids(request)
    if request.member_epoch == JOIN_EPOCH:
        _check_join(request)
    elif request.member_epoch == _STATIC_LEAVE_EPOCH:
        raise InvalidRequest("InstanceId can't be null.")
    elif request.member_epoch < _STATIC_LEAVE_EPOCH:
        raise InvalidRequest(
            f"MemberEpoch is {request.member_epoch}, but must be greater than or equal to -2."
        )
    kinds = (request.active_tasks, request.standby_tasks, request.warmup_tasks)
    if any(tasks is not None for tasks in kinds) and None in kinds:
        raise InvalidRequest("If one task-type is non-null, all must be non-null.")
    if request.member_epoch != JOIN_EPOCH and request.topology is not None:
        raise InvalidRequest("Topology can only be provided when (re-)joining.")


def owned_tasks(request: StreamsGroupHeartbeatRequest) -> Tasks | None:
    """Returns the tasks the member says it holds; None when it says nothing new."""
    if request.active_tasks is None:
        return None
    return Tasks(
        _task_ids(request.active_tasks),
        _task_ids(request.standby_tasks or []),
        _task_ids(request.warmup_tasks or []),
    )


def _task_ids(listed: list[TaskIds]) -> frozenset[TaskId]:
    return frozenset(TaskId(ids.subtopology_id, p) for ids in listed for p in ids.partitions)


def check_topic_names(topology: Topology) -> None:
    """Raises StreamsInvalidTopology, before anything is said about a topic that is named."""
    names = list(dict.fromkeys(topic_names(topology)))
    internal = [name for name in names if is_internal(name)]
    if internal:
        raise StreamsInvalidTopology(
            f"Use of Kafka internal topics {','.join(internal)} in a Kafka Streams topology is prohibited."
        )
    illegal = [name for name in names if not is_legal_topic_name(name)]
    if illegal:
        raise StreamsInvalidTopology(f"Topic names {','.join(illegal)} are not valid topic names.")


def topic_names(topology: Topology) -> Iterator[str]:
    """Yields the names of all topics, some of them several times."""
    for sub in topology.subtopologies:
        yield from sub.source_topics
        yield from sub.repartition_sink_topics
        yield from (info.name for info in sub.repartition_source_topics)
        yield from (info.name for info in sub.state_changelog_topics)


def _check_is_supported(request: StreamsGroupHeartbeatRequest) -> None:
    if request.instance_id is not None:
        raise InvalidRequest("Static membership is not yet supported.")
    if request.task_offsets is not None:
        raise InvalidRequest("TaskOffsets are not supported yet.")
    if request.task_end_offsets is not None:
        raise InvalidRequest("TaskEndOffsets are not supported yet.")
    if request.warmup_tasks:
        raise InvalidRequest("WarmupTasks are not supported yet.")
    if request.topology is not None and any(
        sub.source_topic_regex for sub in request.topology.subtopologies
    ):
        raise InvalidRequest("Regular expressions for source topics are not supported yet.")


def _check_ids(request: StreamsGroupHeartbeatRequest) -> None:
    if not request.member_id.strip():
        raise InvalidRequest("MemberId can't be empty.")
    if not request.group_id.strip():
        raise InvalidRequest("GroupId can't be empty.")
    if request.rack_id is not None and not request.rack_id.strip():
        raise InvalidRequest("RackId can't be empty.")


def _check_join(request: StreamsGroupHeartbeatRequest) -> None:
    if request.rebalance_timeout_ms == _NOT_GIVEN:
        raise InvalidRequest("RebalanceTimeoutMs must be provided in first request.")
    for tasks, name in (
        (request.active_tasks, "ActiveTasks"),
        (request.standby_tasks, "StandbyTasks"),
        (request.warmup_tasks, "WarmupTasks"),
    ):
        if tasks != []:
            raise InvalidRequest(f"{name} must be empty when (re-)joining.")
    if request.topology is None:
        raise InvalidRequest("Topology must be non-null when (re-)joining.")
    _check_topology(request.topology)


def _check_topology(topology: Topology) -> None:
    if topology.epoch < 0:
        raise StreamsInvalidTopologyEpoch("Topology epoch must be non-negative.")
    ids = Counter(sub.subtopology_id for sub in topology.subtopologies)
    if any(count > 1 for count in ids.values()):
        raise StreamsInvalidTopology("Two subtopologies have the same id.")
    for sub in topology.subtopologies:
        for info in sub.state_changelog_topics:
            if info.partitions:
                raise StreamsInvalidTopology(
                    f"Changelog topic {info.name} must have an undefined partition count, "
                    f"but it is set to {info.partitions}."
                )
