"""A network inside one virtual loop: real sockets at both ends, and between them wires that delay, cut and swallow.

Chance is seeded. `trace` notes each piece that went over a wire: two runs of the same seed have the same.
"""

from __future__ import annotations

import asyncio
import errno
import random
import socket
import zlib
from collections import deque
from dataclasses import dataclass, field
from itertools import count
from typing import Any, NamedTuple

from millstream.errors import ConfigError
from millstream.net.network import ResolvedAddress, SocketBuffers

_PIECE_BYTES = 64 * 1024
_FOR_EVER_S = 365 * 86_400.0


@dataclass
class Weather:
    """How bad the network is. Chances are for each piece that is under way."""

    delay_max_ms: int = 2
    cut: float = 0.0
    """The wire breaks: both ends see the connection end, and what was under way is lost."""
    swallow: float = 0.0
    """From this piece on nothing arrives any more, and nobody is told."""


class Piece(NamedTuple):
    """What went over a wire; `what` is the checksum of the bytes, or a word."""

    at_ms: int
    wire: int
    to_server: bool
    size: int
    what: int | str


@dataclass
class SimNetwork:
    """All hosts of a simulation. Names of hosts are their addresses."""

    seed: int
    weather: Weather = field(default_factory=Weather)
    trace: list[Piece] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.chance = random.Random(self.seed)
        self._listening: dict[tuple[str, int], _ListeningSocket] = {}
        self._ports = count(40_000)
        self._numbers = count()

    def host(self, name: str) -> Host:
        """The network as one host has it."""
        return Host(self, name)

    def listen(self, host: str, port: int) -> socket.socket:
        port = port or next(self._ports)
        if (host, port) in self._listening:
            raise ConfigError(
                f"cannot listen on {host}:{port}: another node of the simulation does"
            )
        listening = _ListeningSocket(self, (host, port))
        self._listening[host, port] = listening
        return listening

    async def connect(self, source: str, target: Any) -> socket.socket:
        await asyncio.sleep(self.delay_s())
        if self.chance.random() < self.weather.swallow:
            await asyncio.sleep(_FOR_EVER_S)
        listening = self._listening.get(target)
        if listening is None:
            raise ConnectionRefusedError(errno.ECONNREFUSED, "Connection refused")
        number = next(self._numbers)
        near, near_wire = socket.socketpair()
        far, far_wire = socket.socketpair()
        peer = (source, 50_000 + number)
        _Wire(self, number, near_wire, far_wire)
        listening.offer(_Socket(far, target, peer), peer)
        connected = _Socket(near, peer, target)
        connected.setblocking(False)
        return connected

    def delay_s(self) -> float:
        return self.chance.randint(0, self.weather.delay_max_ms) / 1000

    def close_listening(self, address: tuple[str, int]) -> None:
        self._listening.pop(address, None)


class Host:
    """A `net.network.Network`."""

    def __init__(self, network: SimNetwork, name: str) -> None:
        self._network = network
        self._name = name

    async def resolve(self, host: str, port: int) -> list[ResolvedAddress]:
        return [ResolvedAddress(socket.AF_UNIX, (host, port))]

    async def canonical_name(self, endpoint: ResolvedAddress) -> str:
        return str(endpoint.address[0])

    async def connect(self, endpoint: ResolvedAddress, buffers: SocketBuffers) -> socket.socket:
        del buffers
        return await self._network.connect(self._name, endpoint.address)

    def listen(self, host: str, port: int, backlog: int) -> socket.socket:
        del backlog
        return self._network.listen(host or self._name, port)


class _Socket(socket.socket):
    """One end of a connection, which believes that it is one of TCP."""

    def __init__(self, pair: socket.socket, own: tuple[str, int], peer: tuple[str, int]) -> None:
        super().__init__(pair.family, pair.type, pair.proto, pair.detach())
        self._own = own
        self._peer = peer

    def getsockname(self) -> Any:
        return self._own

    def getpeername(self) -> Any:
        return self._peer

    def setsockopt(self, *args: Any) -> None:
        """Nothing is to be set."""


class _ListeningSocket(socket.socket):
    """Readable while a connection waits: a bell lies in it for each."""

    def __init__(self, network: SimNetwork, address: tuple[str, int]) -> None:
        own, self._bell = socket.socketpair()
        super().__init__(own.family, own.type, own.proto, own.detach())
        self.setblocking(False)
        self._network = network
        self._address = address
        self._waiting: deque[tuple[socket.socket, tuple[str, int]]] = deque()

    def offer(self, connected: socket.socket, peer: tuple[str, int]) -> None:
        self._waiting.append((connected, peer))
        self._bell.send(b"!")

    def accept(self) -> Any:
        self.recv(1)
        return self._waiting.popleft()

    def getsockname(self) -> Any:
        return self._address

    def setsockopt(self, *args: Any) -> None:
        """Nothing is to be set."""

    def close(self) -> None:
        self._network.close_listening(self._address)
        for connected, _ in self._waiting:
            connected.close()
        self._waiting.clear()
        self._bell.close()
        super().close()


class _Wire:
    """Between the two ends of a connection: reads at one, writes at the other when the time has come."""

    def __init__(
        self, network: SimNetwork, number: int, client: socket.socket, server: socket.socket
    ) -> None:
        self.number = number
        self._network = network
        self._is_cut = False
        self._swallows = False
        self._lanes = [
            _Lane(self, client, server, to_server=True),
            _Lane(self, server, client, to_server=False),
        ]

    @property
    def is_cut(self) -> bool:
        return self._is_cut

    def admits(self, lane: _Lane, piece: bytes) -> bool:
        """Whether the piece goes on its way."""
        weather, chance = self._network.weather, self._network.chance
        if self._swallows or chance.random() < weather.swallow:
            self._swallows = True
            return False
        if chance.random() < weather.cut:
            self.note(lane, len(piece), "cut")
            self.cut()
            return False
        self.note(lane, len(piece), zlib.crc32(piece))
        return True

    def note(self, lane: _Lane, size: int, what: int | str) -> None:
        now_ms = round(asyncio.get_running_loop().time() * 1000)
        self._network.trace.append(Piece(now_ms, self.number, lane.to_server, size, what))

    def delay_s(self) -> float:
        return self._network.delay_s()

    def cut(self) -> None:
        if self._is_cut:
            return
        self._is_cut = True
        for lane in self._lanes:
            lane.unwatch()
        for lane in self._lanes:
            lane.close()


class _Lane:
    """One direction of a wire."""

    def __init__(
        self, wire: _Wire, source: socket.socket, target: socket.socket, *, to_server: bool
    ) -> None:
        self.to_server = to_server
        self._wire = wire
        self._source = source
        self._target = target
        self._arrives_s = 0.0
        self._unsent: deque[bytes] = deque()
        self._loop = asyncio.get_running_loop()
        source.setblocking(False)
        self._loop.add_reader(source, self._read)

    def unwatch(self) -> None:
        self._loop.remove_reader(self._source)
        self._loop.remove_writer(self._target)

    def close(self) -> None:
        self._source.close()

    def _read(self) -> None:
        try:
            piece = self._source.recv(_PIECE_BYTES)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            piece = b""
        if piece and not self._wire.admits(self, piece):
            return
        if not piece:
            self._loop.remove_reader(self._source)
            self._wire.note(self, 0, "end")
        self._arrives_s = max(self._arrives_s, self._loop.time() + self._wire.delay_s())
        self._loop.call_at(self._arrives_s, self._arrive, piece)

    def _arrive(self, piece: bytes) -> None:
        if self._wire.is_cut:
            return
        if not piece:
            self._wire.cut()  # one end closed its connection, and what it sent before has arrived
            return
        self._unsent.append(piece)
        self._send()

    def _send(self) -> None:
        while self._unsent:
            try:
                sent = self._target.send(self._unsent[0])
            except (BlockingIOError, InterruptedError):
                self._loop.add_writer(self._target, self._send)
                return
            except OSError:
                self._unsent.clear()  # the other end has gone; its own lane says so
                break
            if sent < len(self._unsent[0]):
                self._unsent[0] = self._unsent[0][sent:]
            else:
                self._unsent.popleft()
        self._loop.remove_writer(self._target)
