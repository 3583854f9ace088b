"""Says who may talk to a task host, before anything is unpickled: processes of the same user that
show the secret of the driver.

The driver makes the secret, and Spark carries it in its jobs. A worker gives it to the hosts that it starts over a
pipe, so that it is in no command line and no environment, and shows it first on every connection, as bytes of a fixed
length. The file permissions of the socket keep other users out already; who gets around them, as from a container that
shares the directory, is asked here.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import socket
from struct import Struct
from typing import Final

SECRET_BYTES: Final = 32
"""256 bits, which nobody guesses."""
SECRET_TIMEOUT_S: Final = 10.0
"""A connection that has not shown the secret by then is closed."""
_CREDENTIALS: Final = Struct("3i")
_NAME_DIGITS: Final = 8
"""Drivers on one machine are few, and the path of a Unix socket has 107 bytes."""


_OF_DRIVER: Final[dict[int, bytes]] = {}
"""By process id: a forked one is another driver."""


def secret_of_driver() -> bytes:
    """Returns the secret of this process, as a driver: its applications share task hosts,
    those of other drivers do not.
    """
    # Two threads may make their applications at a time: the first secret counts for both.
    return _OF_DRIVER.setdefault(os.getpid(), secrets.token_bytes(SECRET_BYTES))


def name_of(secret: bytes) -> str:
    """Returns what the sockets of hosts with this secret are called, which does not tell it."""
    return hashlib.sha256(secret).hexdigest()[:_NAME_DIGITS]


def is_same(secret: bytes, shown: bytes) -> bool:
    """Whether the secret was shown, in the same time wherever it differs."""
    return secrets.compare_digest(secret, shown)


def pid_of_peer(connection: socket.socket) -> int:
    """Returns the process at the other end, as the kernel knows it."""
    return _credentials(connection)[0]


def is_of_this_user(connection: socket.socket) -> bool:
    """Whether the process at the other end runs as the same user.

    Where a system does not tell, the socket's directory keeps others out.
    """
    if not hasattr(socket, "SO_PEERCRED"):
        return True
    return _credentials(connection)[1] == os.getuid()


def _credentials(connection: socket.socket) -> tuple[int, int]:
    """Process id and user id of the other end, which it cannot choose."""
    told = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    pid, uid, _ = _CREDENTIALS.unpack(told)
    return pid, uid
