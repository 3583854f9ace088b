"""Limits of what one client, one address and all of them together may take from the server."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from millstream.config_fields import from_keys
from millstream.errors import ConfigError
from millstream.security.principal import host_text

_UNLIMITED: Final = (1 << 63) - 1
"""More bytes than there are: `queued.max.request.bytes` of -1, which is Kafka's default."""


def connection_overrides(text: str) -> dict[str, int]:
    """`max.connections.per.ip.overrides` by address.

    Raises ConfigError for anything but ADDRESS:LIMIT,ADDRESS:LIMIT.
    """
    limits = {}
    for item in filter(None, (item.strip() for item in text.split(","))):
        host, colon, limit = item.rpartition(":")
        if not (colon and host and limit.isascii() and limit.isdigit()):
            raise ConfigError(
                f"max.connections.per.ip.overrides: write ADDRESS:LIMIT,ADDRESS:LIMIT, not {item}"
            )
        limits[host_text(host.strip().strip("[]"))] = int(limit)
    return limits


@dataclass(frozen=True, slots=True)
class ListenerLimits:
    """The limits of one listener; None: those of the server."""

    connections_max: int | None = None
    connections_per_second_max: int | None = None


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """Every bound the edge enforces."""

    request_bytes_max: int = from_keys("socket.request.max.bytes", default=100 * 1024 * 1024)
    """A longer frame closes its connection."""
    connections_max: int = from_keys("max.connections", default=10_000)
    """Further ones wait to be accepted."""
    connections_per_host_max: int = from_keys("max.connections.per.ip", default=1_000)
    connections_per_host_overrides: Mapping[str, int] = from_keys(
        "max.connections.per.ip.overrides",
        default=MappingProxyType({}),
        convert=connection_overrides,
    )
    """Other limits for some addresses."""
    connections_per_second_max: int = from_keys(
        "max.connection.creation.rate", default=(1 << 31) - 1
    )
    of_listeners: Mapping[str, ListenerLimits] = field(default_factory=dict)
    """Those of `listener.name.LISTENER.…`, by the name of the listener."""
    protected_listener: str | None = None
    """The listener of brokers, where it is not the only one."""
    requests_in_flight_max: int = 64
    """Overlapping requests of one connection that were started and not answered; at the limit its socket is not
    read."""
    request_bytes_held_max: int = from_keys(
        "queued.max.request.bytes",
        default=256 * 1024 * 1024,
        convert=lambda most: most if most > 0 else _UNLIMITED,
    )
    """Unanswered requests of all connections; above it those are not read that hold most of it."""
    unsent_bytes_max: int = 256 * 1024 * 1024
    """Answers in memory that clients do not take; above it the client is dropped that has taken
    nothing for the longest time."""
    send_buffer_bytes: int = from_keys("socket.send.buffer.bytes", default=393_216)
    """SO_SNDBUF; -1 leaves it to the operating system."""
    receive_buffer_bytes: int = from_keys("socket.receive.buffer.bytes", default=-1)
    """SO_RCVBUF; -1 leaves it to the operating system."""
    idle_ms: int = from_keys("connections.max.idle.ms", default=600_000)
    frame_ms: int = 30_000
    """A frame that was begun must be complete within this time."""
    login_ms: int = 15_000
    """A client of a listener with SASL must have logged in within this time; Kafka has no such limit."""
    stalled_write_ms: int = 60_000
    """A client that takes no byte of its responses for this long is dropped."""
