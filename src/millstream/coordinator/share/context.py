"""The context of one operation on share states, the settings of the share coordinator, and the requests to it, one
share partition at a time. Names are those of Kafka's share state APIs.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from millstream.config_fields import from_keys
from millstream.coordinator.context import OperationContext
from millstream.coordinator.share.state import SharePartitionKey, StateChange
from millstream.coordinator.share.states import ShareStates
from millstream.metadata.image import MetadataImage
from millstream.model import Uuid


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


@dataclass(frozen=True, slots=True)
class InitializeState:
    """Answered with None."""

    key: SharePartitionKey
    state_epoch: int
    start_offset: int
    """-1: the first leader that reads the state decides."""


@dataclass(frozen=True, slots=True)
class ReadState:
    """Answered with a ShareState."""

    key: SharePartitionKey
    leader_epoch: int
    """-1: the asker does not lead the partition."""


@dataclass(frozen=True, slots=True)
class ReadStateSummary:
    """Answered with a ShareState."""

    key: SharePartitionKey
    leader_epoch: int


@dataclass(frozen=True, slots=True)
class WriteState:
    """Answered with None."""

    key: SharePartitionKey
    state_epoch: int
    change: StateChange


@dataclass(frozen=True, slots=True)
class DeleteState:
    """Answered with None."""

    key: SharePartitionKey


@dataclass(frozen=True, slots=True)
class FirstNeededOffset:
    """From which offset on the log is needed.

    Answered with an int, once the snapshots that make the rest redundant are committed.
    """


@dataclass(frozen=True, slots=True)
class TopicIdsDeleted:
    """The topics of these ids are gone. Answered with None."""

    topic_ids: Collection[Uuid]
