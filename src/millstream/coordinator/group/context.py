"""The context of one operation on groups, whatever their kind."""

from __future__ import annotations

from dataclasses import dataclass

from millstream.coordinator.context import OperationContext
from millstream.coordinator.group.config import GroupCoordinatorConfig
from millstream.coordinator.group.groups import Groups
from millstream.coordinator.group.offsets.store import OffsetStore
from millstream.metadata.image import MetadataImage
from millstream.runtime import Random


@dataclass(slots=True)
class GroupContext(OperationContext):
    groups: Groups
    offsets: OffsetStore
    config: GroupCoordinatorConfig
    image: MetadataImage
    """The newest there is."""
    topics_version: int
    """Differs from image to image whose topics differ."""
    random: Random
