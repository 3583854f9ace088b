"""TLS over a wrapped socket and over a memory BIO beside a plain socket, as an event loop would drive them (ADR 0027).

No part of the broker runs here: one process serves one connection over each kind of transport, another one asks it. Figures are the
server's: megabytes a second, and processor time for a megabyte or a request.
"""

from __future__ import annotations

import multiprocessing
import os
import socket
import ssl
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, Protocol

import uvloop

from tests.integration.clients.security.certificates import Authority

_MIB: Final = 1 << 20
_READ: Final = 64 * 1024
_PIECE: Final = 64 * 1024
_SECONDS: Final = float(os.environ.get("SECONDS_A_ROW", "2"))
_ROUNDS: Final = 3
_CASES: Final = {"read 1 MiB": (_MIB, 64), "write 1 MiB": (64, _MIB), "100 bytes": (100, 100)}
"""Bytes of a request and of its answer."""


class Transport(Protocol):
    """What a connection needs: reads that say BlockingIOError, and writes of which a piece is taken or nothing."""

    def recv_into(self, target: memoryview) -> int: ...
    def send(self, piece: memoryview) -> int: ...


class Wrapped:
    """An SSLSocket that does not block."""

    def __init__(self, connected: ssl.SSLSocket) -> None:
        self._socket = connected

    def recv_into(self, target: memoryview) -> int:
        try:
            return self._socket.recv_into(target)
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
            raise BlockingIOError from None

    def send(self, piece: memoryview) -> int:
        try:
            return self._socket.send(piece)
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
            raise BlockingIOError from None


class OverBio:
    """A socket, and TLS between two buffers in memory."""

    def __init__(self, connected: socket.socket, context: ssl.SSLContext) -> None:
        self._socket = connected
        self._in, self._out = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._in, self._out, server_side=True)
        self._shared = memoryview(bytearray(_READ))
        self._unsent = memoryview(b"")
        self._sealed = 0
        connected.setblocking(True)
        while True:
            try:
                self._tls.do_handshake()
                break
            except ssl.SSLWantReadError:
                connected.sendall(self._out.read())
                self._in.write(self._shared[: connected.recv_into(self._shared)])
        connected.sendall(self._out.read())
        connected.setblocking(False)

    def recv_into(self, target: memoryview) -> int:
        try:
            return self._tls.read(len(target), target)  # type: ignore[arg-type,return-value]  # a memoryview is a buffer
        except ssl.SSLWantReadError:
            count = self._socket.recv_into(self._shared)
            if count == 0:
                return 0
            self._in.write(self._shared[:count])
        try:
            return self._tls.read(len(target), target)  # type: ignore[arg-type,return-value]  # as above
        except ssl.SSLWantReadError:
            raise BlockingIOError from None

    def send(self, piece: memoryview) -> int:
        if not self._unsent:
            self._sealed = self._tls.write(piece)
            self._unsent = memoryview(self._out.read())
        while self._unsent:
            self._unsent = self._unsent[self._socket.send(self._unsent) :]
        return self._sealed


class Server:
    """Reads requests of a known size, and answers each."""

    def __init__(self, transport: Transport, descriptor: int, request: int, answer: int) -> None:
        self._transport = transport
        self._descriptor = descriptor
        self._buffer = memoryview(bytearray(max(request, _READ)))
        self._request, self._filled = request, 0
        self._answer = memoryview(bytes(answer))
        self._unsent = memoryview(b"")
        self._loop = uvloop.new_event_loop()
        self.requests = 0

    def run(self) -> None:
        self._loop.add_reader(self._descriptor, self._readable)
        self._loop.call_soon(self._readable)  # the first request may have come with the handshake
        self._loop.run_forever()

    def _readable(self) -> None:
        try:
            while self._filled < self._request:
                count = self._transport.recv_into(self._buffer[self._filled :])
                if count == 0:
                    self._loop.stop()
                    return
                self._filled += count
        except BlockingIOError:
            return
        except OSError:
            self._loop.stop()
            return
        self._filled = 0
        self.requests += 1
        self._unsent = self._answer
        self._writable()

    def _writable(self) -> None:
        try:
            while self._unsent:
                self._unsent = self._unsent[self._transport.send(self._unsent[:_PIECE]) :]
        except BlockingIOError:
            self._loop.add_writer(self._descriptor, self._writable)
            return
        self._loop.remove_writer(self._descriptor)


def serve(kind: str, certificate: Path, case: str, ready: Callable[[object], None]) -> None:
    listening = socket.create_server(("127.0.0.1", 0))
    ready(listening.getsockname()[1])
    connected, _ = listening.accept()
    connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.load_cert_chain(certificate)
    transport: Transport = connected
    descriptor = connected.fileno()
    if kind == "wrapped":
        wrapped = context.wrap_socket(connected, server_side=True)
        wrapped.setblocking(False)
        descriptor = wrapped.fileno()
        transport = Wrapped(wrapped)
    elif kind == "memory BIO":
        transport = OverBio(connected, context)
    else:
        connected.setblocking(False)
    server = Server(transport, descriptor, *_CASES[case])
    before, begun = time.process_time(), time.perf_counter()
    server.run()
    ready((server.requests, time.process_time() - before, time.perf_counter() - begun))


def measured(kind: str, directory: Path, case: str) -> tuple[float, float]:
    """Megabytes a second (requests for small ones), and the server's processor time for one, in milliseconds."""
    here, there = multiprocessing.Pipe()
    process = multiprocessing.Process(
        target=serve, args=(kind, directory / "server.pem", case, there.send)
    )
    process.start()
    port = here.recv()
    connected: socket.socket = socket.create_connection(("127.0.0.1", port))
    connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if kind != "plain":
        context = ssl.create_default_context(cafile=directory / "test-authority.pem")
        connected = context.wrap_socket(connected, server_hostname="127.0.0.1")
    request, answer = (bytes(size) for size in _CASES[case])
    buffer = memoryview(bytearray(len(answer)))
    end = time.perf_counter() + _SECONDS
    while time.perf_counter() < end:
        connected.sendall(request)
        filled = 0
        while filled < len(answer):
            filled += connected.recv_into(buffer[filled:])
    connected.close()
    requests, cpu_s, wall_s = here.recv()
    process.join()
    return requests / wall_s, cpu_s * 1000 / requests


def main() -> None:
    kinds = ("plain", "wrapped", "memory BIO")
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        Authority(directory).issue("server")
        for case in _CASES:
            rows: dict[str, list[tuple[float, float]]] = {kind: [] for kind in kinds}
            for _ in range(_ROUNDS):
                for kind in kinds:
                    rows[kind].append(measured(kind, directory, case))
            for kind in kinds:
                rate, cpu_ms = sorted(rows[kind], key=lambda row: row[1])[_ROUNDS // 2]
                print(f"{case:12} {kind:10} {rate:9.0f}/s {cpu_ms:8.4f} ms of processor time each")


if __name__ == "__main__":
    main()
