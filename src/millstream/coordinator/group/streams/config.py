"""The limits that streams groups live under."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from millstream.config_fields import from_keys
from millstream.coordinator.group.dynamic_config import Limited, limited

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
