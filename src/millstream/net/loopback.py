"""Addresses that only this machine can reach, and the names by which what listens there is asked for. Pure."""

from __future__ import annotations

import ipaddress
from typing import Final

LOOPBACK_NAMES: Final = ("localhost", "127.0.0.1", "::1", "[::1]")
"""A page of another site can have its own name resolve to this machine (DNS rebinding); these it cannot have."""


def is_loopback(host: str) -> bool:
    """Whether an address or name to listen at is one that only this machine can reach.

    The empty host is all addresses.
    """
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"
