"""The settings of a producer that its sender goes by."""

from __future__ import annotations

from dataclasses import dataclass

from millstream.net.client.core.outages import Backoff
from millstream.records.compression import Codec


@dataclass(frozen=True, slots=True)
class SenderPolicy:
    acks: int
    idempotent: bool
    codec: Codec
    linger_ms: int
    request_bytes_max: int
    request_timeout_ms: int
    in_flight_max: int
    retries: int
    backoff: Backoff
    availability_timeout_ms: int = 0
    compression_level: int | None = None
