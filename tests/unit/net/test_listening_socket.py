"""Connections are accepted for as long as there is somebody to accept, whatever became of the one before."""

from __future__ import annotations

import asyncio
import errno
from collections.abc import AsyncIterator
from typing import Any

import pytest

from millstream.net import listening_socket
from millstream.net.listening_socket import accepted


class Connection:
    is_blocking = True

    def setblocking(self, flag: bool) -> None:
        self.is_blocking = flag


async def accepted_from(
    told: list[Connection | OSError], monkeypatch: pytest.MonkeyPatch
) -> list[Connection]:
    """The two connections that are given before the socket is closed."""

    async def sock_accept(_loop: object, _listening: object) -> tuple[Connection, str]:
        each = told.pop(0)
        if isinstance(each, OSError):
            raise each
        return each, "10.0.0.9"

    monkeypatch.setattr(listening_socket, "_ACCEPT_AGAIN_S", 0)
    monkeypatch.setattr(type(asyncio.get_running_loop()), "sock_accept", sock_accept)
    listening: Any = object()
    connections: AsyncIterator[Any] = accepted(listening)
    found = [await anext(connections), await anext(connections)]
    with pytest.raises(OSError, match="closed"):
        await anext(connections)
    return found


async def test_a_client_that_has_gone_and_a_lack_of_descriptors_end_nothing(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    one, two = Connection(), Connection()
    told = [
        OSError(errno.EMFILE, "too many open files"),
        ConnectionAbortedError(errno.ECONNABORTED, "it has gone"),
        OSError(errno.EPERM, "a firewall forbids it"),
        OSError(errno.EHOSTUNREACH, "its network has gone"),
        one,
        OSError(errno.ENFILE, "too many in the system"),
        two,
        OSError(errno.EBADF, "closed"),
    ]
    assert await accepted_from(told, monkeypatch) == [one, two]
    assert not one.is_blocking
    assert caplog.text.count("could not be accepted") == 2
