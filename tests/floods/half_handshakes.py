"""Handshakes of TLS that stop half-way: `python -m tests.floods.half_handshakes ADDRESS RATE SOURCE...`, so many a second.

Each sends a lawful ClientHello, for which the node computes as for any client. Then one in three is silent, one closes, and one goes
on with garbage once it is answered.
"""

from __future__ import annotations

import os
import select
import socket
import ssl
import sys
import time
from collections import Counter, deque
from itertools import cycle
from typing import Final

from tests.floods.answering import answer_lines
from tests.floods.sources import connecting

_OPEN_MAX: Final = 3_000
"""Of this process. Where the node takes no more, further ones wait for these to end."""
_SILENT_S: Final = 5.0
_STEP_S: Final = 0.002


class HalfHandshakes:
    """`run` never returns; `take` is called from another thread."""

    def __init__(self, address: str, rate: float, sources: list[str]) -> None:
        self._address = address
        self._rate = rate
        self._sources = cycle(sources)
        self._hello = client_hello()
        self._endings = cycle(("silent", "closed", "garbage"))
        self._epoll = select.epoll()
        self._open: dict[int, tuple[socket.socket, str]] = {}
        self._silent: deque[tuple[float, int, socket.socket]] = deque()
        self._counts: Counter[str] = Counter()

    def run(self) -> None:
        last = time.monotonic()
        due = 0.0
        while True:
            now = time.monotonic()
            due, last = min(due + (now - last) * self._rate, self._rate), now
            while due >= 1:
                due -= 1
                if len(self._open) < _OPEN_MAX:
                    self._begin()
                else:
                    self._counts["held off"] += 1
            for descriptor, _ in self._epoll.poll(_STEP_S):
                self._go_on(descriptor)
            while self._silent and self._silent[0][0] <= now:
                _, descriptor, half = self._silent.popleft()
                if self._open.get(descriptor, (None,))[0] is half:
                    self._close(descriptor)

    def take(self) -> dict[str, int]:
        taken, self._counts = self._counts, Counter()
        return {**taken, "open": len(self._open)}

    def _begin(self) -> None:
        half = connecting(self._address, next(self._sources))
        self._open[half.fileno()] = half, "connecting"
        self._epoll.register(half.fileno(), select.EPOLLOUT)

    def _go_on(self, descriptor: int) -> None:
        half, state = self._open[descriptor]
        try:
            if state == "connecting":
                half.send(self._hello)
                self._counts["begun"] += 1
                self._stop(descriptor, half)
            elif not half.recv(4096):
                self._close(descriptor)
            elif state == "garbage":
                self._counts["answered"] += 1
                half.send(os.urandom(200))
                self._open[descriptor] = half, "ending"
        except OSError:
            self._counts["reset"] += 1
            self._close(descriptor)

    def _stop(self, descriptor: int, half: socket.socket) -> None:
        ending = next(self._endings)
        if ending == "closed":
            self._close(descriptor)
            return
        self._open[descriptor] = half, ending
        self._epoll.modify(descriptor, select.EPOLLIN)
        self._silent.append((time.monotonic() + _SILENT_S, descriptor, half))

    def _close(self, descriptor: int) -> None:
        half, _ = self._open.pop(descriptor)
        half.close()


def client_hello() -> bytes:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    outgoing = ssl.MemoryBIO()
    client = context.wrap_bio(ssl.MemoryBIO(), outgoing, server_hostname="node")
    try:
        client.do_handshake()
    except ssl.SSLWantReadError:
        return outgoing.read()
    raise AssertionError("a handshake does not end with its first flight")


if __name__ == "__main__":
    attacker = HalfHandshakes(sys.argv[1], float(sys.argv[2]), sys.argv[3:])
    answer_lines(attacker.run, attacker.take)
