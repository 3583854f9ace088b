"""The limits that share groups live under."""

from __future__ import annotations

from dataclasses import dataclass

from millstream.config_fields import from_keys
from millstream.coordinator.group.dynamic_config import Limited, limited


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
