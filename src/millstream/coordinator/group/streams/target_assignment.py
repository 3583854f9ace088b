"""The target assignment of a streams group: who shall hold which tasks, written for every member whose part has changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from millstream.coordinator.assignors.sticky_task_assignor import TaskMember, assign_tasks
from millstream.coordinator.assignors.task import Tasks
from millstream.coordinator.group.context import OperationContext
from millstream.coordinator.group.streams import records
from millstream.coordinator.group.streams.config import StreamsGroupSettings
from millstream.coordinator.group.streams.configured_topology import ConfiguredTopology
from millstream.coordinator.group.streams.group import StreamsGroup
from millstream.coordinator.group.streams.member import StreamsMember
from millstream.runtime import Instant


def may_assign_again(group: StreamsGroup, settings: StreamsGroupSettings, now: Instant) -> bool:
    """Assignments keep a distance from each other, so that members that come together are assigned together."""
    return (
        group.assignment_timestamp_ms == 0
        or settings.assignment_interval_ms == 0
        or now.wall_ms >= group.assignment_timestamp_ms + settings.assignment_interval_ms
    )


@dataclass(frozen=True, slots=True)
class Plan:
    """What an assignment of group epoch `epoch` is made of."""

    epoch: int
    members: Mapping[str, StreamsMember]
    topology: ConfiguredTopology
    num_standby_replicas: int


def assign(group: StreamsGroup, plan: Plan, context: OperationContext) -> Mapping[str, Tasks]:
    """Everyone's tasks; nobody has any while the topology cannot run."""
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
