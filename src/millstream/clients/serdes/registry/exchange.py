"""One question and its answer over HTTP: whole, within a time limit, and within bounds; and why there was none."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Mapping
from http.client import (
    BadStatusLine,
    HTTPConnection,
    HTTPException,
    IncompleteRead,
    RemoteDisconnected,
    UnknownProtocol,
)
from typing import Final, TypeAlias

from millstream.net.client.core.http_answer import (
    PIECE_BYTES,
    AnswerReader,
    AnswerTooLong,
    HttpAnswer,
)
from millstream.quoting import shortened
from millstream.runtime.system import SystemClock

_BYTES_MAX: Final = 16 * 1024 * 1024
"""Ours: schemas have some kilobytes, and lists of subjects some megabytes at the most."""
NoAnswer: TypeAlias = OSError | HTTPException | ValueError
"""What `exchange` raises. The last one is of text that is no name of a host, and of a length that is none."""
NO_ANSWER: Final = (OSError, HTTPException, ValueError)


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
        return _read(connection.sock, AnswerReader(method, _BYTES_MAX), timeout_ms)
    except AnswerTooLong as error:
        raise OSError(f"the answer is longer than {_BYTES_MAX} bytes") from error
    finally:
        connection.close()


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


def _read(connection: socket.socket, answer: AnswerReader, timeout_ms: int) -> HttpAnswer:
    """Reads an answer that is there in time as a whole: with a time limit of each read alone, one that drips has no
    end.
    """
    clock = SystemClock()
    until_ms = clock.now().monotonic_ms + timeout_ms
    while True:
        left_ms = until_ms - clock.now().monotonic_ms
        if left_ms <= 0:
            raise TimeoutError("timed out")
        connection.settimeout(left_ms / 1000)
        piece = connection.recv(PIECE_BYTES)
        if not piece or answer.receive_data(piece):
            return answer.answer()
