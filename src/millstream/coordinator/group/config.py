"""The limits that groups and committed offsets live under."""

from __future__ import annotations

from dataclasses import dataclass, field

from millstream.config_fields import from_keys
from millstream.coordinator.group.classic.config import ClassicGroupConfig
from millstream.coordinator.group.consumer.config import ConsumerGroupConfig
from millstream.coordinator.group.share.config import ShareGroupConfig
from millstream.coordinator.group.streams.config import StreamsGroupConfig

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
