"""Counts records, bytes and latencies, and formats them as Kafka's performance tools do.

Takes times, reads no clock.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

MEGABYTE = 1024 * 1024


@dataclass(slots=True)
class Latencies:
    """Latencies in whole milliseconds, each counted once: percentiles cost memory for what is different only."""

    counts: Counter[int] = field(default_factory=Counter)
    count: int = 0
    total_ms: float = 0.0
    max_ms: float = 0.0

    def add(self, latency_ms: float) -> None:
        self.counts[int(latency_ms)] += 1
        self.count += 1
        self.total_ms += latency_ms
        self.max_ms = max(self.max_ms, latency_ms)

    @property
    def average_ms(self) -> float:
        return self.total_ms / self.count if self.count else 0.0

    def percentiles(self, *fractions: float) -> list[int]:
        """Returns the latency at each fraction of all, 0 to 1, smallest first; 0 where nothing was counted."""
        ordered = sorted(self.counts.items())
        found = []
        for fraction in fractions:
            left = max(1, round(fraction * self.count))
            at = 0
            for latency, count in ordered:
                at = latency
                left -= count
                if left <= 0:
                    break
            found.append(at)
        return found


@dataclass(slots=True)
class Sent:
    """Acknowledged records, over the whole run or since the last report."""

    started_ms: float
    count: int = 0
    bytes: int = 0
    failed: int = 0
    latencies: Latencies = field(default_factory=Latencies)

    def add(self, size: int, latency_ms: float) -> None:
        self.count += 1
        self.bytes += size
        self.latencies.add(latency_ms)

    def rates(self, now_ms: float) -> tuple[float, float]:
        """Returns records and megabytes a second."""
        seconds = max(now_ms - self.started_ms, 0.001) / 1000
        return self.count / seconds, self.bytes / seconds / MEGABYTE

    def line(self, now_ms: float) -> str:
        """Returns the line as kafka-producer-perf-test says it while it runs."""
        records, megabytes = self.rates(now_ms)
        return (
            f"{self.count} records sent, {records:.1f} records/sec ({megabytes:.2f} MB/sec),"
            f" {self.latencies.average_ms:.1f} ms avg latency, {self.latencies.max_ms:.1f} ms max latency."
        )

    def summary(self, now_ms: float) -> str:
        """Returns the summary as kafka-producer-perf-test says it in the end."""
        records, megabytes = self.rates(now_ms)
        p50, p95, p99, p999 = self.latencies.percentiles(0.5, 0.95, 0.99, 0.999)
        return (
            f"{self.count} records sent, {records:.6f} records/sec ({megabytes:.2f} MB/sec),"
            f" {self.latencies.average_ms:.2f} ms avg latency, {self.latencies.max_ms:.2f} ms max latency,"
            f" {p50} ms 50th, {p95} ms 95th, {p99} ms 99th, {p999} ms 99.9th."
        )

    def members(self, now_ms: float) -> dict[str, object]:
        """Returns the summary as JSON."""
        records, megabytes = self.rates(now_ms)
        p50, p95, p99, p999 = self.latencies.percentiles(0.5, 0.95, 0.99, 0.999)
        return {
            "records": self.count,
            "failed": self.failed,
            "records_per_second": round(records, 1),
            "megabytes_per_second": round(megabytes, 3),
            "latency_ms": {
                "average": round(self.latencies.average_ms, 3),
                "maximum": round(self.latencies.max_ms, 3),
                "p50": p50, "p95": p95, "p99": p99, "p99.9": p999,
            },
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Read:
    """The records and bytes that a consumer read between two times (ms since 1970)."""

    start_ms: int
    end_ms: int
    count: int
    bytes: int
    rebalance_ms: int

    @property
    def megabytes(self) -> float:
        return self.bytes / MEGABYTE

    @property
    def seconds(self) -> float:
        return max(self.end_ms - self.start_ms, 1) / 1000

    @property
    def fetch_seconds(self) -> float:
        return max(self.end_ms - self.start_ms - self.rebalance_ms, 1) / 1000

    def line(self) -> str:
        """Returns the line as kafka-consumer-perf-test says it, under HEADER."""
        return ", ".join(
            (
                _time(self.start_ms),
                _time(self.end_ms),
                f"{self.megabytes:.4f}",
                f"{self.megabytes / self.seconds:.4f}",
                str(self.count),
                f"{self.count / self.seconds:.4f}",
                str(self.rebalance_ms),
                str(round(self.fetch_seconds * 1000)),
                f"{self.megabytes / self.fetch_seconds:.4f}",
                f"{self.count / self.fetch_seconds:.4f}",
            )
        )

    def members(self) -> dict[str, object]:
        return {
            "records": self.count,
            "megabytes": round(self.megabytes, 4),
            "seconds": round(self.seconds, 3),
            "records_per_second": round(self.count / self.seconds, 1),
            "megabytes_per_second": round(self.megabytes / self.seconds, 3),
            "rebalance_ms": self.rebalance_ms,
        }


HEADER = (
    "start.time, end.time, data.consumed.in.MB, MB.sec, data.consumed.in.nMsg, nMsg.sec,"
    " rebalance.time.ms, fetch.time.ms, fetch.MB.sec, fetch.nMsg.sec"
)


def _time(at_ms: int) -> str:
    from datetime import UTC, datetime

    time = datetime.fromtimestamp(at_ms / 1000, UTC)
    return f"{time:%Y-%m-%d %H:%M:%S}:{at_ms % 1000:03}"
