"""Opens a listening socket, or says in one sentence why that port cannot be had; and accepts connections one by one."""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
from collections.abc import AsyncIterator
from typing import Final

from millstream.errors import ConfigError

_LOGGER = logging.getLogger(__name__)
_OUT_OF_ROOM: Final = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
_ACCEPT_AGAIN_S: Final = 1.0
"""As asyncio's servers."""
LOST_CONNECTION: Final = (
    errno.ECONNABORTED, errno.EPERM, errno.EPROTO, errno.ENOPROTOOPT, errno.EOPNOTSUPP,
    errno.ENETDOWN, errno.ENETUNREACH, errno.EHOSTDOWN, errno.EHOSTUNREACH,
)  # fmt: skip
"""A connection that has gone again, as its network says, or that a firewall forbids: of it, and not of the socket that
listens, Linux tells by these (accept(2))."""


def open_listening_socket(host: str, port: int, backlog: int) -> socket.socket:
    """Returns a non-blocking TCP socket bound to `host` (empty: all addresses) and `port` (0: any free one)."""
    if not 0 <= port <= 65535:
        raise ConfigError(f"port {port} is out of range: give 0 (any free port) to 65535")
    family, address = _resolve(host, port)
    listening = socket.socket(family, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(backlog)
    except OSError as error:
        listening.close()
        raise ConfigError(_why_not(host, port, error)) from error
    listening.setblocking(False)
    return listening


async def accepted(listening: socket.socket) -> AsyncIterator[socket.socket]:
    """Gives the connections of a non-blocking socket as they come, before any handshake.

    For servers that count clients from then on: those of asyncio's servers are known when their handshake has ended.
    """
    loop = asyncio.get_running_loop()
    while True:
        try:
            connection, _ = await loop.sock_accept(listening)
        except OSError as error:
            if error.errno in LOST_CONNECTION:
                continue
            if error.errno not in _OUT_OF_ROOM:
                raise
            _LOGGER.warning("a connection could not be accepted: %s", error)
            await asyncio.sleep(_ACCEPT_AGAIN_S)
            continue
        connection.setblocking(False)
        yield connection


def _resolve(host: str, port: int) -> tuple[socket.AddressFamily, tuple[object, ...]]:
    try:
        found = socket.getaddrinfo(
            host or "0.0.0.0",  # noqa: S104 - an empty host in `listeners` means all addresses, as in Kafka
            port,
            type=socket.SOCK_STREAM,
            flags=socket.AI_PASSIVE,
        )
    except socket.gaierror as error:
        raise ConfigError(
            f"cannot listen on {host!r}: {error.strerror}; give an address of this machine"
        ) from error
    # Clients that resolve localhost to both families try IPv4; listening there serves all of them.
    found.sort(key=lambda entry: entry[0] != socket.AF_INET)
    family, _, _, _, address = found[0]
    return family, address


def _why_not(host: str, port: int, error: OSError) -> str:
    place = f"{host or '*'}:{port}"
    if error.errno == errno.EADDRINUSE:
        return f"cannot listen on {place}: another process uses that port; stop it, or give --port 0 for any free one"
    if error.errno == errno.EACCES:
        return f"cannot listen on {place}: ports below 1024 need root; give --port 9092 or higher"
    if error.errno == errno.EADDRNOTAVAIL:
        return f"cannot listen on {place}: this machine has no such address; see `listeners`"
    return f"cannot listen on {place}: {error.strerror}"
