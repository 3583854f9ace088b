"""Limits of what one client, one address and all of them together may take from the server."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """Every bound the edge enforces. Names follow the broker's config keys where Kafka has one."""

    request_bytes_max: int = 100 * 1024 * 1024
    """`socket.request.max.bytes`: a longer frame closes its connection."""
    connections_max: int = 10_000
    """`max.connections`: further ones wait to be accepted."""
    connections_per_host_max: int = 1_000
    """`max.connections.per.ip`"""
    connections_per_host_overrides: Mapping[str, int] = field(default_factory=dict)
    """`max.connections.per.ip.overrides`: other limits for some addresses."""
    connections_per_second_max: int = (1 << 31) - 1
    """`max.connection.creation.rate`"""
    requests_in_flight_max: int = 64
    """Overlapping requests of one connection that were started and not answered; at the limit its socket is not read."""
    request_bytes_held_max: int = 256 * 1024 * 1024
    """`queued.max.request.bytes`: unanswered requests of all connections; above it those are not read that hold most of it."""
    unsent_bytes_max: int = 256 * 1024 * 1024
    """Answers in memory that clients do not take; above it the client is dropped that has taken nothing for the longest time."""
    send_buffer_bytes: int = -1
    """`socket.send.buffer.bytes`: SO_SNDBUF; -1 leaves it to the operating system."""
    receive_buffer_bytes: int = -1
    """`socket.receive.buffer.bytes`: SO_RCVBUF; -1 leaves it to the operating system."""
    idle_ms: int = 600_000
    """`connections.max.idle.ms`"""
    frame_ms: int = 30_000
    """A frame that was begun must be complete within this time."""
    stalled_write_ms: int = 60_000
    """A client that takes no byte of its responses for this long is dropped."""
