"""Counters of connections and requests. Per request and per batch, never per record."""

from __future__ import annotations

from dataclasses import dataclass, field

from millstream.net.client.core.addresses import Address
from millstream.protocol.api import ApiKey


@dataclass(slots=True)
class Timing:
    """Of many of a kind: how many, how long together, how long at most."""

    count: int = 0
    total_ms: float = 0.0
    max_ms: float = 0.0

    def add(self, elapsed_ms: float) -> None:
        self.count += 1
        self.total_ms += elapsed_ms
        self.max_ms = max(self.max_ms, elapsed_ms)

    def merge(self, other: Timing) -> None:
        self.count += other.count
        self.total_ms += other.total_ms
        self.max_ms = max(self.max_ms, other.max_ms)

    @property
    def average_ms(self) -> float:
        return self.total_ms / self.count if self.count else 0.0


@dataclass(slots=True)
class Traffic:
    connections_made: int = 0
    """Since the client was made."""
    answers: dict[tuple[Address, ApiKey], Timing] = field(default_factory=dict)
    """From the request to its answer, by broker and API, since they were last taken."""
    record_queue: Timing = field(default_factory=Timing)
    """From a batch's first record to its first request, likewise."""

    def record_answer(self, address: Address, key: ApiKey, elapsed_ms: float) -> None:
        timing = self.answers.get((address, key))
        if timing is None:
            timing = self.answers[address, key] = Timing()
        timing.add(elapsed_ms)

    def take(self) -> Traffic:
        """Takes the counts since the last time; timings begin anew."""
        taken = Traffic(self.connections_made, self.answers, self.record_queue)
        self.answers, self.record_queue = {}, Timing()
        return taken
