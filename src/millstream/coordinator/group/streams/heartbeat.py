"""StreamsGroupHeartbeat: joining, staying, reconciling.

A heartbeat may change three things, in this order: what is known of the member and its topology (which raises
the group epoch), the target assignment (which follows the group epoch), and the tasks in the member's hands
(which follow the target).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from millstream.coordinator.assignors.partition_assignor import TaskId, Tasks
from millstream.coordinator.group.context import GroupContext
from millstream.coordinator.group.streams import records, target_assignment
from millstream.coordinator.group.streams.configured_topology import (
    ConfiguredInternalTopic,
    ConfiguredTopology,
    configure_topology,
)
from millstream.coordinator.group.streams.endpoints import partitions_by_endpoint
from millstream.coordinator.group.streams.group import NOT_VALIDATED, StreamsGroup
from millstream.coordinator.group.streams.member import (
    JOIN_EPOCH,
    StreamsGroupMember,
    StreamsGroupMemberState,
)
from millstream.coordinator.group.streams.membership import (
    Heartbeat,
    joined_group,
    known_member,
    updated_metadata,
)
from millstream.coordinator.group.streams.reconciliation import TargetTasks, reconcile
from millstream.coordinator.group.streams.removal import leave
from millstream.coordinator.group.streams.request_check import owned_tasks
from millstream.coordinator.group.streams.sessions import (
    await_more_members,
    await_revocation,
    heartbeat_interval_ms,
    restart_session,
    stop_awaiting_revocation,
)
from millstream.coordinator.group.streams.topology import StreamsTopology, topology_value
from millstream.coordinator.group.topic_hash import topics_hash
from millstream.coordinator.result import CoordinatorResult
from millstream.errors import FencedMemberEpoch, InvalidRequest
from millstream.protocol.enums import StreamsGroupStatus
from millstream.protocol.generated.streams_group_heartbeat import (
    StreamsGroupHeartbeatRequest,
    StreamsGroupHeartbeatResponse,
    TaskIds,
)


@dataclass(frozen=True, slots=True)
class StreamsHeartbeat:
    """The answer, and the internal topics that have to be made before tasks can run."""

    response: StreamsGroupHeartbeatResponse
    missing_topics: Mapping[str, ConfiguredInternalTopic] = field(default_factory=dict)


def heartbeat(context: GroupContext, request: StreamsGroupHeartbeatRequest) -> CoordinatorResult:
    """Replies with a StreamsHeartbeat.

    The request has passed `request_check`; raises what its group refuses it with.
    """
    if request.member_epoch < JOIN_EPOCH:
        outcome = StreamsHeartbeat(leave(context, request))
    else:
        outcome = _stay(Heartbeat(context, request, owned_tasks(request)))
    return context.reply(outcome)


def _stay(heartbeat: Heartbeat) -> StreamsHeartbeat:
    context = heartbeat.context
    group = joined_group(heartbeat)
    member = known_member(heartbeat, group)
    updated = member.with_metadata(updated_metadata(member.metadata, heartbeat))
    if updated.metadata != member.metadata:
        context.result.records.append(
            records.member_record(group.group_id, updated.member_id, updated.metadata)
        )
    topology = _topology(heartbeat, group)
    _maybe_tell_stale(heartbeat, group, updated)
    configured = _configured(heartbeat, group, topology)
    epoch = _group_epoch(
        heartbeat, group, configured, has_changed=updated.metadata != member.metadata
    )
    _maybe_delay(context, group)
    if group.group_id in context.groups.awaiting_members:
        heartbeat.tell(
            StreamsGroupStatus.ASSIGNMENT_DELAYED,
            "Assignment delayed due to the configured initial rebalance delay.",
        )
        target = TargetTasks(group.assignment_epoch, Tasks())
    else:
        target = _target(heartbeat, group, epoch, updated, configured)
    updated = _reconciled(heartbeat, group, updated, target)
    restart_session(context, group, updated)
    response = _response(heartbeat, group, member, updated)
    _tell_endpoints(heartbeat, group, updated, response, configured)
    if context.groups.find(group.group_id) is group:
        response.endpoint_information_epoch = group.endpoint_information_epoch
    _tell_troubles(heartbeat, group, configured)
    return StreamsHeartbeat(response, configured.missing_topics)


# The topology


def _topology(heartbeat: Heartbeat, group: StreamsGroup) -> StreamsTopology:
    """The first member brings it; a member with another of the same or a later epoch is refused."""
    if heartbeat.request.topology is None:
        if group.topology is None:
            raise FencedMemberEpoch(
                "The group has no topology. The member must rejoin with its own."
            )
        return group.topology
    value = topology_value(heartbeat.request.topology)
    if group.topology is None:
        heartbeat.context.result.records.append(records.topology_record(group.group_id, value))
        return StreamsTopology.from_value(value)
    if group.topology.epoch <= value.epoch and group.topology != StreamsTopology.from_value(value):
        raise InvalidRequest("Topology updates are not supported yet.")
    return group.topology


def _maybe_tell_stale(
    heartbeat: Heartbeat, group: StreamsGroup, member: StreamsGroupMember
) -> None:
    epoch = member.metadata.topology_epoch
    if group.topology is not None and epoch < group.topology.epoch:
        heartbeat.tell(
            StreamsGroupStatus.STALE_TOPOLOGY,
            f"The member's topology epoch {epoch} is behind the group's topology epoch "
            f"{group.topology.epoch}.",
        )


def _configured(
    heartbeat: Heartbeat, group: StreamsGroup, topology: StreamsTopology
) -> ConfiguredTopology:
    """The topology set against the topics of now, done again when topics have come, gone or grown."""
    known, topics = group.configured_topology, heartbeat.context.image.topics
    if known is None or known.topics is not topics or known.metadata_hash != group.metadata_hash:
        metadata_hash = topics_hash(topology.required_topics(), heartbeat.context.image)
        known = configure_topology(topology, topics, metadata_hash)
        soft = replace(group.soft, configured_topology=known)
        heartbeat.context.replace_soft(group, soft)
    if known.is_ready and heartbeat.owned is not None:
        known.check_exist(heartbeat.owned)
    return known


def _group_epoch(
    heartbeat: Heartbeat, group: StreamsGroup, configured: ConfiguredTopology, *, has_changed: bool
) -> int:
    """One more when there is a reason for a new assignment."""
    validated_epoch = configured.epoch if configured.is_ready else NOT_VALIDATED
    assignment_configs = target_assignment.configs_of(heartbeat.context, group)
    is_as_before = (
        not has_changed
        and group.topology is not None
        and configured.metadata_hash == group.metadata_hash
        and validated_epoch == group.validated_topology_epoch
        and assignment_configs == group.last_assignment_configs
    )
    if is_as_before:
        return group.epoch
    epoch = group.epoch + 1
    heartbeat.context.result.records.append(
        records.group_metadata_record(
            group.group_id, epoch, configured.metadata_hash, validated_epoch, assignment_configs
        )
    )
    return epoch


# The assignment


def _maybe_delay(context: GroupContext, group: StreamsGroup) -> None:
    """The first assignment of a new group waits for more members."""
    if group.members or group.group_id in context.groups.awaiting_members:
        return
    delay_ms = context.config.streams.initial_rebalance_delay_ms.of_group(
        context.image, group.group_id
    )
    if delay_ms > 0:
        await_more_members(context, group, delay_ms)


def _target(
    heartbeat: Heartbeat,
    group: StreamsGroup,
    epoch: int,
    member: StreamsGroupMember,
    configured: ConfiguredTopology,
) -> TargetTasks:
    """The member's part of the newest assignment: a new one when the group epoch is ahead and
    enough time has passed.
    """
    last = TargetTasks(group.assignment_epoch, group.target_of(member.member_id))
    if group.assignment_epoch >= epoch:
        return last
    if not target_assignment.is_due(heartbeat.context, group):
        heartbeat.tell(
            StreamsGroupStatus.ASSIGNMENT_DELAYED,
            "Assignment delayed due to the configured assignment interval.",
        )
        return last
    members = {**group.members, member.member_id: member}
    standbys = target_assignment.num_standby_replicas(heartbeat.context, group)
    plan = target_assignment.Plan(epoch, members, configured, standbys)
    tasks = target_assignment.assign(heartbeat.context, group, plan)
    return TargetTasks(epoch, tasks[member.member_id])


def _reconciled(
    heartbeat: Heartbeat, group: StreamsGroup, member: StreamsGroupMember, target: TargetTasks
) -> StreamsGroupMember:
    current = reconcile(member, target, group.owners, heartbeat.owned)
    if current == member.current:
        return member
    heartbeat.context.result.records.append(
        records.current_assignment_record(group.group_id, member.member_id, current)
    )
    if current.state is StreamsGroupMemberState.UNREVOKED_TASKS:
        await_revocation(heartbeat.context, group, member)
    else:
        stop_awaiting_revocation(heartbeat.context, group, member)
    return member.with_current(current)


# The answer


def _response(
    heartbeat: Heartbeat,
    group: StreamsGroup,
    before: StreamsGroupMember,
    member: StreamsGroupMember,
) -> StreamsGroupHeartbeatResponse:
    """Tasks are told when they changed, to a member that joins, and again to a member that holds
    others: an answer was lost.

    Kafka 4.3 does not tell them again; such a member would do nothing until the next rebalance.
    """
    response = StreamsGroupHeartbeatResponse(
        member_id=member.member_id,
        member_epoch=member.epoch,
        heartbeat_interval_ms=heartbeat_interval_ms(heartbeat.context, group),
        status=heartbeat.statuses,
    )
    assigned = member.current.assigned
    is_as_told = heartbeat.owned is None or assigned.equals(heartbeat.owned)
    if heartbeat.is_join or assigned != before.current.assigned or not is_as_told:
        response.active_tasks = _listed(assigned.active)
        response.standby_tasks = _listed(assigned.standby)
        response.warmup_tasks = _listed(assigned.warmup)
    return response


def _tell_endpoints(
    heartbeat: Heartbeat,
    group: StreamsGroup,
    member: StreamsGroupMember,
    response: StreamsGroupHeartbeatResponse,
    configured: ConfiguredTopology,
) -> None:
    """Tells members which partitions each endpoint serves, unless they know the newest."""
    if response.active_tasks is not None and member.metadata.user_endpoint is not None:
        epoch = group.endpoint_information_epoch + 1
        soft = replace(group.soft, endpoint_information_epoch=epoch)
        heartbeat.context.replace_soft(group, soft)
    if group.endpoint_information_epoch != heartbeat.request.endpoint_information_epoch:
        others = [m for m in group.members.values() if m.member_id != member.member_id]
        response.partitions_by_user_endpoint = partitions_by_endpoint([*others, member], configured)


def _tell_troubles(
    heartbeat: Heartbeat, group: StreamsGroup, configured: ConfiguredTopology
) -> None:
    if configured.problem is not None:
        heartbeat.tell(configured.problem.code, configured.problem.detail)
    if heartbeat.request.shutdown_application:
        group.request_shutdown(heartbeat.request.member_id)
    if group.shutdown_requested_by is not None:
        heartbeat.tell(
            StreamsGroupStatus.SHUTDOWN_APPLICATION,
            f"Streams group member {group.shutdown_requested_by} encountered a fatal error and "
            "requested a shutdown for the entire application.",
        )


def _listed(tasks: Iterable[TaskId]) -> list[TaskIds]:
    return [TaskIds(name, partitions) for name, partitions in records.by_subtopology(tasks)]
