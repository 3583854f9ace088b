"""Addresses that a flood comes from. Each has its own ports, and its own place in `max.connections.per.ip`."""

from __future__ import annotations

import socket
from typing import Final

_IP_BIND_ADDRESS_NO_PORT: Final = 24
"""The port is chosen as it connects, when it need differ in the pair of addresses only."""


def loopback_addresses(network: int, count: int) -> list[str]:
    """`count` addresses of 127.0.NETWORK.x; no network 0, where honest clients are."""
    return [f"127.0.{network}.{number}" for number in range(1, count + 1)]


def connecting(address: str, source: str) -> socket.socket:
    """Returns a non-blocking socket on its way from `source` to HOST:PORT."""
    host, _, port = address.rpartition(":")
    begun = socket.socket()
    begun.setblocking(False)
    begun.setsockopt(socket.IPPROTO_IP, _IP_BIND_ADDRESS_NO_PORT, 1)
    begun.bind((source, 0))
    begun.connect_ex((host, int(port)))
    return begun
