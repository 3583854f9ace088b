"""The interfaces that a connection has to the server that accepted it, and to a socket with TLS on it."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Protocol, TypeVar

from millstream.net.server.closings import Closings
from millstream.net.server.limits import ConnectionLimits
from millstream.net.server.request_memory import RequestMemory
from millstream.net.server.socket_writer import SealingSocket
from millstream.net.server.turns import Turns

ConnectionT_contra = TypeVar("ConnectionT_contra", contravariant=True)


class ConnectionOwner(Protocol[ConnectionT_contra]):
    """The server that accepted a connection, as far as the connection needs it."""

    limits: ConnectionLimits
    receive_buffer: memoryview
    turns: Turns
    request_memory: RequestMemory
    closings: Closings

    def start_task(self, work: Coroutine[None, None, None]) -> asyncio.Task[None]: ...
    def on_active(self, connection: ConnectionT_contra) -> None:
        """Tells the server that bytes arrived, or requests were started."""
        ...

    def on_writes_stalled(self, connection: ConnectionT_contra) -> None:
        """Tells the server that the socket takes no more bytes."""
        ...

    def on_writes_moved(self, connection: ConnectionT_contra) -> None:
        """Tells the server that the socket took some bytes."""
        ...

    def on_idle(self) -> None:
        """Tells the server that the last response of a connection was sent."""
        ...

    def hold_unsent(self, change: int) -> None:
        """So many more (or, negative, fewer) bytes of answers are in memory that sockets do not take.

        May close connections.
        """
        ...

    def on_closed(self, connection: ConnectionT_contra) -> None: ...


class TlsTransport(SealingSocket, Protocol):
    """A socket with TLS on it, after its handshake (`tls_socket.TlsSocket`, which is not
    imported where nothing has TLS).
    """

    must_write: bool

    @property
    def holds_bytes(self) -> bool: ...
    def fileno(self) -> int: ...
    def recv_into(self, target: memoryview) -> int: ...
    def close(self) -> None: ...
