"""A server for tests that answers each connection with given bytes, whatever it is asked."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Self

from tests.patience import LONG_ENOUGH_S

Behaviour = Callable[[socket.socket], None]


def http(body: str, status: str = "200 OK", headers: str = "") -> bytes:
    """An answer as HTTP wants it."""
    return f"HTTP/1.1 {status}\r\nContent-Length: {len(body.encode())}\r\n{headers}\r\n{body}".encode()  # fmt: skip


class RawServer:
    """Use as a context manager. `behaviour` has a connection for itself, behind the first bytes of its caller."""

    def __init__(self, behaviour: bytes | Behaviour) -> None:
        self._behaviour = behaviour
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}"
        self._threads = [threading.Thread(target=self._accept)]

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listening.accept()
            except OSError:
                return
            thread = threading.Thread(target=self._serve, args=(connection,))
            self._threads.append(thread)
            thread.start()

    def _serve(self, connection: socket.socket) -> None:
        with connection, suppress(OSError):  # the caller leaves when it has had enough
            connection.settimeout(LONG_ENOUGH_S)
            connection.recv(65_536)
            if isinstance(self._behaviour, bytes):
                connection.sendall(self._behaviour)
            else:
                self._behaviour(connection)

    def __enter__(self) -> Self:
        self._threads[0].start()
        return self

    def __exit__(self, *error: object) -> None:
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        for thread in self._threads:
            thread.join()
