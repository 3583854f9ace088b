"""A connected socket with TLS on it, as connections and writers use it: it says BlockingIOError
like a plain one (ADR 0027).

OpenSSL's error queue and its two wants stay in here. What the socket sends leaves in pieces of which each is
taken whole: a piece that is not taken must be offered again with the same bytes, since OpenSSL may have
sealed and sent a part of it already.
"""

from __future__ import annotations

import contextlib
import select
import socket
import ssl
from typing import Final

PIECE_BYTES: Final = 64 * 1024
"""Four records of TLS: 16 KiB cost a system call each, and what is in work of one piece is held in memory by
OpenSSL."""
_UNREAD_BYTES_MAX: Final = 64 * 1024
"""Ours: more than the first requests of a client take."""


class TlsSocket:
    """Owns the socket. `accept` it with TLS first: `do_handshake` until that returns."""

    def __init__(self, connected: socket.socket, context: ssl.SSLContext) -> None:
        """Takes the socket over. Raises OSError when the client has gone meanwhile; the socket is closed then."""
        try:
            self._socket = context.wrap_socket(
                connected, server_side=True, do_handshake_on_connect=False
            )
        except (OSError, ValueError) as error:
            connected.close()
            raise OSError(f"the client is gone: {error}") from error
        self._has_half_a_piece = False
        self.must_write = False
        """A read found that TLS itself has something to say first, for which the other end leaves no room
        (KeyUpdate)."""

    def fileno(self) -> int:
        return self._socket.fileno()

    def is_readable(self) -> bool:
        """Whether something has come, or the end, of which the event loop may not have told yet."""
        asked = select.poll()
        asked.register(self._socket, select.POLLIN)
        return bool(asked.poll(0))

    def do_handshake(self) -> None:
        """Goes on with the handshake.

        Raises ssl.SSLWantReadError and ssl.SSLWantWriteError for its next turn, else OSError.
        """
        self._socket.do_handshake()

    def certificate(self) -> bytes | None:
        """Returns the client's certificate in DER, which its handshake has verified; None without."""
        return self._socket.getpeercert(binary_form=True)

    @property
    def holds_bytes(self) -> bool:
        """Whether bytes wait in here of which no event loop tells: the rest of a record that was opened."""
        return self._socket.pending() > 0

    def recv_into(self, target: memoryview) -> int:
        """Reads at most one record; 0 when the client has ended the connection. Raises BlockingIOError, and OSError."""
        try:
            self.must_write = False
            return self._socket.recv_into(target)
        except ssl.SSLWantReadError:
            raise BlockingIOError from None
        except ssl.SSLWantWriteError:
            self.must_write = True
            raise BlockingIOError from None

    def send(self, piece: bytes | bytearray | memoryview) -> int:
        """Sends the whole piece. Raises BlockingIOError, after which the same piece must be sent next, and OSError."""
        try:
            sent = self._socket.send(piece)
        except ssl.SSLWantWriteError:
            self._has_half_a_piece = True
            raise BlockingIOError from None
        except ssl.SSLWantReadError as error:
            # It would be a handshake, which TLS 1.3 does not have in the middle and our contexts refuse in TLS 1.2.
            raise OSError("a client wants another handshake") from error
        self._has_half_a_piece = False
        return sent

    def refuse(self) -> None:
        """Closes the socket after a handshake that failed, for which OpenSSL has sent the alert."""
        with contextlib.suppress(OSError):
            # A client of TLS 1.3 may have sent its first request already. Closed with unread bytes, a socket tells the other end that it
            # was reset, and what it had sent, the alert, may be thrown away there.
            socket.socket.recv(self._socket, _UNREAD_BYTES_MAX)
        self._socket.close()

    def close(self) -> None:
        """Says goodbye in TLS, where that is possible without waiting, so that the client
        sees that nothing was cut off.
        """
        if not self._has_half_a_piece:
            with contextlib.suppress(
                OSError, ValueError
            ):  # it waits for the other goodbye, or the client is gone
                self._socket.unwrap()
        self._socket.close()
