"""The context of one operation on share states."""

from __future__ import annotations

from dataclasses import dataclass

from millstream.coordinator.context import OperationContext
from millstream.coordinator.share.config import ShareCoordinatorConfig
from millstream.coordinator.share.states import ShareStates
from millstream.metadata.image import MetadataImage


@dataclass(slots=True)
class ShareContext(OperationContext):
    states: ShareStates
    config: ShareCoordinatorConfig
    image: MetadataImage
    """The newest there is."""
