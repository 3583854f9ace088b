"""The settings of the share coordinator. Data only; names are Kafka's, in snake case."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareCoordinatorConfig:
    """Defaults are those of Kafka 4.3. Times in milliseconds."""

    snapshot_update_records_per_snapshot: int = 500
    """After so many updates the next write is a snapshot, and all before it can go."""
    cold_partition_snapshot_interval_ms: int = 300_000
    """A partition that is not written is snapshotted again after this long, so that it does not hold back the pruning."""
