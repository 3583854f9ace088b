"""The limits that groups of each kind and committed offsets live under, and their overrides for single groups.

An administrator overrides settings of one group (config resource GROUP) within the broker's limits. Values were checked
when they were set, and are brought back into the limits if those have been tightened since.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from typing import Final

from millstream.config_fields import from_keys
from millstream.metadata.config_resource import ConfigResource
from millstream.metadata.image import MetadataImage
from millstream.protocol.enums import ConfigResourceType


@dataclass(frozen=True, slots=True)
class Limited:
    """A setting of the broker that single groups may override by `key`, Kafka's name of the override."""

    key: str
    default: int
    lowest: int
    highest: int

    def of_group(self, image: MetadataImage, group_id: str) -> int:
        """Returns the value for a group: its own within the limits, or the default."""
        said = image.config(ConfigResource(ConfigResourceType.GROUP, group_id)).get(self.key)
        return self.default if said is None else min(max(int(said), self.lowest), self.highest)


def limited(key: str, default: int, lowest: int, highest: int) -> Limited:
    """Declares a field whose default and limits are the broker's keys `group.KIND.NAME`,
    `group.KIND.min.NAME` and `group.KIND.max.NAME`.
    """
    kind, _, name = key.partition(".")
    return from_keys(
        f"group.{key}",
        f"group.{kind}.min.{name}",
        f"group.{kind}.max.{name}",
        default=Limited(key, default, lowest, highest),
        convert=partial(Limited, key),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassicGroupConfig:
    """Defaults are those of Kafka 4.3. Times in milliseconds."""

    min_session_timeout_ms: int = from_keys("group.min.session.timeout.ms", default=6_000)
    max_session_timeout_ms: int = from_keys("group.max.session.timeout.ms", default=1_800_000)
    initial_rebalance_delay_ms: int = from_keys("group.initial.rebalance.delay.ms", default=3_000)
    max_size: int = from_keys("group.max.size", default=2**31 - 1)
    new_member_join_timeout_ms: int = 300_000
    """How long a member that does not know its id yet may wait for its first JoinGroup; not
    configurable in Kafka either."""


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


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareGroupConfig:
    """Defaults are those of Kafka 4.3."""

    session_timeout_ms: Limited = limited("share.session.timeout.ms", 45_000, 45_000, 60_000)
    heartbeat_interval_ms: Limited = limited("share.heartbeat.interval.ms", 5_000, 5_000, 15_000)
    assignment_interval_ms: Limited = limited("share.assignment.interval.ms", 1_000, 0, 15_000)
    max_size: int = from_keys("group.share.max.size", default=200)
    initialize_retry_interval_ms: int = from_keys(
        "group.share.initialize.retry.interval.ms", default=30_000
    )
    """How long the share coordinator has to initialise a partition before it is asked again."""


_INT_MAX: Final = 2**31 - 1
_INITIAL_REBALANCE_DELAY: Final = "streams.initial.rebalance.delay.ms"
_NUM_STANDBY_REPLICAS: Final = "streams.num.standby.replicas"


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamsGroupConfig:
    """Defaults are those of Kafka 4.3. Times in milliseconds."""

    session_timeout_ms: Limited = limited("streams.session.timeout.ms", 45_000, 45_000, 60_000)
    heartbeat_interval_ms: Limited = limited("streams.heartbeat.interval.ms", 5_000, 5_000, 15_000)
    assignment_interval_ms: Limited = limited("streams.assignment.interval.ms", 1_000, 0, 15_000)
    initial_rebalance_delay_ms: Limited = from_keys(
        "group.streams.initial.rebalance.delay.ms",
        default=Limited(_INITIAL_REBALANCE_DELAY, 3_000, 0, _INT_MAX),
        convert=lambda delay_ms: Limited(_INITIAL_REBALANCE_DELAY, delay_ms, 0, _INT_MAX),
    )
    num_standby_replicas: Limited = from_keys(
        "group.streams.num.standby.replicas",
        "group.streams.max.standby.replicas",
        default=Limited(_NUM_STANDBY_REPLICAS, 0, 0, 2),
        convert=lambda number, most: Limited(_NUM_STANDBY_REPLICAS, number, 0, most),
    )
    max_size: int = from_keys("group.streams.max.size", default=_INT_MAX)


_MINUTE_MS = 60_000


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupCoordinatorConfig:
    """Defaults are those of Kafka 4.3. Times in milliseconds."""

    classic: ClassicGroupConfig = field(default_factory=ClassicGroupConfig)
    consumer: ConsumerGroupConfig = field(default_factory=ConsumerGroupConfig)
    share: ShareGroupConfig = field(default_factory=ShareGroupConfig)
    streams: StreamsGroupConfig = field(default_factory=StreamsGroupConfig)
    offset_metadata_max_bytes: int = 4_096
    """In characters, as Kafka counts them, whatever the name of the setting says."""
    offsets_retention_ms: int = from_keys(
        "offsets.retention.minutes",
        default=7 * 24 * 60 * _MINUTE_MS,
        convert=lambda minutes: minutes * _MINUTE_MS,
    )
    offsets_retention_check_interval_ms: int = 10 * _MINUTE_MS
