"""The limits classic groups and committed offsets live under. Data only; names are Kafka's, in snake case."""

from __future__ import annotations

from dataclasses import dataclass

_MINUTE_MS = 60_000


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupCoordinatorConfig:
    """Defaults are those of Kafka 4.3. Times in milliseconds."""

    group_min_session_timeout_ms: int = 6_000
    group_max_session_timeout_ms: int = 1_800_000
    group_initial_rebalance_delay_ms: int = 3_000
    group_max_size: int = 2**31 - 1
    group_new_member_join_timeout_ms: int = 5 * _MINUTE_MS
    """How long a member that does not know its id yet may wait for its first JoinGroup; not configurable in Kafka either."""
    offset_metadata_max_bytes: int = 4_096
    """In characters, as Kafka counts them, whatever the name of the setting says."""
    offsets_retention_ms: int = 7 * 24 * 60 * _MINUTE_MS
    offsets_retention_check_interval_ms: int = 10 * _MINUTE_MS
