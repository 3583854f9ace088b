"""Sends response parts over a non-blocking socket: buffers joined in one system call, long file stretches by sendfile.

With TLS everything leaves in pieces that the socket seals: sendfile and sendmsg would write past TLS, in
clear text. Stretches of files are read a piece at a time. It keeps what the socket does not take yet. Waiting
for the socket is the connection's business.
"""

from __future__ import annotations

import os
import socket
from collections import deque
from collections.abc import Sequence
from typing import Final, Protocol

from millstream.net.server.request_handler import FileSplice, Part

_SENDFILE_BYTES_MIN = 32 * 1024  # shorter stretches cost less as a read and a joined write
_BUFFERS_PER_CALL_MAX = 512  # half of IOV_MAX on Linux
_SENDFILE_BYTES_PER_CALL_MAX = 8 * 1024 * 1024
"""Ours: a client on the same machine takes them in two to three milliseconds as measured, which others wait."""
_BUFFER_TYPES: Final = (bytes, bytearray, memoryview)
_PIECE_BYTES: Final = 64 * 1024
"""Of what TLS seals at once (`tls_socket.PIECE_BYTES`, which is not imported where nothing has TLS)."""
_SEALED_BYTES_PER_FLUSH_MAX: Final = 1024 * 1024
"""A client on the same machine takes them as fast as they are sealed: a millisecond of the loop,
then others have their turn."""


class SealingSocket(Protocol):
    """A socket with TLS on it.

    `send` takes a whole piece, or raises BlockingIOError and is given the same piece again.
    """

    def send(self, piece: bytes | bytearray | memoryview) -> int: ...


class _FileStretch:
    """The part of a file splice that is left to send."""

    __slots__ = ("length", "position", "splice")

    def __init__(self, splice: FileSplice) -> None:
        self.splice = splice
        self.position = splice.position
        self.length = len(splice)


class SocketWriter:
    """One connection's unsent bytes, in order."""

    def __init__(self, connected: socket.socket | None, tls: SealingSocket | None = None) -> None:
        """Either of the two: `tls` is a socket with TLS on it."""
        self._socket = connected
        self._tls = tls
        self._piece: bytes | bytearray | memoryview | None = None
        """What TLS was given and has not taken yet; no more in `_unsent`."""
        self._unsent: deque[bytes | bytearray | memoryview | _FileStretch] = deque()
        self.unsent_bytes = 0
        self.buffered_bytes = 0
        """Of the unsent bytes those that are in memory."""

    def write(self, parts: Sequence[Part]) -> None:
        """Queues `parts`; nothing is sent before `flush`."""
        for part in parts:
            size = len(part)
            if size == 0:
                continue
            self.unsent_bytes += size
            if isinstance(part, _BUFFER_TYPES):
                self.buffered_bytes += size
                self._unsent.append(part)
            elif (
                size >= _SENDFILE_BYTES_MIN
                and isinstance(part, FileSplice)
                and (self._tls is not None or _has_descriptor(part))
            ):
                self._unsent.append(_FileStretch(part))
            else:
                self.buffered_bytes += size
                self._unsent.append(part.read())

    def flush(self) -> bool:
        """Sends what the socket takes; True when nothing is left. Raises OSError when the connection is gone."""
        if self._tls is not None:
            return self._flush_sealed(self._tls)
        while self._unsent:
            try:
                sent, asked = self._send_head()
            except (BlockingIOError, InterruptedError):
                return False
            self.unsent_bytes -= sent
            if sent < asked:
                return False
        return True

    def _send_head(self) -> tuple[int, int]:
        """One system call for the first parts of the queue. Returns bytes sent and bytes asked for."""
        head = self._unsent[0]
        connected = self._socket
        assert connected is not None, "what has TLS is sealed"
        if isinstance(head, _FileStretch):
            return self._send_file(head, connected)
        if len(self._unsent) == 1:
            asked = len(head)
            sent = connected.send(head)
        else:
            buffers, more = self._leading_buffers()
            asked = sum(map(len, buffers))
            sent = connected.sendmsg(buffers, (), socket.MSG_MORE if more else 0)
        self._drop_buffers(sent)
        return sent, asked

    def _leading_buffers(self) -> tuple[list[bytes | bytearray | memoryview], bool]:
        """The buffers before the first file stretch, and whether more follows them at once."""
        buffers: list[bytes | bytearray | memoryview] = []
        for part in self._unsent:
            if isinstance(part, _FileStretch) or len(buffers) == _BUFFERS_PER_CALL_MAX:
                return buffers, True
            buffers.append(part)
        return buffers, False

    def _drop_buffers(self, sent: int) -> None:
        self.buffered_bytes -= sent
        while sent:
            head = self._unsent[0]
            assert not isinstance(head, _FileStretch), "sendmsg cannot have sent a file stretch"
            if sent < len(head):
                self._unsent[0] = memoryview(head)[sent:]
                return
            sent -= len(head)
            self._unsent.popleft()

    def _send_file(self, stretch: _FileStretch, to: socket.socket) -> tuple[int, int]:
        asked = min(stretch.length, _SENDFILE_BYTES_PER_CALL_MAX)
        descriptor = stretch.splice.file.fileno()
        sent = os.sendfile(to.fileno(), descriptor, stretch.position, asked)
        if sent == 0:
            raise OSError("a log file became shorter while it was being sent")
        stretch.position += sent
        stretch.length -= sent
        if stretch.length == 0:
            self._unsent.popleft()
        return sent, asked

    # With TLS

    def _flush_sealed(self, tls: SealingSocket) -> bool:
        left = _SEALED_BYTES_PER_FLUSH_MAX
        while left > 0 and (self._unsent or self._piece is not None):
            piece = self._piece
            if piece is None:
                piece = self._piece = self._next_piece()
            try:
                tls.send(piece)
            except (BlockingIOError, InterruptedError):
                return False
            self._piece = None
            self.unsent_bytes -= len(piece)
            self.buffered_bytes -= len(piece)
            left -= len(piece)
        return not self._unsent

    def _next_piece(self) -> bytes | bytearray | memoryview:
        """Takes the next bytes from the queue: of a stretch or a long buffer a part, of short
        buffers as many as fit.
        """
        head = self._unsent[0]
        if isinstance(head, _FileStretch):
            return self._read_piece(head)
        if len(head) > _PIECE_BYTES:
            view = memoryview(head)
            self._unsent[0] = view[_PIECE_BYTES:]
            return view[:_PIECE_BYTES]
        buffers = [head]
        room = _PIECE_BYTES - len(head)
        self._unsent.popleft()
        while self._unsent:
            part = self._unsent[0]
            if isinstance(part, _FileStretch) or len(part) > room:
                break
            buffers.append(part)
            room -= len(part)
            self._unsent.popleft()
        return head if len(buffers) == 1 else b"".join(buffers)

    def _read_piece(self, stretch: _FileStretch) -> bytes:
        wanted = min(stretch.length, _PIECE_BYTES)
        piece = stretch.splice.file.read_at(stretch.position, wanted)
        if len(piece) != wanted:
            raise OSError("a log file became shorter while it was being sent")
        self.buffered_bytes += wanted
        stretch.position += wanted
        stretch.length -= wanted
        if stretch.length == 0:
            self._unsent.popleft()
        return piece


def _has_descriptor(splice: FileSplice) -> bool:
    try:
        splice.file.fileno()
    except OSError:
        return False
    return True
