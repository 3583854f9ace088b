"""The limits share groups live under. Data only; names are Kafka's, in snake case, without `group.share.`."""

from __future__ import annotations

from dataclasses import dataclass

from millstream.coordinator.group.dynamic_config import Limited


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareGroupConfig:
    """Defaults are those of Kafka 4.3."""

    session_timeout_ms: Limited = Limited(45_000, 45_000, 60_000)
    heartbeat_interval_ms: Limited = Limited(5_000, 5_000, 15_000)
    assignment_interval_ms: Limited = Limited(1_000, 0, 15_000)
    max_size: int = 200
    initialize_retry_interval_ms: int = 30_000
    """How long the share coordinator has to initialise a partition before it is asked again."""
