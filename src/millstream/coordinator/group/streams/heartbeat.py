"""StreamsGroupHeartbeat: joining, staying, reconciling.

A heartbeat may change three things, in this order: what is known of the member and its topology (which raises the group epoch),
the target assignment (which follows the group epoch), and the tasks in the member's hands (which follow the target).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from millstream.coordinator.assignors.task import TaskId, Tasks
from millstream.coordinator.group.groups import Groups
from millstream.coordinator.group.streams import records
from millstream.coordinator.group.streams.beat import Beat
from millstream.coordinator.group.streams.configured_topology import (
    ConfiguredTopology,
    InternalTopic,
    configure_topology,
)
from millstream.coordinator.group.streams.endpoints import partitions_by_endpoint
from millstream.coordinator.group.streams.group import NOT_VALIDATED, StreamsGroup
from millstream.coordinator.group.streams.member import MemberState, StreamsMember
from millstream.coordinator.group.streams.membership import (
    joined_group,
    known_member,
    updated_metadata,
)
from millstream.coordinator.group.streams.reconciliation import Target, reconcile
from millstream.coordinator.group.streams.sessions import (
    await_more_members,
    await_revocation,
    restart_session,
    stop_awaiting_revocation,
)
from millstream.coordinator.group.streams.target_assignment import Plan, assign, may_assign_again
from millstream.coordinator.group.streams.topology import StreamsTopology, topology_value
from millstream.coordinator.group.streams.topology_problem import StatusCode
from millstream.coordinator.group.topic_hash import topics_hash
from millstream.errors import FencedMemberEpoch, InvalidRequest
from millstream.protocol.generated.streams_group_heartbeat import (
    StreamsGroupHeartbeatResponse,
    TaskIds,
)


@dataclass(frozen=True, slots=True)
class StreamsHeartbeat:
    """The answer, and the internal topics that have to be made before tasks can run."""

    response: StreamsGroupHeartbeatResponse
    missing_topics: Mapping[str, InternalTopic] = field(default_factory=dict)


def handle_heartbeat(beat: Beat, groups: Groups, delayed: set[str]) -> None:
    """`delayed` holds the groups whose first assignment waits for more members. Raises what the request is refused with."""
    group = joined_group(beat, groups)
    member = known_member(beat, group)
    updated = member.with_metadata(updated_metadata(member.metadata, beat))
    if updated.metadata != member.metadata:
        beat.context.result.records.append(
            records.member_record(group.group_id, updated.member_id, updated.metadata)
        )
    topology = _topology(beat, group)
    _maybe_tell_stale(beat, group, updated)
    configured = _configured(beat, group, topology)
    epoch = _group_epoch(beat, group, configured, has_changed=updated.metadata != member.metadata)
    _maybe_delay(beat, group, delayed)
    if group.group_id in delayed:
        beat.tell(
            StatusCode.ASSIGNMENT_DELAYED,
            "Assignment delayed due to the configured initial rebalance delay.",
        )
        target = Target(group.assignment_epoch, Tasks())
    else:
        target = _target(beat, group, epoch, updated, configured)
    updated = _reconciled(beat, group, updated, target)
    timeout_ms = beat.settings.session_timeout_ms
    restart_session(group.group_id, updated.member_id, timeout_ms, beat.context)
    response = _response(beat, member, updated)
    _tell_endpoints(beat, group, updated, response, configured)
    if groups.find(group.group_id) is group:
        response.endpoint_information_epoch = group.endpoint_information_epoch
    _tell_troubles(beat, group, configured)
    beat.context.result.reply(
        beat.caller.token, StreamsHeartbeat(response, configured.missing_topics)
    )


# The topology


def _topology(beat: Beat, group: StreamsGroup) -> StreamsTopology:
    """The first member brings it; whoever brings another of the same or a later epoch is refused."""
    if beat.request.topology is None:
        if group.topology is None:
            raise FencedMemberEpoch(
                "The group has no topology. The member must rejoin with its own."
            )
        return group.topology
    value = topology_value(beat.request.topology)
    if group.topology is None:
        beat.context.result.records.append(records.topology_record(group.group_id, value))
        return StreamsTopology.from_value(value)
    if group.topology.epoch <= value.epoch and group.topology != StreamsTopology.from_value(value):
        raise InvalidRequest("Topology updates are not supported yet.")
    return group.topology


def _maybe_tell_stale(beat: Beat, group: StreamsGroup, member: StreamsMember) -> None:
    epoch = member.metadata.topology_epoch
    if group.topology is not None and epoch < group.topology.epoch:
        beat.tell(
            StatusCode.STALE_TOPOLOGY,
            f"The member's topology epoch {epoch} is behind the group's topology epoch "
            f"{group.topology.epoch}.",
        )


def _configured(beat: Beat, group: StreamsGroup, topology: StreamsTopology) -> ConfiguredTopology:
    """The topology set against the topics of now, done again when topics have come, gone or grown."""
    known, topics = group.configured_topology, beat.context.image.topics
    if known is None or known.topics is not topics or known.metadata_hash != group.metadata_hash:
        metadata_hash = topics_hash(topology.required_topics(), beat.context.image)
        known = configure_topology(topology, topics, metadata_hash)
        group.configured_topology = known
    if known.is_ready and beat.owned is not None:
        known.check_exist(beat.owned)
    return known


def _group_epoch(
    beat: Beat, group: StreamsGroup, configured: ConfiguredTopology, *, has_changed: bool
) -> int:
    """One more when there is a reason for a new assignment."""
    validated_epoch = configured.epoch if configured.is_ready else NOT_VALIDATED
    assignment_configs = beat.settings.assignment_configs()
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
    beat.context.result.records.append(
        records.group_metadata_record(
            group.group_id, epoch, configured.metadata_hash, validated_epoch, assignment_configs
        )
    )
    return epoch


# The assignment


def _maybe_delay(beat: Beat, group: StreamsGroup, delayed: set[str]) -> None:
    delay_ms = beat.settings.initial_rebalance_delay_ms
    if not group.members and delay_ms > 0 and group.group_id not in delayed:
        delayed.add(group.group_id)
        await_more_members(group.group_id, delay_ms, beat.context)


def _target(
    beat: Beat,
    group: StreamsGroup,
    epoch: int,
    member: StreamsMember,
    configured: ConfiguredTopology,
) -> Target:
    """The member's part of the newest assignment: a new one when the group epoch is ahead and enough time has passed."""
    last = Target(group.assignment_epoch, group.target_of(member.member_id))
    if group.assignment_epoch >= epoch:
        return last
    if not may_assign_again(group, beat.settings, beat.context.now):
        beat.tell(
            StatusCode.ASSIGNMENT_DELAYED,
            "Assignment delayed due to the configured assignment interval.",
        )
        return last
    members = {**group.members, member.member_id: member}
    standbys = beat.settings.num_standby_replicas
    plan = Plan(epoch, members, configured, standbys)
    tasks = assign(group, plan, beat.context)
    return Target(epoch, tasks[member.member_id])


def _reconciled(
    beat: Beat, group: StreamsGroup, member: StreamsMember, target: Target
) -> StreamsMember:
    current = reconcile(member, target, group.owners, beat.owned)
    if current == member.current:
        return member
    beat.context.result.records.append(
        records.current_assignment_record(group.group_id, member.member_id, current)
    )
    if current.state is MemberState.UNREVOKED_TASKS:
        await_revocation(group.group_id, member, beat.context)
    else:
        stop_awaiting_revocation(group.group_id, member.member_id, beat.context)
    return member.with_current(current)


# The answer


def _response(
    beat: Beat, before: StreamsMember, member: StreamsMember
) -> StreamsGroupHeartbeatResponse:
    """Tasks are told when they changed, to whoever joins, and again to a member that holds others: an answer was lost.

    Kafka 4.3 does not tell them again; such a member would do nothing until the next rebalance.
    """
    response = StreamsGroupHeartbeatResponse(
        member_id=member.member_id,
        member_epoch=member.epoch,
        heartbeat_interval_ms=beat.settings.heartbeat_interval_ms,
        status=beat.statuses,
    )
    assigned = member.current.assigned
    is_as_told = beat.owned is None or assigned.equals(beat.owned)
    if beat.is_join or assigned != before.current.assigned or not is_as_told:
        response.active_tasks = _listed(assigned.active)
        response.standby_tasks = _listed(assigned.standby)
        response.warmup_tasks = _listed(assigned.warmup)
    return response


def _tell_endpoints(
    beat: Beat,
    group: StreamsGroup,
    member: StreamsMember,
    response: StreamsGroupHeartbeatResponse,
    configured: ConfiguredTopology,
) -> None:
    """Who serves which partitions, to members whose knowledge of it is not the newest."""
    if response.active_tasks is not None and member.metadata.user_endpoint is not None:
        group.endpoint_information_epoch += 1
    if group.endpoint_information_epoch != beat.request.endpoint_information_epoch:
        others = [m for m in group.members.values() if m.member_id != member.member_id]
        response.partitions_by_user_endpoint = partitions_by_endpoint([*others, member], configured)


def _tell_troubles(beat: Beat, group: StreamsGroup, configured: ConfiguredTopology) -> None:
    if configured.problem is not None:
        beat.tell(configured.problem.code, configured.problem.detail)
    if beat.request.shutdown_application:
        group.request_shutdown(beat.request.member_id)
    if group.shutdown_requested_by is not None:
        beat.tell(
            StatusCode.SHUTDOWN_APPLICATION,
            f"Streams group member {group.shutdown_requested_by} encountered a fatal error and "
            "requested a shutdown for the entire application.",
        )


def _listed(tasks: Iterable[TaskId]) -> list[TaskIds]:
    return [TaskIds(name, partitions) for name, partitions in records.by_subtopology(tasks)]
