"""The interface between the server and the broker above it, and the shape of a response."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from typing import Protocol, TypeAlias, runtime_checkable

from millstream.errors import ProtocolError
from millstream.net.server.client_connection import ClientConnection
from millstream.protocol.buffers import Splice
from millstream.runtime.interfaces import File


@runtime_checkable
class FileSplice(Protocol):
    """A splice that is a stretch of a file: it goes to the socket without passing through this process."""

    @property
    def file(self) -> File: ...
    @property
    def position(self) -> int: ...
    def __len__(self) -> int: ...
    def read(self) -> bytes:
        """Reads the same bytes, for a stretch too short for sendfile or a file that has no descriptor."""
        ...


Part: TypeAlias = bytes | bytearray | memoryview | Splice
Response: TypeAlias = Sequence[Part]
"""A whole response frame with its size prefix: a list of pieces that are sent one after another."""


class LastAnswer(ProtocolError):
    """Raised to have the connection closed after an answer. `level`: of the line in the log."""

    def __init__(self, reason: str, response: Response | None, level: int) -> None:
        super().__init__(reason)
        self.response = response
        self.level = level


class RequestHandler(Protocol):
    """Turns request frames into response frames. Raises ProtocolError where the connection must be closed."""

    def may_overlap(self, frame: memoryview) -> bool:
        """Whether this request may be started while earlier ones of its kind, on the same connection, still wait."""
        ...

    def handle(
        self, frame: memoryview, connection: ClientConnection
    ) -> Response | Awaitable[Response | None] | None:
        """Returns the response at once, an awaitable of it, or None when the client expects none.

        `frame` has no size prefix, is writable, and is the handler's to keep. The awaitable is cancelled when the
        connection closes.
        """
        ...
