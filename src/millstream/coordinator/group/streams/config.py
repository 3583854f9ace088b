"""The limits streams groups live under. Data only; names are Kafka's, in snake case."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from millstream.coordinator.group.dynamic_config import Limited

INT_MAX: Final = 2**31 - 1
_SESSION_TIMEOUT: Final = Limited(45_000, 45_000, 60_000)
_HEARTBEAT_INTERVAL: Final = Limited(5_000, 5_000, 15_000)
_ASSIGNMENT_INTERVAL: Final = Limited(1_000, 0, 15_000)
_INITIAL_REBALANCE_DELAY: Final = Limited(3_000, 0, INT_MAX)
_NUM_STANDBY_REPLICAS: Final = Limited(0, 0, 2)


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamsGroupConfig:
    """Of `group.streams.*`; defaults are those of Kafka 4.3. Times in milliseconds."""

    session_timeout_ms: Limited = _SESSION_TIMEOUT
    heartbeat_interval_ms: Limited = _HEARTBEAT_INTERVAL
    assignment_interval_ms: Limited = _ASSIGNMENT_INTERVAL
    initial_rebalance_delay_ms: Limited = _INITIAL_REBALANCE_DELAY
    num_standby_replicas: Limited = _NUM_STANDBY_REPLICAS
    max_size: int = INT_MAX
