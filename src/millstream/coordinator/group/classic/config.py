"""The limits that classic groups live under."""

from __future__ import annotations

from dataclasses import dataclass

from millstream.config_fields import from_keys


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
