"""The context of one operation on groups, whatever their kind."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, TypeVar

from millstream.coordinator.context import OperationContext
from millstream.coordinator.group.config import GroupCoordinatorConfig
from millstream.coordinator.group.groups import Groups
from millstream.coordinator.group.offsets.store import OffsetStore
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
