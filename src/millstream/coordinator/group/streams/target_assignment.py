"""The target assignment of a streams group: who shall hold which tasks, written for every
member whose part has changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from millstream.coordinator.assignors.partition_assignor import Tasks
from millstream.coordinator.assignors.sticky_task_assignor import TaskMember, assign_tasks
from millstream.coordinator.group.context import GroupContext, GroupTimer
from millstream.coordinator.group.streams import records
from millstream.coordinator.group.streams.configured_topology import ConfiguredTopology
from millstream.coordinator.group.streams.group import StreamsGroup
from millstream.coordinator.group.streams.member import StreamsGroupMember

NUM_STANDBY_REPLICAS: Final = "num.standby.replicas"
"""As record 17 names it."""


def is_due(context: GroupContext, group: StreamsGroup) -> bool:
    """Tells whether an assignment is due.

    Assignments of one group keep their distance, so that members that come together share one.
    """
    interval_ms = context.config.streams.assignment_interval_ms.of_group(
        context.image, group.group_id
    )
    last_ms = group.assignment_timestamp_ms
    return not last_ms or not interval_ms or context.now.wall_ms >= last_ms + interval_ms


def num_standby_replicas(context: GroupContext, group: StreamsGroup) -> int:
    return context.config.streams.num_standby_replicas.of_group(context.image, group.group_id)


def configs_of(context: GroupContext, group: StreamsGroup) -> dict[str, str]:
    """Returns the settings an assignment rests on: a change of them is a reason for a new one."""
    return {NUM_STANDBY_REPLICAS: str(num_standby_replicas(context, group))}


@dataclass(frozen=True, slots=True)
class Plan:
    """The input of an assignment for the group epoch `epoch`."""

    epoch: int
    members: Mapping[str, StreamsGroupMember]
    topology: ConfiguredTopology
    num_standby_replicas: int


def assign(context: GroupContext, group: StreamsGroup, plan: Plan) -> Mapping[str, Tasks]:
    """Returns the tasks of every member; there are none while the topology cannot run."""
    if plan.topology.is_ready:
        specs = {
            member_id: TaskMember(member.metadata.process_id, group.target_of(member_id))
            for member_id, member in plan.members.items()
        }
        assignment = assign_tasks(specs, plan.topology.tasks(), plan.num_standby_replicas)
    else:
        assignment = dict.fromkeys(plan.members, Tasks())
    context.result.records += [
        records.target_assignment_record(group.group_id, member_id, tasks)
        for member_id, tasks in assignment.items()
        if group.target_assignment.get(member_id) != tasks
    ]
    context.result.records.append(
        records.target_assignment_metadata_record(group.group_id, plan.epoch, context.now.wall_ms)
    )
    return assignment


def end_initial_delay(context: GroupContext, timer: GroupTimer) -> None:
    """Makes the first assignment of those who came during the delay. Members hear of it with their next heartbeat.

    Without a configured topology (only one heartbeat came) that heartbeat assigns.
    """
    context.groups.awaiting_members.discard(timer.group_id)
    group = context.groups.find(timer.group_id)
    if not isinstance(group, StreamsGroup) or not group.members:
        return
    topology = group.configured_topology
    if topology is not None and group.epoch > group.assignment_epoch and is_due(context, group):
        standbys = int(group.last_assignment_configs.get(NUM_STANDBY_REPLICAS, "0"))
        assign(context, group, Plan(group.epoch, group.members, topology, standbys))
