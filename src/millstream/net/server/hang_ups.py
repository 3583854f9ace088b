"""Tells when clients hang up, also those whose sockets are not read because a request of theirs is waited for.

A read finds the end of a stream only behind all bytes before it. epoll tells of it at once (EPOLLRDHUP), whatever is
unread; event loops do not ask for that, so this has an epoll of its own, which the loop watches like a socket. Where
there is no epoll (macOS) a client that hangs up is noticed when its socket is read or written.
"""

from __future__ import annotations

import asyncio
import select
from collections.abc import Callable
from typing import Final

_EVENTS_PER_WAKE_UP: Final = 64
"""Ours: the rest comes with the next turn of the loop."""


class HangUps:
    """Watches sockets for clients that hang up. To be made on the loop that owns the sockets."""

    def __init__(self) -> None:
        self._epoll = select.epoll() if hasattr(select, "epoll") else None
        self._callbacks: dict[int, Callable[[], None]] = {}
        if self._epoll is not None:
            asyncio.get_running_loop().add_reader(self._epoll.fileno(), self._tell)

    def watch(self, descriptor: int, hung_up: Callable[[], None]) -> None:
        """Calls `hung_up` when the other end has closed at least its sending side; again when it is gone altogether."""
        if self._epoll is not None:
            self._callbacks[descriptor] = hung_up
            self._epoll.register(descriptor, select.EPOLLRDHUP | select.EPOLLET)

    def forget(self, descriptor: int) -> None:
        """Stops watching a socket; to be called before it is closed."""
        if self._epoll is not None:
            del self._callbacks[descriptor]
            self._epoll.unregister(descriptor)

    def close(self) -> None:
        if self._epoll is not None:
            asyncio.get_running_loop().remove_reader(self._epoll.fileno())
            self._epoll.close()

    def _tell(self) -> None:
        assert self._epoll is not None, "nothing else calls this"
        for descriptor, _ in self._epoll.poll(0, _EVENTS_PER_WAKE_UP):
            hung_up = self._callbacks.get(descriptor)
            if hung_up is not None:
                hung_up()
