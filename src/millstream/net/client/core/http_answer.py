"""An HTTP answer out of the bytes that come, and when it is whole. No I/O; `http.client` reads the parts, from memory.

The edges stop reading at the end that the answer itself says (Content-Length, chunks): a server may leave the
connection open behind it, whatever it was asked for.
"""

from __future__ import annotations

import io
import re
from http.client import HTTPException, HTTPResponse
from typing import Any, Final, NamedTuple

PIECE_BYTES: Final = 64 * 1024
"""What an edge reads at once."""
_END_OF_HEAD: Final = re.compile(rb"\n\r?\n")
_LONGEST_END: Final = 3
_CONTINUE: Final = re.compile(rb"HTTP/1\.\d 100\b")


class AnswerTooLong(HTTPException):
    """The server has sent more than anything that is asked for here has."""


class HttpAnswer(NamedTuple):
    """`location` is where it sends the caller instead."""

    status: int
    body: bytes
    location: str | None


class AnswerReader:
    """The answer to one request, which comes in pieces."""

    def __init__(self, method: str, bytes_max: int) -> None:
        """`bytes_max`: of the whole answer, with its head."""
        self._method = method
        self._bytes_max = bytes_max
        self._data = bytearray()
        self._seen: int = 0
        """Where the end of the head, or of the chunk, is looked for next."""
        self._end: int | None = None
        """Where the answer ends, once it has said so."""
        self._has_head = self._is_chunked = False

    def receive_data(self, data: bytes) -> bool:
        """Takes what has come. Returns whether the answer is whole.

        Raises AnswerTooLong, and another HTTPException as soon as it is seen that this is no answer.
        """
        self._data += data
        if len(self._data) > self._bytes_max:
            raise AnswerTooLong(f"it has more than {self._bytes_max} bytes")
        if not self._has_head:
            self._look_for_head()
        if self._is_chunked and self._end is None:
            self._look_for_last_chunk()
        return self._end is not None and len(self._data) >= self._end

    def answer(self) -> HttpAnswer:
        """Returns the answer once it is whole, or nothing more comes. Raises HTTPException for what is none, or cut
        off.
        """
        response = self._response()
        return HttpAnswer(response.status, response.read(), response.getheader("Location"))

    def _response(self) -> HTTPResponse:
        received: Any = _Received(self._data)  # Any: http.client asks no more of a socket
        response = HTTPResponse(received, method=self._method)
        response.begin()
        return response

    def _look_for_head(self) -> None:
        while (
            end := _END_OF_HEAD.search(self._data, max(0, self._seen - _LONGEST_END))
        ) is not None:
            if not _CONTINUE.match(self._data):
                break
            del self._data[: end.end()]
            self._seen = 0
        self._seen = len(self._data)
        if end is None:
            if b"\n" in self._data and not self._data.startswith(b"HTTP/"):
                self._response()  # says at once what is wrong: nothing more may come
            return
        self._has_head = True
        self._seen = end.end()
        response = self._response()
        self._is_chunked = bool(response.chunked)
        if response.length is not None:
            self._end = self._seen + response.length

    def _look_for_last_chunk(self) -> None:
        """Sizes that are none are left to `answer`: they are an end, too."""
        while (line_end := self._data.find(b"\n", self._seen)) >= 0:
            try:
                size = int(self._data[self._seen : line_end].split(b";")[0], 16)
            except ValueError:
                self._end = 0
                return
            if size < 0:
                raise HTTPException(f"the size of a chunk must be non-negative, not {size}")
            if size == 0:
                self._look_for_trailers(line_end + 1)
                return
            self._seen = line_end + 1 + size + len(b"\r\n")
            if self._seen > len(self._data):
                return

    def _look_for_trailers(self, begin: int) -> None:
        """The answer ends with the first empty line behind its last chunk."""
        while (line_end := self._data.find(b"\n", begin)) >= 0:
            if not self._data[begin:line_end].strip():
                self._end = line_end + 1
                return
            begin = line_end + 1


class _Received:
    """Stands in for the socket of `http.client`."""

    def __init__(self, data: bytearray) -> None:
        self._data = data

    def makefile(self, _mode: str) -> io.BytesIO:
        return io.BytesIO(self._data)
