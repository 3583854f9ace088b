"""The limits classic groups live under. Data only; names are Kafka's, in snake case, without `group.`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassicGroupConfig:
    """Defaults are those of Kafka 4.3. Times in milliseconds."""

    min_session_timeout_ms: int = 6_000
    max_session_timeout_ms: int = 1_800_000
    initial_rebalance_delay_ms: int = 3_000
    max_size: int = 2**31 - 1
    new_member_join_timeout_ms: int = 300_000
    """How long a member that does not know its id yet may wait for its first JoinGroup; not configurable in Kafka either."""
