"""Counters of a consumer. Per fetch and per poll, never per record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from millstream.model import TopicPartition


@dataclass(slots=True)
class ConsumerCounters:
    """The counts since the consumer was made. Fetch times (ms) include what the broker waits for data."""

    records_consumed: int = 0
    """Fetched and taken, by poll(), iteration and poll_arrow()."""
    records_skipped: int = 0
    """Passed over because they could not be deserialized (deserialization_error skip)."""
    bytes_fetched: int = 0
    """Of record batches, compressed as they come."""
    fetches: int = 0
    fetch_failures: int = 0
    fetch_ms: int = 0
    """All fetches together."""
    fetch_ms_max: int = 0


@dataclass(frozen=True, slots=True)
class ConsumerMetrics:
    """The metrics of a consumer at one moment."""

    counters: ConsumerCounters
    records_lag: Mapping[TopicPartition, int]
    """See Consumer.lag; partitions whose lag is not known yet are left out."""

    @property
    def records_lag_max(self) -> int:
        return max(self.records_lag.values(), default=0)

    @property
    def fetch_ms_average(self) -> float:
        return self.counters.fetch_ms / self.counters.fetches if self.counters.fetches else 0.0
