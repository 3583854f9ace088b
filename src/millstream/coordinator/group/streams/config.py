"""The limits streams groups live under. Data only; names are Kafka's, in snake case."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from millstream.coordinator.group.dynamic_config import Limited
from millstream.metadata.image import MetadataImage

NUM_STANDBY_REPLICAS: Final = "num.standby.replicas"
"""As record 17 names it."""
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

    def of_group(self, image: MetadataImage, group_id: str) -> StreamsGroupSettings:
        def setting(limited: Limited, key: str) -> int:
            return limited.of_group(image, group_id, key)

        return StreamsGroupSettings(
            session_timeout_ms=setting(self.session_timeout_ms, "streams.session.timeout.ms"),
            heartbeat_interval_ms=setting(
                self.heartbeat_interval_ms, "streams.heartbeat.interval.ms"
            ),
            assignment_interval_ms=setting(
                self.assignment_interval_ms, "streams.assignment.interval.ms"
            ),
            initial_rebalance_delay_ms=setting(
                self.initial_rebalance_delay_ms, "streams.initial.rebalance.delay.ms"
            ),
            num_standby_replicas=setting(self.num_standby_replicas, "streams.num.standby.replicas"),
            max_size=self.max_size,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamsGroupSettings:
    """What holds for one group now."""

    session_timeout_ms: int
    heartbeat_interval_ms: int
    assignment_interval_ms: int
    initial_rebalance_delay_ms: int
    num_standby_replicas: int
    max_size: int

    def assignment_configs(self) -> dict[str, str]:
        """What an assignment rests on besides members and topics: a change of it is a reason for a new one."""
        return {NUM_STANDBY_REPLICAS: str(self.num_standby_replicas)}
