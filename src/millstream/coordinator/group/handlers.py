"""The handlers that each kind of group gives the shard: one `HANDLERS` of this shape in the
`operations` module of every kind.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from millstream.coordinator.context import Operations
from millstream.coordinator.group.context import GroupContext
from millstream.coordinator.group.group import Group
from millstream.coordinator.group.groups import Groups
from millstream.coordinator.group.timers import GroupTimer
from millstream.coordinator.record import CoordinatorRecord


@dataclass(frozen=True, slots=True)
class GroupHandlers:
    group_type: type[Group]
    operations: Operations[GroupContext]
    record_keys: Sequence[type]
    replay: Callable[[Groups, CoordinatorRecord], None]
    """What a record changes, live and at load. No other code changes hard state."""
    resume: Callable[[GroupContext, Any], None]  # Any: a group of `group_type`
    """Starts what has to run for a group that has been loaded."""
    expire: Callable[[GroupContext, Any, GroupTimer], None]  # Any: a group of `group_type`
    """One of the group's timers has fired."""
