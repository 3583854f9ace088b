"""The limits that consumer groups live under."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from millstream.config_fields import from_keys
from millstream.coordinator.group.dynamic_config import Limited, limited


class MigrationPolicy(StrEnum):
    """The ways in which a group with members may change between the classic and the consumer protocol."""

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
    """Defaults are those of Kafka 4.3. Times in milliseconds."""

    session_timeout_ms: Limited = limited("consumer.session.timeout.ms", 45_000, 45_000, 60_000)
    heartbeat_interval_ms: Limited = limited("consumer.heartbeat.interval.ms", 5_000, 5_000, 15_000)
    assignment_interval_ms: Limited = limited("consumer.assignment.interval.ms", 1_000, 0, 15_000)
    max_size: int = from_keys("group.consumer.max.size", default=2**31 - 1)
    assignors: tuple[str, ...] = from_keys("group.consumer.assignors", default=("uniform", "range"))
    """The first is used where members ask for none."""
    migration_policy: MigrationPolicy = from_keys(
        "group.consumer.migration.policy",
        default=MigrationPolicy.BIDIRECTIONAL,
        convert=lambda name: MigrationPolicy(name.lower()),
    )
    regex_refresh_interval_ms: int = from_keys(
        "group.consumer.regex.refresh.interval.ms", default=600_000
    )
