"""What a connection does with a socket that has TLS on it, where no client library can be made to do it: played by a socket that seals nothing."""

from __future__ import annotations

import asyncio
import contextlib
import select
import socket
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from millstream.net.server.client_connection import ClientConnection
from millstream.net.server.limits import ConnectionLimits
from millstream.net.server.request_handler import Response
from millstream.net.server.socket_server import SocketServer
from millstream.runtime.system import SystemClock
from tests.patience import LONG_ENOUGH_S


@dataclass
class PlayedTls:
    """Opens everything that has come as one record. `has_key_update`: a read finds first that TLS must write."""

    connected: socket.socket
    has_key_update: bool = False
    must_write: bool = False
    refusals: int = 0
    """Reads that could not write."""
    opened: bytearray = field(default_factory=bytearray)
    reads: list[int] = field(default_factory=list)

    @property
    def holds_bytes(self) -> bool:
        return bool(self.opened)

    def fileno(self) -> int:
        return self.connected.fileno()

    def recv_into(self, target: memoryview) -> int:
        self.must_write = self.has_key_update and not select.select([], [self], [], 0)[1]
        if self.must_write:
            self.refusals += 1
            raise BlockingIOError
        self.has_key_update = False
        if not self.opened:
            while len(self.opened) < 1 << 20:
                try:
                    received = self.connected.recv(1 << 16)
                except BlockingIOError:
                    break
                if not received:
                    break
                self.opened += received
            else:
                raise AssertionError("a test sends less")
            if not self.opened:
                raise BlockingIOError
        count = min(len(target), len(self.opened))
        target[:count] = self.opened[:count]
        del self.opened[:count]
        self.reads.append(count)
        return count

    def send(self, piece: bytes | bytearray | memoryview) -> int:
        self.connected.sendall(piece)
        return len(piece)

    def close(self) -> None:
        self.connected.close()


class Echo:
    def may_overlap(self, frame: memoryview) -> bool:
        del frame
        return False

    def handle(self, frame: memoryview, connection: ClientConnection) -> Response:
        del connection
        return [struct.pack(">i", len(frame)), bytes(frame)]


@asynccontextmanager
async def connection(played: PlayedTls) -> AsyncIterator[None]:
    server = SocketServer(ConnectionLimits(), SystemClock())
    serving = asyncio.create_task(server.serve(Echo()))
    await asyncio.sleep(0)
    server._admission.admit("SAFE", "10.0.0.1")
    server._open(played, ClientConnection(1, "10.0.0.1", 1, "SAFE"))  # type: ignore[arg-type]  # it is played
    try:
        yield
    finally:
        serving.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await serving


def pair(**played: bool) -> tuple[PlayedTls, socket.socket]:
    here, there = socket.socketpair()
    here.setblocking(False)
    there.setblocking(False)
    return PlayedTls(here, **played), there


async def echoes(client: socket.socket, count: int) -> list[bytes]:
    reader, writer = await asyncio.open_connection(sock=client)
    found = []
    async with asyncio.timeout(LONG_ENOUGH_S):
        for _ in range(count):
            (size,) = struct.unpack(">i", await reader.readexactly(4))
            found.append(await reader.readexactly(size))
    writer.close()
    return found


def frame(body: bytes) -> bytes:
    return struct.pack(">i", len(body)) + body


async def test_bytes_that_no_loop_tells_of_are_read() -> None:
    """A long request goes into a buffer of its own size, and what is behind it in its record stays in TLS."""
    bodies = [b"a", b"b" * 100_000, b"c", b"d" * 70_000, b"e"]
    played, client = pair()
    client.setblocking(True)
    sent = asyncio.to_thread(client.sendall, b"".join(map(frame, bodies)))
    async with connection(played):
        await sent
        client.setblocking(False)
        assert await echoes(client, len(bodies)) == bodies


async def test_a_read_that_must_write_first_waits_for_room_and_goes_on() -> None:
    """A key update, which TLS answers before it reads on, while the client leaves no room. The loop does not turn meanwhile."""
    played, client = pair(has_key_update=True)
    filled = 0
    with contextlib.suppress(BlockingIOError):
        while True:
            filled += played.connected.send(bytes(1 << 16))
    client.send(frame(b"a"))
    async with connection(played):
        await asyncio.sleep(0.1)
        assert played.refusals == 1
        while filled:
            filled -= len(client.recv(min(filled, 1 << 16)))
        assert await echoes(client, 1) == [b"a"]
    assert played.refusals == 1
