"""Addresses at which no broker answers."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator


def closed_port() -> str:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{sock.getsockname()[1]}"


@contextlib.contextmanager
def deaf_port() -> Iterator[str]:
    """Accepts in the kernel, and nobody ever reads."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        sock.listen(1)
        yield f"127.0.0.1:{sock.getsockname()[1]}"
