"""The context of one operation on groups, whatever their kind, and the handlers that each kind gives the shard."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from millstream.coordinator.context import OperationContext, Operations
from millstream.coordinator.group.config import GroupCoordinatorConfig
from millstream.coordinator.group.group import Group
from millstream.coordinator.group.groups import Groups
from millstream.coordinator.group.offsets.store import OffsetStore
from millstream.coordinator.group.timers import GroupTimer
from millstream.coordinator.record import CoordinatorRecord
from millstream.metadata.image import MetadataImage
from millstream.runtime import Random

SoftT = TypeVar("SoftT")


class HasSoftState(Protocol[SoftT]):
    soft: SoftT


@dataclass(slots=True)
class GroupContext(OperationContext):
    """Soft state of a group is one frozen value, `group.soft`, that `replace_soft` alone replaces."""

    groups: Groups
    offsets: OffsetStore
    config: GroupCoordinatorConfig
    image: MetadataImage
    """The newest there is."""
    topics_version: int
    """Differs from image to image whose topics differ."""
    random: Random

    def replace_soft(self, group: HasSoftState[SoftT], soft: SoftT) -> None:
        """The group has its present soft state again if the records of this operation are not written."""
        before, group.soft = group.soft, soft

        def put_back(context: GroupContext) -> None:
            del context
            group.soft = before

        self.on_append_failure(put_back)


@dataclass(frozen=True, slots=True)
class GroupHandlers:
    """One `HANDLERS` of this shape stands in the `operations` module of every kind."""

    group_type: type[Group]
    operations: Operations[GroupContext]
    record_keys: Sequence[type]
    replay: Callable[[Groups, CoordinatorRecord], None]
    """What a record changes, live and at load. No other code changes hard state."""
    resume: Callable[[GroupContext, Any], None]  # Any: a group of `group_type`
    """Starts what has to run for a group that has been loaded."""
    expire: Callable[[GroupContext, Any, GroupTimer], None]  # Any: a group of `group_type`
    """One of the group's timers has fired."""
