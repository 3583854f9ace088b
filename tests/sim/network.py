"""A simulated network: real sockets at both ends, and between them wires that delay, cut, hold back and swallow.

All ends may be in one virtual loop, or each host in one of its own beside that of the wires. Chance is seeded. `trace` notes each piece
that went over a wire: two runs of the same seed have the same.
"""

from __future__ import annotations

import asyncio
import errno
import random
import socket
import sys
import zlib
from collections import deque
from dataclasses import dataclass, field
from itertools import count
from typing import Any, NamedTuple

from millstream.errors import ConfigError
from millstream.net.network import ResolvedAddress, SocketBuffers

_PIECE_BYTES = 64 * 1024
_FOR_EVER_S = 365 * 86_400.0
_REQUEST_BEGINS_BYTES = 6
"""Its length, and the key of its API. A piece is a request, or some of them, mostly."""
_CONNECTS_AGAIN_S = 0.25
"""A packet that opens a connection and is lost comes again; the system's second would be another second of each partition."""


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


class Held(NamedTuple):
    """What a host asks at a port with one API; or the answers to that."""

    source: str
    port: int
    api_key: int
    is_answer: bool


@dataclass
class SimNetwork:
    """All hosts of a simulation. Names of hosts are their addresses."""

    seed: int
    weather: Weather = field(default_factory=Weather)
    trace: list[Piece] = field(default_factory=list)
    loop: asyncio.AbstractEventLoop | None = None
    """That of the wires; None where hosts and wires share one."""

    def __post_init__(self) -> None:
        self.chance = random.Random(self.seed)
        self._listening: dict[tuple[str, int], _ListeningSocket] = {}
        self._ports = count(40_000)
        self._numbers = count()
        self._wires: dict[int, _Wire] = {}
        self._closed: set[tuple[str, str]] = set()
        self._silent: set[str] = set()
        self._held: set[Held] = set()

    @property
    def wire_loop(self) -> asyncio.AbstractEventLoop:
        return self.loop or asyncio.get_running_loop()

    # Links between hosts

    def close_link(self, source: str, target: str) -> None:
        """From now on nothing gets from one host to the other. What is on its way waits, as what TCP sends again does."""
        self._closed.add((source, target))

    def open_link(self, source: str, target: str) -> None:
        self._closed.discard((source, target))
        for wire in list(self._wires.values()):
            wire.link_opened(source, target)

    def open_all_links(self) -> None:
        for source, target in sorted(self._closed):
            self.open_link(source, target)
        for held in sorted(self._held):
            self.let_go(held)

    def hold(self, held: Held) -> None:
        """From now on those requests, or answers to them, wait on every connection; others arrive."""
        self._held.add(held)

    def let_go(self, held: Held) -> None:
        self._held.discard(held)
        for wire in list(self._wires.values()):
            wire.link_opened(*wire.hosts)
            wire.link_opened(*wire.hosts[::-1])

    def is_held(self, held: Held) -> bool:
        return held in self._held

    def is_open(self, source: str, target: str) -> bool:
        return (source, target) not in self._closed

    def _reaches(self, source: str, target: str) -> bool:
        """Whether a connection can be made."""
        both_ways = self.is_open(source, target) and self.is_open(target, source)
        return both_ways and target not in self._silent

    def cut_between(self, one: str, other: str) -> None:
        """Breaks the connections that there are; new ones can be made."""
        for wire in [each for each in self._wires.values() if set(each.hosts) == {one, other}]:
            wire.cut()

    # Hosts that go

    def end_process(self, host: str, *, silently: bool = False) -> None:
        """The process on a host is gone. The others are told, unless the host has lost its power: then what they send vanishes until it is back."""
        for address in [each for each in self._listening if each[0] == host]:
            del self._listening[address]
        for wire in [each for each in self._wires.values() if host in each.hosts]:
            if silently:
                wire.lose(host)
            else:
                wire.cut()
        if silently:
            self._silent.add(host)

    def begin_process(self, host: str) -> None:
        """Whoever still speaks to the process before is told that it is gone."""
        self._silent.discard(host)

    def is_silent(self, host: str) -> bool:
        return host in self._silent

    def forget(self, wire: int) -> None:
        self._wires.pop(wire, None)

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
        host = target[0]
        while not self._reaches(source, host):  # noqa: ASYNC110 - packets are sent again, nobody tells
            await asyncio.sleep(_CONNECTS_AGAIN_S)
        listening = self._listening.get(target)
        if listening is None:
            raise ConnectionRefusedError(errno.ECONNREFUSED, "Connection refused")
        number = next(self._numbers)
        near, near_wire = socket.socketpair()
        far, far_wire = socket.socketpair()
        peer = (source, 50_000 + number)
        self._wires[number] = _Wire(self, number, (source, host), (near_wire, far_wire))
        self._wires[number].port = target[1]
        listening.offer(_Socket(far, target, peer), peer)
        connected = _Socket(near, peer, target)
        connected.setblocking(False)
        return connected

    def delay_s(self) -> float:
        return self.chance.randint(0, self.weather.delay_max_ms) / 1000

    def close_listening(self, listening: _ListeningSocket) -> None:
        if self._listening.get(listening.address) is listening:
            del self._listening[listening.address]


class Host:
    """A `net.network.Network`, for one process on that host."""

    def __init__(self, network: SimNetwork, name: str) -> None:
        self._network = network
        self._name = name
        self._is_severed = False

    def sever(self) -> None:
        """From now on the process reaches nobody."""
        self._is_severed = True

    async def resolve(self, host: str, port: int) -> list[ResolvedAddress]:
        return [ResolvedAddress(socket.AF_UNIX, (host, port))]

    async def canonical_name(self, endpoint: ResolvedAddress) -> str:
        return str(endpoint.address[0])

    async def connect(self, endpoint: ResolvedAddress, buffers: SocketBuffers) -> socket.socket:
        del buffers
        if self._is_severed:
            raise OSError(errno.ENETUNREACH, "Network is unreachable")
        return await self._network.connect(self._name, endpoint.address)

    def descriptor_max(self) -> int:
        return sys.maxsize

    def listen(self, host: str, port: int, backlog: int) -> socket.socket:
        del backlog
        assert not self._is_severed, "who is about to end listens to nobody anew"
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
        self.address = address
        self._waiting: deque[tuple[socket.socket, tuple[str, int]]] = deque()

    def offer(self, connected: socket.socket, peer: tuple[str, int]) -> None:
        self._waiting.append((connected, peer))
        self._bell.send(b"!")

    def accept(self) -> Any:
        self.recv(1)
        return self._waiting.popleft()

    def getsockname(self) -> Any:
        return self.address

    def setsockopt(self, *args: Any) -> None:
        """Nothing is to be set."""

    def close(self) -> None:
        self._network.close_listening(self)
        for connected, _ in self._waiting:
            connected.close()
        self._waiting.clear()
        self._bell.close()
        super().close()


class _Wire:
    """Between the two ends of a connection: reads at one, writes at the other when the time has come."""

    def __init__(
        self,
        network: SimNetwork,
        number: int,
        hosts: tuple[str, str],
        ends: tuple[socket.socket, socket.socket],
    ) -> None:
        """`hosts` and `ends`: the client's, then the server's."""
        self.number = number
        self.hosts = hosts
        self.port = 0
        """That the server listens at."""
        self._api_key = -1
        """Of the last request: clients of a cluster have connections for what waits, and others."""
        self.loop = network.wire_loop
        self._network = network
        self._is_cut = False
        self._swallows = False
        self._lost: str | None = None
        self._lanes = [
            _Lane(self, *ends, to_server=True),
            _Lane(self, *ends[::-1], to_server=False),
        ]

    @property
    def is_cut(self) -> bool:
        return self._is_cut

    def link(self, lane: _Lane) -> tuple[str, str]:
        return self.hosts if lane.to_server else self.hosts[::-1]

    def is_held(self, lane: _Lane) -> bool:
        held = Held(self.hosts[0], self.port, self._api_key, is_answer=not lane.to_server)
        return self._network.is_held(held) or not self._network.is_open(*self.link(lane))

    def link_opened(self, source: str, target: str) -> None:
        for lane in self._lanes:
            if self.link(lane) == (source, target) and not self.is_held(lane):
                lane.go_on()

    def lose(self, host: str) -> None:
        """One end is gone, and cannot tell the other."""
        self._lost = host

    def is_lost_at(self, lane: _Lane) -> bool:
        """Whether it is the sender who is gone."""
        return self.link(lane)[0] == self._lost

    def admits(self, lane: _Lane, piece: bytes) -> bool:
        """Whether the piece goes on its way."""
        weather, chance = self._network.weather, self._network.chance
        if self._lost is not None:
            if not self.is_lost_at(lane) and not self._network.is_silent(self._lost):
                self.note(lane, len(piece), "reset")
                self.cut()
            return False
        if self._swallows or chance.random() < weather.swallow:
            self._swallows = True
            return False
        if chance.random() < weather.cut:
            self.note(lane, len(piece), "cut")
            self.cut()
            return False
        if lane.to_server and len(piece) >= _REQUEST_BEGINS_BYTES:
            self._api_key = int.from_bytes(piece[4:6], "big")
        self.note(lane, len(piece), zlib.crc32(piece))
        return True

    def note(self, lane: _Lane, size: int, what: int | str) -> None:
        now_ms = round(self.loop.time() * 1000)
        self._network.trace.append(Piece(now_ms, self.number, lane.to_server, size, what))

    def delay_s(self) -> float:
        return self._network.delay_s()

    def cut(self) -> None:
        if self._is_cut:
            return
        self._is_cut = True
        self._network.forget(self.number)
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
        self._under_way: deque[bytes] = deque()
        self._held: deque[bytes] = deque()
        self._unsent: deque[bytes] = deque()
        self._loop = wire.loop
        source.setblocking(False)
        self._loop.add_reader(source, self._read)

    def unwatch(self) -> None:
        self._loop.remove_reader(self._source)
        self._loop.remove_writer(self._target)

    def close(self) -> None:
        self._source.close()

    def go_on(self) -> None:
        """The link is open again: what waited arrives, in its order."""
        held, self._held = self._held, deque()
        for piece in held:
            self._arrive(piece)

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
            if self._wire.is_lost_at(self):
                return
            self._wire.note(self, 0, "end")
        self._arrives_s = max(self._arrives_s, self._loop.time() + self._wire.delay_s())
        self._under_way.append(piece)
        self._loop.call_at(self._arrives_s, self._arrive_next)

    def _arrive_next(self) -> None:
        """Timers of the same time come in any order; what was sent does not."""
        if self._wire.is_cut:
            return
        piece = self._under_way.popleft()
        if self._held or self._wire.is_held(self):
            self._held.append(piece)
        else:
            self._arrive(piece)

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
