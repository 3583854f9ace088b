"""Sockets that say nothing: `python -m tests.floods.idle_sockets ADDRESS COUNT SOURCE...`. Who is closed comes back."""

from __future__ import annotations

import select
import socket
import sys
import time
from collections import Counter
from itertools import cycle
from typing import Final

from tests.floods.answering import answer_lines
from tests.floods.sources import connecting

_BEGUN_PER_STEP: Final = 20
_STEP_S: Final = 0.01
"""With the number above 2,000 a second."""


class IdleSockets:
    """`run` never returns; `take` is called from another thread."""

    def __init__(self, address: str, count: int, sources: list[str]) -> None:
        self._address = address
        self._count = count
        self._sources = cycle(sources)
        self._epoll = select.epoll()
        self._open: dict[int, socket.socket] = {}
        self._connected: set[int] = set()
        self._counts: Counter[str] = Counter()

    def run(self) -> None:
        next_step = time.monotonic()
        while True:
            if time.monotonic() >= next_step:
                next_step = time.monotonic() + _STEP_S
                for _ in range(min(_BEGUN_PER_STEP, self._count - len(self._open))):
                    begun = connecting(self._address, next(self._sources))
                    self._open[begun.fileno()] = begun
                    self._epoll.register(begun.fileno(), select.EPOLLOUT)
            for descriptor, event in self._epoll.poll(_STEP_S):
                self._note(descriptor, event)

    def take(self) -> dict[str, int]:
        taken, self._counts = self._counts, Counter()
        return {**taken, "connected": len(self._connected)}

    def _note(self, descriptor: int, event: int) -> None:
        if event & (select.EPOLLHUP | select.EPOLLERR | select.EPOLLRDHUP):
            self._counts["closed by the node"] += 1
            self._connected.discard(descriptor)
            self._open.pop(descriptor).close()
        elif event & select.EPOLLOUT:
            self._connected.add(descriptor)
            self._epoll.modify(descriptor, select.EPOLLRDHUP)


if __name__ == "__main__":
    attacker = IdleSockets(sys.argv[1], int(sys.argv[2]), sys.argv[3:])
    answer_lines(attacker.run, attacker.take)
