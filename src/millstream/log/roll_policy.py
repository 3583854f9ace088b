"""Decides when the active segment is too old: after segment.ms, less a jitter that spreads the
rolls of many partitions.
"""

from __future__ import annotations

from typing import final

from millstream.metadata.topic_config import LogConfig
from millstream.runtime import Instant, Random


@final
class RollPolicy:
    """The age of the active segment of one log. Times in ms."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self._active_since_ms = 0
        self._jitter_ms = 0

    def begin(self, config: LogConfig, now: Instant) -> None:
        """Notes that a segment became active."""
        self._active_since_ms = now.wall_ms
        jitter_ms = min(config.segment_jitter_ms, _age_max_ms(config))
        self._jitter_ms = self._random.randrange(jitter_ms) if jitter_ms > 0 else 0

    def is_too_old(
        self, config: LogConfig, first_timestamp_ms: int | None, timestamp_ms: int, now: Instant
    ) -> bool:
        """Whether the segment is too old for an append with `timestamp_ms`.

        Age counts in record time where the first batch has one, else from `begin` on.
        """
        if first_timestamp_ms is not None and first_timestamp_ms >= 0:
            age_ms = timestamp_ms - first_timestamp_ms
        else:
            age_ms = now.wall_ms - self._active_since_ms
        return age_ms > _age_max_ms(config) - self._jitter_ms


def _age_max_ms(config: LogConfig) -> int:
    """Records that must be compacted soon must not stay in the active segment, which is not."""
    if config.is_compacted and config.max_compaction_lag_ms > 0:
        return min(config.segment_ms, config.max_compaction_lag_ms)
    return config.segment_ms
