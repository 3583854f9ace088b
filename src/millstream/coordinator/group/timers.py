"""The timers of groups, by what they mean."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from millstream.coordinator.result import Caller


class GroupTimerKind(Enum):
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
    MISSING_TOPICS = "missing topics"
    """The coordinator was loaded: offsets of topics that have gone meanwhile are to be forgotten."""


class GroupTimer(NamedTuple):
    kind: GroupTimerKind
    group_id: str = ""
    member_id: str = ""
    asked_by: Caller | None = None
    """The client whose request set a timer of kind REGEX, without a token."""
