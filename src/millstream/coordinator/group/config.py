"""The limits groups and committed offsets live under. Data only; names are Kafka's, in snake case."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from millstream.coordinator.group.dynamic_config import Limited
from millstream.coordinator.group.share.config import ShareGroupConfig
from millstream.coordinator.group.streams.config import StreamsGroupConfig

_MINUTE_MS = 60_000


class MigrationPolicy(StrEnum):
    """Which way a group with members may go between the classic and the consumer protocol."""

    DISABLED = "disabled"
    DOWNGRADE = "downgrade"
    UPGRADE = "upgrade"
    BIDIRECTIONAL = "bidirectional"

    @property
    def allows_upgrade(self) -> bool:
        return self in (MigrationPolicy.UPGRADE, MigrationPolicy.BIDIRECTIONAL)

    @property
    def allows_downgrade(self) -> bool:
        return self in (MigrationPolicy.DOWNGRADE, MigrationPolicy.BIDIRECTIONAL)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerGroupConfig:
    """Of `group.consumer.*`."""

    session_timeout_ms: Limited = Limited(45_000, 45_000, 60_000)
    heartbeat_interval_ms: Limited = Limited(5_000, 5_000, 15_000)
    assignment_interval_ms: Limited = Limited(1_000, 0, 15_000)
    max_size: int = 2**31 - 1
    assignors: tuple[str, ...] = ("uniform", "range")
    """The first is used where members ask for none."""
    migration_policy: MigrationPolicy = MigrationPolicy.BIDIRECTIONAL
    regex_refresh_interval_ms: int = 10 * _MINUTE_MS


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupCoordinatorConfig:
    """Defaults are those of Kafka 4.3. Times in milliseconds."""

    group_min_session_timeout_ms: int = 6_000
    group_max_session_timeout_ms: int = 1_800_000
    group_initial_rebalance_delay_ms: int = 3_000
    group_max_size: int = 2**31 - 1
    group_new_member_join_timeout_ms: int = 5 * _MINUTE_MS
    """How long a member that does not know its id yet may wait for its first JoinGroup; not configurable in Kafka either."""
    offset_metadata_max_bytes: int = 4_096
    """In characters, as Kafka counts them, whatever the name of the setting says."""
    offsets_retention_ms: int = 7 * 24 * 60 * _MINUTE_MS
    offsets_retention_check_interval_ms: int = 10 * _MINUTE_MS
    consumer: ConsumerGroupConfig = field(default_factory=ConsumerGroupConfig)
    streams: StreamsGroupConfig = field(default_factory=StreamsGroupConfig)
    share: ShareGroupConfig = field(default_factory=ShareGroupConfig)
