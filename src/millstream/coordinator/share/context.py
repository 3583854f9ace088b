"""The context of one operation on share states, and the settings of the share coordinator."""

from __future__ import annotations

from dataclasses import dataclass

from millstream.config_fields import from_keys
from millstream.coordinator.context import OperationContext
from millstream.coordinator.share.states import ShareStates
from millstream.metadata.image import MetadataImage


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareCoordinatorConfig:
    """Defaults are those of Kafka 4.3. Times in milliseconds."""

    snapshot_update_records_per_snapshot: int = from_keys(
        "share.coordinator.snapshot.update.records.per.snapshot", default=500
    )
    """After so many updates the next write is a snapshot, and all before it can go."""
    cold_partition_snapshot_interval_ms: int = from_keys(
        "share.coordinator.cold.partition.snapshot.interval.ms", default=300_000
    )
    """A partition that is not written is snapshotted again after this long, so that it does not hold back the
    pruning."""


@dataclass(slots=True)
class ShareContext(OperationContext):
    states: ShareStates
    config: ShareCoordinatorConfig
    image: MetadataImage
    """The newest there is."""
