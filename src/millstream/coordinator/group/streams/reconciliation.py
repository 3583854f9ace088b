"""Brings a member from the tasks it holds to its target assignment: first it lets go, then it is given what is free.

A task moves to another process only when no member holds it: its old owner has said that it gave the task back, or is
gone. The member's epoch tells how far it has come; it enters the target's epoch when it has nothing left to give back.
"""

from __future__ import annotations

from dataclasses import dataclass

from millstream.coordinator.assignors.partition_assignor import TaskId, Tasks
from millstream.coordinator.group.streams.member import (
    AssignedTasks,
    CurrentAssignment,
    StreamsGroupMember,
    StreamsGroupMemberState,
)
from millstream.coordinator.group.streams.task_owners import TaskOwners
from millstream.errors import FencedMemberEpoch


@dataclass(frozen=True, slots=True)
class TargetTasks:
    """A member's part of the target assignment of `epoch`."""

    epoch: int
    tasks: Tasks


def reconcile(
    member: StreamsGroupMember, target: TargetTasks, owners: TaskOwners, owned: Tasks | None
) -> CurrentAssignment:
    """Returns the member's next step; the same assignment when there is none to take.

    `owned` is what the member says it holds, None when it says nothing new. Raises FencedMemberEpoch.
    """
    current = member.current
    match current.state:
        case StreamsGroupMemberState.STABLE:
            if current.epoch == target.epoch:
                return current
            return _next_step(member, current.epoch, target, owners, owned)
        case StreamsGroupMemberState.UNREVOKED_TASKS:
            if owned is None or current.pending_revocation.intersects(owned):
                return current
            return _next_step(member, current.epoch + 1, target, owners, owned)
        case StreamsGroupMemberState.UNRELEASED_TASKS:
            return _next_step(member, current.epoch, target, owners, owned)
        case StreamsGroupMemberState.UNKNOWN:
            if owned is None or owned.all:
                raise FencedMemberEpoch(
                    "The streams group member is in a unknown state. "
                    "The member must abandon all its tasks and rejoin."
                )
            return _next_step(member, target.epoch, target, owners, owned)


@dataclass(frozen=True, slots=True)
class _Difference:
    kept: AssignedTasks
    to_revoke: AssignedTasks
    free: Tasks
    """Wanted, and not held by a member that is in the way."""
    waits: bool
    """Something is wanted that is not free yet."""


def _next_step(
    member: StreamsGroupMember,
    epoch: int,
    target: TargetTasks,
    owners: TaskOwners,
    owned: Tasks | None,
) -> CurrentAssignment:
    difference = _difference(member, target.tasks, owners)
    previous_epoch, to_revoke = member.current.epoch, difference.to_revoke
    if not to_revoke.is_empty and (owned is None or to_revoke.intersects(owned)):
        return CurrentAssignment(
            epoch=epoch,
            previous_epoch=previous_epoch,
            state=StreamsGroupMemberState.UNREVOKED_TASKS,
            assigned=difference.kept,
            pending_revocation=to_revoke,
        )
    return CurrentAssignment(
        epoch=target.epoch,
        previous_epoch=previous_epoch,
        state=StreamsGroupMemberState.UNRELEASED_TASKS
        if difference.waits
        else StreamsGroupMemberState.STABLE,
        assigned=_merged(difference.kept, difference.free, target.epoch),
    )


def _difference(member: StreamsGroupMember, target: Tasks, owners: TaskOwners) -> _Difference:
    assigned, process_id = member.current.assigned, member.metadata.process_id

    def is_free_as_active(task: TaskId) -> bool:
        return owners.active_process(task) is None and not owners.has_copy(task, process_id)

    def is_free_as_copy(task: TaskId) -> bool:
        is_active_here = owners.active_process(task) == process_id
        return not is_active_here and not owners.has_copy(task, process_id)

    wanted = Tasks(
        target.active - assigned.active.keys(),
        target.standby - assigned.standby,
        target.warmup - assigned.warmup,
    )
    free = Tasks(
        frozenset(filter(is_free_as_active, wanted.active)),
        frozenset(filter(is_free_as_copy, wanted.standby)),
        frozenset(filter(is_free_as_copy, wanted.warmup)),
    )
    epochs = assigned.active
    return _Difference(
        kept=AssignedTasks(
            {task: epoch for task, epoch in epochs.items() if task in target.active},
            assigned.standby & target.standby,
            assigned.warmup & target.warmup,
        ),
        to_revoke=AssignedTasks(
            {task: epoch for task, epoch in epochs.items() if task not in target.active},
            assigned.standby - target.standby,
            assigned.warmup - target.warmup,
        ),
        free=free,
        waits=free != wanted,
    )


def _merged(kept: AssignedTasks, free: Tasks, epoch: int) -> AssignedTasks:
    return AssignedTasks(
        {**kept.active, **dict.fromkeys(free.active, epoch)},
        kept.standby | free.standby,
        kept.warmup | free.warmup,
    )
