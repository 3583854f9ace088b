"""A member of a streams group: what it says of itself, and the tasks it holds. Values only; nothing here changes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import IntEnum
from typing import Final

from millstream.coordinator.assignors.partition_assignor import NO_TASKS, TaskId, Tasks

LEAVE_EPOCH: Final = -1
JOIN_EPOCH: Final = 0
_NO_EPOCH: Final = -1


class StreamsGroupMemberState(IntEnum):
    """The progress of a member towards its target assignment. The numbers are those of record 22."""

    STABLE = 1
    """It holds what its epoch gives it."""
    UNREVOKED_TASKS = 2
    """It has to give tasks back before it gets into the next epoch."""
    UNRELEASED_TASKS = 3
    """It waits for tasks that others still hold."""
    UNKNOWN = 127
    """Written by a newer broker."""

    @classmethod
    def of(cls, number: int) -> StreamsGroupMemberState:
        return cls(number) if number in tuple(cls) else cls.UNKNOWN


@dataclass(frozen=True, slots=True)
class UserEndpoint:
    """The address at which the interactive queries of a process are served."""

    host: str
    port: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberMetadata:
    """A member's description of itself: record 19."""

    client_id: str = ""
    client_host: str = ""
    rack_id: str | None = None
    rebalance_timeout_ms: int = -1
    topology_epoch: int = -1
    process_id: str = ""
    user_endpoint: UserEndpoint | None = None
    client_tags: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AssignedTasks:
    """Tasks in a member's hands, with the epoch in which each active task was given to it."""

    active: Mapping[TaskId, int] = field(default_factory=dict)
    standby: frozenset[TaskId] = NO_TASKS
    warmup: frozenset[TaskId] = NO_TASKS

    @property
    def is_empty(self) -> bool:
        return not (self.active or self.standby or self.warmup)

    def intersects(self, tasks: Tasks) -> bool:
        """Whether any of `tasks` is among these in the same role."""
        return not (
            tasks.active.isdisjoint(self.active)
            and tasks.standby.isdisjoint(self.standby)
            and tasks.warmup.isdisjoint(self.warmup)
        )

    def equals(self, tasks: Tasks) -> bool:
        """Whether these are just `tasks`, each in its role."""
        is_same_active = tasks.active == self.active.keys()
        return is_same_active and tasks.standby == self.standby and tasks.warmup == self.warmup

    def contains(self, tasks: Tasks) -> bool:
        """Whether all of `tasks` are among these in the same role."""
        return (
            tasks.active <= self.active.keys()
            and tasks.standby <= self.standby
            and tasks.warmup <= self.warmup
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class CurrentAssignment:
    """The progress of a member and the tasks that it holds: record 22."""

    epoch: int = 0
    previous_epoch: int = 0
    state: StreamsGroupMemberState = StreamsGroupMemberState.STABLE
    assigned: AssignedTasks = field(default_factory=AssignedTasks)
    pending_revocation: AssignedTasks = field(default_factory=AssignedTasks)
    """Tasks the member was told to give back and has not yet."""

    def is_reconciled_to(self, assignment_epoch: int) -> bool:
        return self.state is StreamsGroupMemberState.STABLE and self.epoch == assignment_epoch


NOTHING_ASSIGNED: Final = CurrentAssignment(epoch=_NO_EPOCH, previous_epoch=_NO_EPOCH)
"""Of a member whose record 22 is not there: not written yet, or deleted already."""


@dataclass(frozen=True, slots=True)
class StreamsGroupMember:
    member_id: str
    metadata: MemberMetadata = field(default_factory=MemberMetadata)
    current: CurrentAssignment = field(default_factory=CurrentAssignment)

    @property
    def epoch(self) -> int:
        return self.current.epoch

    def with_metadata(self, metadata: MemberMetadata) -> StreamsGroupMember:
        return replace(self, metadata=metadata)

    def with_current(self, current: CurrentAssignment) -> StreamsGroupMember:
        return replace(self, current=current)
