"""What one operation on groups works with, and the timers groups run."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

from millstream.coordinator.group.classic.group import ClassicGroup
from millstream.coordinator.group.classic.member import Member
from millstream.coordinator.group.classic.state import GroupState
from millstream.coordinator.group.config import GroupCoordinatorConfig
from millstream.coordinator.group.group import Group
from millstream.coordinator.result import CoordinatorResult
from millstream.metadata.image import MetadataImage
from millstream.runtime import Instant, Random


class TimerKind(Enum):
    """Each kind of group knows what its own timers mean; one that fires for a group of another kind means nothing."""

    SESSION = "session"
    """A member has not been heard of."""
    JOIN = "join"
    """Waited long enough for members to join."""
    SYNC = "sync"
    """Waited long enough for members to sync."""
    REBALANCE = "rebalance"
    """A member of a consumer group has not given up what it was told to revoke."""
    REGEX = "regex"
    """Regular expressions are to be matched with the topics: at once, but in an operation of its own."""
    DOWNGRADE = "downgrade"
    """A consumer group has become a classic one: at once, once its records are written."""
    INITIAL_REBALANCE = "initial rebalance"
    """A streams group has waited for more members before its first assignment."""
    OFFSET_EXPIRY = "offset expiry"


class GroupTimer(NamedTuple):
    kind: TimerKind
    group_id: str = ""
    member_id: str = ""


@dataclass(slots=True)
class OperationContext:
    """What one operation knows of the world, and the result it fills."""

    now: Instant
    config: GroupCoordinatorConfig
    image: MetadataImage
    """The newest there is."""
    random: Random
    topics_version: int = 0
    """Differs from image to image whose topics differ."""
    result: CoordinatorResult = field(default_factory=CoordinatorResult)

    def start_session(self, group: Group, member_id: str, timeout_ms: int) -> None:
        self._start(GroupTimer(TimerKind.SESSION, group.group_id, member_id), timeout_ms)

    def restart_session(self, group: ClassicGroup, member: Member) -> None:
        """The member is known to be alive now."""
        self.start_session(group, member.member_id, member.terms.session_timeout_ms)

    def end_session(self, group: Group, member_id: str) -> None:
        self.result.cancel_timer(GroupTimer(TimerKind.SESSION, group.group_id, member_id))

    def start_join_timer(self, group: ClassicGroup, delay_ms: int) -> None:
        self._start(GroupTimer(TimerKind.JOIN, group.group_id), delay_ms)

    def cancel_join_timer(self, group: ClassicGroup) -> None:
        self.result.cancel_timer(GroupTimer(TimerKind.JOIN, group.group_id))

    def start_sync_timer(self, group: ClassicGroup) -> None:
        self._start(GroupTimer(TimerKind.SYNC, group.group_id), group.rebalance_timeout_ms)

    def cancel_sync_timer(self, group: ClassicGroup) -> None:
        self.result.cancel_timer(GroupTimer(TimerKind.SYNC, group.group_id))

    def transition(self, group: ClassicGroup, state: GroupState) -> None:
        group.transition_to(state, self.now.wall_ms)

    def _start(self, key: GroupTimer, delay_ms: int) -> None:
        self.result.start_timer(key, self.now.monotonic_ms + delay_ms)
