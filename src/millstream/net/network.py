"""The network as this process uses it: behind one interface, so that a simulation can stand in; with clock and chance
it is the environment of a client of brokers. And the event loop that edges run on.
"""

from __future__ import annotations

import asyncio
import contextlib
import resource
import socket
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final, NamedTuple, Protocol, TypeVar, cast

from millstream.net.listening_socket import open_listening_socket
from millstream.runtime import Clock, Random
from millstream.runtime.system import SystemClock, SystemRandom

Answer = TypeVar("Answer")
_KEPT_SHARE: Final = 10
"""Ours: of the descriptors that the process may have, a tenth."""
_KEPT_FOR_FILES_MAX: Final = 1_000
"""But no more than these. Segments that are rolled and topics that are made while clients take all the connections that
they can get: three files each."""
SocketAddress = tuple[str, int] | tuple[str, int, int, int]


class ResolvedAddress(NamedTuple):
    """One address of a host, as sockets take it."""

    family: int
    address: SocketAddress


@dataclass(frozen=True, slots=True)
class SocketBuffers:
    """Sizes of a socket's buffers; -1 leaves them to the operating system."""

    send_bytes: int = -1
    receive_bytes: int = -1


class Network(Protocol):
    """The connections that a process opens and the sockets on which it is reached."""

    async def resolve(self, host: str, port: int) -> list[ResolvedAddress]:
        """Returns the addresses of a host, the first to be tried first.

        Raises OSError, or UnicodeError, where there is none.
        """
        ...

    async def canonical_name(self, endpoint: ResolvedAddress) -> str:
        """Returns the name that belongs to an address. Raises OSError where there is none."""
        ...

    async def connect(self, endpoint: ResolvedAddress, buffers: SocketBuffers) -> socket.socket:
        """Returns a connected stream socket that does not block. Raises OSError."""
        ...

    def listen(self, host: str, port: int, backlog: int) -> socket.socket:
        """Returns a listening stream socket that does not block; port 0 is any free one.

        Raises ConfigError with a sentence for the operator.
        """
        ...

    def descriptor_max(self) -> int:
        """Returns the highest descriptor that a client's connection may have.

        The numbers above are for files: each new one is the lowest free.
        """
        ...


class SystemNetwork:
    """The network of the operating system, by the running event loop."""

    async def resolve(self, host: str, port: int) -> list[ResolvedAddress]:
        for family in (socket.AF_INET, socket.AF_INET6):
            with contextlib.suppress(OSError):  # not a literal address of that family
                socket.inet_pton(family, host)
                return [ResolvedAddress(family, (host, port))]
        found = await _unwaited(partial(socket.getaddrinfo, host, port, type=socket.SOCK_STREAM))
        return [
            ResolvedAddress(family, cast("SocketAddress", address))
            for family, _, _, _, address in found
        ]

    async def canonical_name(self, endpoint: ResolvedAddress) -> str:
        ask = partial(socket.getnameinfo, endpoint.address, socket.NI_NAMEREQD)
        name, _ = await _unwaited(ask)
        return name

    async def connect(self, endpoint: ResolvedAddress, buffers: SocketBuffers) -> socket.socket:
        sock = socket.socket(endpoint.family, socket.SOCK_STREAM)
        try:
            sock.setblocking(False)
            for option, size in (
                (socket.SO_SNDBUF, buffers.send_bytes),
                (socket.SO_RCVBUF, buffers.receive_bytes),
            ):
                if size >= 0:
                    sock.setsockopt(socket.SOL_SOCKET, option, size)
            await asyncio.get_running_loop().sock_connect(sock, endpoint.address)
        except BaseException:
            sock.close()
            raise
        return sock

    def listen(self, host: str, port: int, backlog: int) -> socket.socket:
        return open_listening_socket(host, port, backlog)

    def descriptor_max(self) -> int:
        allowed, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        if allowed == resource.RLIM_INFINITY:
            return sys.maxsize
        return allowed - min(allowed // _KEPT_SHARE, _KEPT_FOR_FILES_MAX)


async def _unwaited(ask: Callable[[], Answer]) -> Answer:
    """Asks the resolver in a thread of its own, for which the end of a process does not wait.

    One that does not answer takes half a minute or more, and the threads of an event loop are joined at the
    end: Ctrl-C would take effect then.
    """
    loop = asyncio.get_running_loop()
    answered: asyncio.Future[Answer] = loop.create_future()

    def settle(answer: Answer | None, error: Exception | None) -> None:
        if answered.done():  # nobody waits any more
            return
        if error is None:
            answered.set_result(cast("Answer", answer))
        else:
            answered.set_exception(error)

    def look_up() -> None:
        answer, failure = None, None
        try:
            answer = ask()
        except Exception as error:  # noqa: BLE001 - whoever waits raises it
            failure = error
        with contextlib.suppress(RuntimeError):  # the loop has been closed meanwhile
            loop.call_soon_threadsafe(settle, answer, failure)

    threading.Thread(target=look_up, name="millstream resolver", daemon=True).start()
    return await answered


@dataclass(frozen=True, slots=True)
class Environment:
    """Handed to a client where it shall live in another world than the system's, such as a simulation.

    Waits are the event loop's: `clock` and the loop's time must go at the same pace.
    """

    clock: Clock
    random: Random
    network: Network


def system_environment() -> Environment:
    """Returns the system's clock, randomness and network."""
    return Environment(SystemClock(), SystemRandom(), SystemNetwork())


def event_loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """Returns the factory for `asyncio.Runner(loop_factory=...)`."""
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop
