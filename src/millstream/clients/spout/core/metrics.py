"""Counts and offsets of a spout, with Storm's names."""

from __future__ import annotations

from dataclasses import dataclass

from millstream.model import TopicPartition


@dataclass(slots=True)
class SpoutCounts:
    """Records since the start of the spout, and its commits."""

    emitted: int = 0
    acked: int = 0
    failed: int = 0
    retried: int = 0
    dead_lettered: int = 0
    lost: int = 0
    """Given up without a dead letter."""
    commits_succeeded: int = 0
    commits_failed: int = 0


@dataclass(frozen=True, slots=True)
class PartitionMetrics:
    """Offsets of one partition; None where nothing is known yet."""

    earliest_time_offset: int | None
    """The first offset that is still there."""
    latest_time_offset: int | None
    """The end of the log."""
    latest_emitted_offset: int | None
    """The highest offset that was given out."""
    latest_completed_offset: int | None
    """Everything below is done: acked, given up, or without a record."""
    committed_offset: int | None
    pending: int
    """Records that were given out and are not acked."""

    @property
    def spout_lag(self) -> int | None:
        """The distance from what is done to the end of the log."""
        if self.latest_time_offset is None or self.latest_completed_offset is None:
            return None
        return max(0, self.latest_time_offset - self.latest_completed_offset)


@dataclass(frozen=True, slots=True)
class SpoutMetrics:
    counts: SpoutCounts
    partitions: dict[TopicPartition, PartitionMetrics]

    @property
    def total_spout_lag(self) -> int:
        """The sum over the partitions whose lag is known."""
        return sum(metrics.spout_lag or 0 for metrics in self.partitions.values())
