"""One question and its answer over HTTP: whole, within a time limit, and within bounds; and why there was none."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Mapping
from http.client import (
    BadStatusLine,
    HTTPConnection,
    HTTPException,
    HTTPResponse,
    IncompleteRead,
    RemoteDisconnected,
    UnknownProtocol,
)
from io import BufferedReader, RawIOBase
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from millstream.quoting import shortened
from millstream.runtime.system import SystemClock

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

_BYTES_MAX: Final = 16 * 1024 * 1024
"""Ours: schemas have some kilobytes, and lists of subjects some megabytes at the most."""
NoAnswer: TypeAlias = OSError | HTTPException | ValueError
"""What `exchange` raises. The last one is of text that is no name of a host, and of a length that is none."""
NO_ANSWER: Final = (OSError, HTTPException, ValueError)


class HttpAnswer(NamedTuple):
    """`location` is where it sends the caller instead."""

    status: int
    body: bytes
    location: str | None


def exchange(
    connection: HTTPConnection,
    method: str,
    path: str,
    question: bytes | None,
    headers: Mapping[str, str],
    *,
    timeout_ms: int,
) -> HttpAnswer:
    """Returns the answer, and closes the connection. Raises NoAnswer."""
    try:
        connection.request(method, path, question, headers)
        response = _TimedResponse(connection.sock, method, timeout_ms)
        response.begin()
        body = response.read(_BYTES_MAX + 1)
    finally:
        connection.close()
    if len(body) > _BYTES_MAX:
        raise OSError(f"the answer is longer than {_BYTES_MAX} bytes")
    return HttpAnswer(response.status, body, response.getheader("Location"))


def reason(error: NoAnswer) -> str:
    """Returns why there was no answer, in words."""
    match error:
        case RemoteDisconnected():
            return "it closed the connection without a word"
        case BadStatusLine() | UnknownProtocol():
            return "what it says is not HTTP; is it https?"
        case IncompleteRead():
            return "its answer ends in the middle"
        case ssl.SSLError(reason="WRONG_VERSION_NUMBER" | "RECORD_LAYER_FAILURE"):
            return "what it says is not TLS; is it http?"
        case ssl.SSLError():
            return str(error)
        case OSError(strerror=str(told)):
            return told
        case _:
            return shortened(str(error)) or type(error).__name__


class _TimedResponse(HTTPResponse):
    """An answer that is there in time as a whole: with a time limit of each read alone, one that drips has no end."""

    def __init__(self, connection: socket.socket, method: str, timeout_ms: int) -> None:
        super().__init__(connection, method=method)
        until_ms = SystemClock().now().monotonic_ms + timeout_ms
        self.fp = BufferedReader(_TimedReads(connection, self.fp.detach(), until_ms))


class _TimedReads(RawIOBase):
    """Reads of a connection, each with what is left of the time."""

    def __init__(self, connection: socket.socket, reads: RawIOBase, until_ms: int) -> None:
        self._connection = connection
        self._reads = reads
        self._until_ms = until_ms

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer, /) -> int | None:
        left_ms = self._until_ms - SystemClock().now().monotonic_ms
        if left_ms <= 0:
            raise TimeoutError("timed out")
        self._connection.settimeout(left_ms / 1000)
        return self._reads.readinto(buffer)

    def close(self) -> None:
        self._reads.close()
        super().close()
