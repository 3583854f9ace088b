"""A group coordinator whose log refuses records when told to, and what it remembers, set side by side with its log."""

from __future__ import annotations

from millstream.coordinator.group.classic.group import ClassicGroup
from millstream.coordinator.group.config import GroupCoordinatorConfig
from millstream.coordinator.group.context import GroupTimer
from millstream.coordinator.group.group import Group
from millstream.coordinator.group.shard import GroupShard
from millstream.coordinator.group.streams.task_owners import TaskOwners
from millstream.coordinator.record import CoordinatorRecord
from millstream.coordinator.result import Caller, CoordinatorResult, TimerKey
from millstream.errors import NotEnoughReplicas
from millstream.runtime import Instant
from tests.support.coordinators.coordinator import SimCoordinator

NOT_IN_THE_LOG = {"soft", "is_matching", "shutdown_requested_by"}


class UnreliableCoordinator(SimCoordinator):
    def __init__(self, config: GroupCoordinatorConfig | None = None) -> None:
        super().__init__(config)
        self.refuses = False
        """While it is set, every append fails."""
        self.refused: set[str] = set()
        """The operations and timers whose records were refused."""
        self.requests_run = 0
        self.refusals = 0
        self._running = ""
        shard, handle, handle_timer = self.shard, self.shard.handle, self.shard.handle_timer

        def noted_request(request: object, caller: Caller, now: Instant) -> CoordinatorResult:
            self._running = type(request).__name__
            self.requests_run += 1
            return handle(request, caller, now)

        def noted_timer(key: TimerKey, now: Instant) -> CoordinatorResult:
            assert isinstance(key, GroupTimer)
            self._running = f"{key.kind.name} timer"
            return handle_timer(key, now)

        shard.handle = noted_request  # type: ignore[method-assign]  # to know what runs
        shard.handle_timer = noted_timer  # type: ignore[method-assign]  # to know what runs

    def _append(self, records: list[CoordinatorRecord]) -> None:
        if self.refuses:
            self.refused.add(self._running)
            self.refusals += 1
            self.next_append_error = NotEnoughReplicas()
        super()._append(records)


def hard_state(shard: GroupShard) -> dict[object, object]:
    """What the log says, by group: it is the same in a shard that has loaded the log."""
    known: dict[object, object] = {group.group_id: _hard_state_of(group) for group in shard.groups}
    known["offsets"] = {
        group_id: {topic: dict(ps) for topic, ps in shard.offsets.of_group(group_id).items()}
        for group_id in shard.offsets.group_ids()
        if shard.offsets.of_group(group_id)
    }
    known["open"] = {
        group_id: set(shard.offsets.staged_in_group(group_id))
        for group_id in shard.offsets.group_ids()
    }
    return known


def _hard_state_of(group: Group) -> dict[str, object]:
    """A live classic group is ahead of its record in everything but the assignment."""
    if isinstance(group, ClassicGroup):
        return {"kind": group.kind, "assignments": dict(group.assignments)}
    said = {name: value for name, value in vars(group).items() if name not in NOT_IN_THE_LOG}
    owners = said.pop("owners", None)
    if isinstance(owners, TaskOwners):
        said["owners"] = {name: dict(value) for name, value in vars(owners).items()}
    return {"kind": group.kind, **said}


def soft_state(shard: GroupShard) -> dict[object, object]:
    """What an operation undoes if its records are not written, by group."""
    known: dict[object, object] = {
        group.group_id: getattr(group, "soft", None) for group in shard.groups
    }
    known["awaiting members"] = set(shard.groups.awaiting_members)
    return known
