"""The edge with real sockets and a handler that answers what the test tells it to."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import socket
import struct
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path

import pytest

from millstream.errors import ConfigError, KafkaStorageError, MalformedMessage, ProtocolError
from millstream.net.server.client_connection import ClientConnection
from millstream.net.server.limits import ConnectionLimits
from millstream.net.server.request_handler import Response
from millstream.net.server.socket_server import SocketServer
from millstream.net.server.turns import TURN_S
from millstream.runtime import Clock, File, Instant
from millstream.runtime.system import SystemClock, SystemFileSystem
from tests.patience import LONG_ENOUGH_S, until

PAUSE_MS = 500


def framed(body: bytes) -> bytes:
    return struct.pack(">i", len(body)) + body


@dataclass
class Script:
    """Echoes. `wait...` is answered when released, `w+...` too but overlapping, `none` is silent.

    `wait stubbornly` is not even cancelled before. `bad` breaks the protocol; `w+bad` is found to when it is released.
    """

    released: asyncio.Event = field(default_factory=asyncio.Event)
    started: list[bytes] = field(default_factory=list)
    cancelled: int = 0
    pause_ms: int = PAUSE_MS
    responses: dict[bytes, Response] = field(default_factory=dict)

    def may_overlap(self, frame: memoryview) -> bool:
        return frame[:2] == b"w+"

    def handle(
        self, frame: memoryview, connection: ClientConnection
    ) -> Response | Awaitable[Response | None] | None:
        body = bytes(frame)
        self.started.append(body)
        if body in {b"bad", b"w+malformed"}:
            raise MalformedMessage("bad on purpose", message="Test", version=0, field="x", offset=0)
        if body == b"bug":
            raise ZeroDivisionError("a bug in the handler")
        if body == b"none":
            return None
        if body == b"pause":
            assert connection.pause is not None, "it has a socket"
            connection.pause(self.pause_ms)
        if body.startswith((b"wait", b"w+")):
            return self._wait(body)
        return self.responses.get(body, [framed(body)])

    async def _wait(self, body: bytes) -> Response:
        try:
            await self.released.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            if body == b"wait stubbornly":
                await self.released.wait()
            raise
        if body == b"w+bad":
            raise ProtocolError("bad on purpose")
        return [framed(body)]


@dataclass
class Stretch:
    file: File
    position: int
    length: int

    def __len__(self) -> int:
        return self.length

    def read(self) -> bytes:
        return self.file.read_at(self.position, self.length)


@dataclass
class Client:
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    def send(self, *bodies: bytes) -> None:
        self.writer.write(b"".join(map(framed, bodies)))

    async def read(self) -> bytes:
        async with asyncio.timeout(LONG_ENOUGH_S):
            (size,) = struct.unpack(">i", await self.reader.readexactly(4))
            return await self.reader.readexactly(size)

    async def at_end(self) -> bool:
        """The server closed the connection."""
        async with asyncio.timeout(LONG_ENOUGH_S):
            try:
                return await self.reader.read(1) == b""
            except ConnectionError:
                return True


@dataclass
class Edge:
    server: SocketServer
    port: int
    script: Script
    clients: list[Client] = field(default_factory=list)

    async def connect(self) -> Client:
        client = Client(*await asyncio.open_connection("127.0.0.1", self.port))
        self.clients.append(client)
        return client

    async def has_started(self, *bodies: bytes) -> None:
        """Just these requests, however much time the server has for more."""
        await until(lambda: len(self.script.started) >= len(bodies))
        await asyncio.sleep(0.05)
        assert self.script.started == list(bodies)


@dataclass
class HandClock:
    """Goes on when a test says so."""

    monotonic_ms: int = 0

    def now(self) -> Instant:
        return Instant(0, self.monotonic_ms)


@contextlib.asynccontextmanager
async def edge(
    limits: ConnectionLimits | None = None,
    clock: Clock | None = None,
    now_s: Callable[[], float] = time.perf_counter,
) -> AsyncIterator[Edge]:
    script = Script()
    server = SocketServer(limits or ConnectionLimits(), clock or SystemClock(), now_s)
    running = Edge(server, server.bind("TEST", "127.0.0.1", 0, 50), script)
    async with asyncio.TaskGroup() as tasks:
        serving = tasks.create_task(server.serve(script))
        yield running
        serving.cancel()
    for client in running.clients:
        client.writer.close()


async def test_requests_of_one_read_are_answered_in_order() -> None:
    async with edge() as running:
        client = await running.connect()
        client.send(b"one", b"none", b"two")
        assert [await client.read(), await client.read()] == [b"one", b"two"]


async def test_a_request_is_not_started_while_an_earlier_one_waits() -> None:
    async with edge() as running:
        client = await running.connect()
        client.send(b"wait", b"next")
        await running.has_started(b"wait")
        running.script.released.set()
        assert [await client.read(), await client.read()] == [b"wait", b"next"]


async def test_overlapping_requests_start_at_once_and_are_answered_in_order() -> None:
    async with edge() as running:
        client = await running.connect()
        client.send(b"w+1", b"w+2", b"other", b"w+3")
        await running.has_started(b"w+1", b"w+2")
        running.script.released.set()
        assert [await client.read() for _ in range(4)] == [b"w+1", b"w+2", b"other", b"w+3"]


async def test_broken_protocol_closes_that_connection_with_one_log_line(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with edge() as running:
        good, bad = await running.connect(), await running.connect()
        with caplog.at_level(logging.INFO, "millstream.net"):
            bad.send(b"bad", b"never")
            assert await bad.at_end()
        good.send(b"fine")
        assert await good.read() == b"fine"
        assert len(caplog.records) == 1
        assert "bad on purpose" in caplog.text
        assert running.script.started == [b"bad", b"fine"]


async def test_a_bug_in_the_handler_costs_its_own_connection(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Also when the request had to wait for an earlier one and is started from a task."""
    async with edge() as running:
        good, bad, late = [await running.connect() for _ in range(3)]
        bad.send(b"bug")
        assert await bad.at_end()
        late.send(b"wait", b"bug")
        await running.has_started(b"bug", b"wait")
        running.script.released.set()
        assert await late.read() == b"wait"
        assert await late.at_end()
        good.send(b"fine")
        assert await good.read() == b"fine"
        assert caplog.text.count("ZeroDivisionError: a bug in the handler") == 2


async def test_a_response_that_cannot_be_read_costs_its_own_connection() -> None:
    class Unreadable:
        def __len__(self) -> int:
            return 10

        def read(self) -> bytes:
            raise KafkaStorageError("the disk is gone")

    async with edge() as running:
        running.script.responses[b"file"] = [b"head", Unreadable()]
        client, other = await running.connect(), await running.connect()
        client.send(b"file")
        assert await client.at_end()
        other.send(b"fine")
        assert await other.read() == b"fine"


async def test_a_frame_above_the_limit_closes_the_connection() -> None:
    async with edge(ConnectionLimits(request_bytes_max=100)) as running:
        client = await running.connect()
        client.send(b"x" * 100)
        assert await client.read() == b"x" * 100
        client.send(b"x" * 101)
        assert await client.at_end()


async def test_a_waiting_request_is_cancelled_when_its_client_goes() -> None:
    async with edge() as running:
        client = await running.connect()
        client.send(b"wait")
        await running.has_started(b"wait")
        client.writer.close()
        await until(lambda: running.script.cancelled == 1)
        await until(lambda: running.server.connection_count == 0)


async def test_a_connection_with_too_many_unanswered_requests_is_not_read() -> None:
    async with edge(ConnectionLimits(requests_in_flight_max=3)) as running:
        client = await running.connect()
        for count in range(1, 4):
            client.send(b"w+")
            await running.has_started(*[b"w+"] * count)
        client.send(b"w+ fourth")
        await running.has_started(*[b"w+"] * 3)
        running.script.released.set()
        assert [await client.read() for _ in range(4)][-1] == b"w+ fourth"


async def test_who_holds_too_much_memory_is_not_read_and_everybody_else_is() -> None:
    async with edge(ConnectionLimits(request_bytes_held_max=100_000)) as running:
        greedy, other = await running.connect(), await running.connect()
        large = b"w+" + b"x" * 100_000
        greedy.send(large)
        await running.has_started(large)
        other.send(b"w+ other")
        await running.has_started(large, b"w+ other")
        greedy.send(b"w+ more")
        await running.has_started(large, b"w+ other")
        other.send(b"w+ more of the other")
        await running.has_started(large, b"w+ other", b"w+ more of the other")
        running.script.released.set()
        assert [len(await greedy.read()), await greedy.read()] == [100_002, b"w+ more"]


async def test_frames_that_are_only_announced_hold_nobody_up() -> None:
    async with edge(ConnectionLimits(request_bytes_held_max=200 << 20, frame_ms=10**9)) as running:
        for _ in range(3):
            announcing = await running.connect()
            announcing.writer.write(struct.pack(">i", 100 << 20) + b"some")
        other = await running.connect()
        other.send(b"fine")
        assert await other.read() == b"fine"


async def test_no_request_is_started_while_an_answer_is_left_unread() -> None:
    async with edge(ConnectionLimits(stalled_write_ms=300)) as running:
        running.script.responses[b"big"] = [framed(bytes(32 << 20))]
        client = await running.connect()
        client.send(*[b"big"] * 50)
        await running.has_started(b"big")
        await until(lambda: not running.server.connection_count)
        assert running.script.started == [b"big"]


async def test_requests_go_on_when_the_answer_before_them_is_read() -> None:
    async with edge() as running:
        running.script.responses[b"big"] = [framed(bytes(32 << 20))]
        client = await running.connect()
        client.send(b"big", b"next", b"big", b"last")
        await running.has_started(b"big")
        assert [len(await client.read()) for _ in range(4)] == [32 << 20, 4, 32 << 20, 4]


async def test_who_takes_no_answers_for_the_longest_time_makes_room_when_answers_fill_the_memory() -> (
    None
):
    async with edge(ConnectionLimits(unsent_bytes_max=40 << 20)) as running:
        running.script.responses[b"big"] = [framed(bytes(32 << 20))]
        first, second = await running.connect(), await running.connect()
        first.send(b"big")
        await running.has_started(b"big")
        assert running.server.connection_count == 2
        second.send(b"big")
        await until(lambda: running.server.connection_count == 1)
        assert len(await second.read()) == 32 << 20


async def test_each_connection_has_its_turn_however_much_another_has_sent() -> None:
    """Every look at the clock takes a second, so that every turn is over after one request."""
    seconds = count()
    async with edge(now_s=lambda: float(next(seconds))) as running:
        greedy, other = await running.connect(), await running.connect()
        greedy.send(*[b"many"] * 2000)
        other.send(b"one", b"two", b"three")
        assert [await other.read() for _ in range(3)] == [b"one", b"two", b"three"]
        assert running.script.started.count(b"many") < 100
        assert [await greedy.read() for _ in range(2000)] == [b"many"] * 2000


async def test_idle_connections_are_closed_and_busy_ones_are_not() -> None:
    clock = HandClock()
    async with edge(ConnectionLimits(idle_ms=100), clock) as running:
        idle, busy = await running.connect(), await running.connect()
        busy.send(b"wait")
        await running.has_started(b"wait")
        clock.monotonic_ms += 100
        assert await idle.at_end()
        running.script.released.set()
        assert await busy.read() == b"wait"


async def test_a_frame_that_never_completes_closes_its_connection() -> None:
    async with edge(ConnectionLimits(frame_ms=200)) as running:
        client = await running.connect()
        client.writer.write(b"\x00\x00\x00\x10half")
        assert await client.at_end()


async def test_accepted_sockets_have_the_options_asked_for() -> None:
    limits = ConnectionLimits(send_buffer_bytes=50_000, receive_buffer_bytes=60_000)
    async with edge(limits) as running:
        client = await running.connect()
        client.send(b"a")
        assert await client.read() == b"a"
        (connection,) = running.server._connections
        accepted = connection._socket
        assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) == 1
        assert accepted.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
        assert (
            accepted.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF) == 2 * 50_000
        )  # Linux doubles
        assert accepted.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF) == 2 * 60_000


async def test_accepting_takes_a_turn_however_many_come() -> None:
    """Else a flood of connections would keep those waiting that are there."""
    times_s = count(0.0, 0.6 * TURN_S)
    async with edge(now_s=lambda: next(times_s)) as running:
        await asyncio.sleep(0)  # it serves
        address = ("127.0.0.1", running.port)
        coming = [socket.create_connection(address) for _ in range(6)]
        ((name, listening),) = running.server._listeners
        let_in = []
        for _ in range(4):
            running.server._accept(name, listening)
            let_in.append(running.server.connection_count)
        assert let_in == [2, 4, 6, 6]
        for each in coming:
            each.close()


async def test_connections_beyond_the_limits_are_refused() -> None:
    async with edge(ConnectionLimits(connections_per_host_max=1)) as running:
        first = await running.connect()
        first.send(b"a")
        assert await first.read() == b"a"
        assert await (await running.connect()).at_end()
        first.writer.close()
        await until(lambda: not running.server.connection_count)
        third = await running.connect()
        third.send(b"c")
        assert await third.read() == b"c"


async def test_connections_beyond_all_that_may_be_wait_for_room() -> None:
    async with edge(ConnectionLimits(connections_max=1)) as running:
        first = await running.connect()
        first.send(b"a")
        assert await first.read() == b"a"
        second = await running.connect()
        second.send(b"b")
        await running.has_started(b"a")
        first.writer.close()
        assert await second.read() == b"b"


async def test_a_limit_that_is_raised_lets_in_who_waits() -> None:
    limits = ConnectionLimits(connections_max=0)
    async with edge(limits) as running:
        client = await running.connect()
        client.send(b"a")
        await running.has_started()
        running.server.change_limits(replace(limits, connections_max=1))
        assert await client.read() == b"a"


async def test_an_address_may_have_a_limit_of_its_own() -> None:
    limits = ConnectionLimits(
        connections_per_host_max=0, connections_per_host_overrides={"127.0.0.1": 1}
    )
    async with edge(limits) as running:
        first = await running.connect()
        first.send(b"a")
        assert await first.read() == b"a"
        assert await (await running.connect()).at_end()


async def test_what_is_sent_behind_a_waiting_request_holds_nobody_else_up_and_is_not_lost() -> None:
    async with edge() as running:
        client, other = await running.connect(), await running.connect()
        behind = [b"%d" % number for number in range(20_000)]
        client.send(b"wait", *behind)
        await running.has_started(b"wait")
        other.send(b"x")
        assert await other.read() == b"x"
        assert running.script.started == [b"wait", b"x"]
        (held,) = running.server.request_memory._held.values()
        assert held <= 64 * 1024, "the rest is not even read"
        running.script.released.set()
        assert [await client.read() for _ in range(20_001)] == [b"wait", *behind]


async def test_a_client_that_hangs_up_is_seen_behind_everything_it_left_unread() -> None:
    async with edge() as running:
        client = await running.connect()
        client.send(b"wait", *[b"x" * 1000] * 100)
        await running.has_started(b"wait")
        client.writer.close()
        await until(lambda: running.script.cancelled == 1)
        await until(lambda: running.server.connection_count == 0)


async def test_a_client_that_resets_its_connection_is_seen_while_its_request_waits() -> None:
    async with edge() as running:
        client = await running.connect()
        client.send(b"wait", *[b"x" * 1000] * 100)
        await running.has_started(b"wait")
        connected: socket.socket = client.writer.get_extra_info("socket")
        connected.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        client.writer.transport.abort()
        await until(lambda: running.script.cancelled == 1)
        await until(lambda: running.server.connection_count == 0)


async def test_what_a_client_sent_before_it_hung_up_is_still_handled() -> None:
    """Some of it may want no answer, and be lost otherwise."""
    async with edge() as running:
        client = await running.connect()
        client.send(b"wait", *[b"none"] * 12_000, b"wait too", b"last")
        await running.has_started(b"wait")
        client.writer.close()
        await until(lambda: running.script.started[-1] == b"last")
        assert running.script.started.count(b"none") == 12_000
        await until(lambda: running.script.cancelled == 2)
        await until(lambda: running.server.connection_count == 0)


async def test_a_client_that_only_sends_no_more_has_its_answers() -> None:
    async with edge() as running:
        client = await running.connect()
        client.send(b"one", b"two")
        client.writer.write_eof()
        assert [await client.read(), await client.read()] == [b"one", b"two"]
        assert await client.at_end()


async def test_long_stretches_of_a_file_arrive_whole_with_a_slow_reader(tmp_path: Path) -> None:
    content = os.urandom(24 << 20)
    path = tmp_path / "log"
    path.write_bytes(content)
    file = SystemFileSystem().open_read_only(str(path))

    async with edge() as running:
        lengths = (20 << 20, 5, 100_000)
        head = struct.pack(">i", sum(lengths) + 6)
        stretches = [Stretch(file, 1000 * n, length) for n, length in enumerate(lengths)]
        running.script.responses[b"file"] = [
            head,
            b"ab",
            stretches[0],
            b"cd",
            stretches[1],
            stretches[2],
            b"ef",
        ]
        client = await running.connect()
        client.send(b"file", b"after")
        await asyncio.sleep(0.1)
        body = await client.read()
        parts = [content[s.position : s.position + s.length] for s in stretches]
        assert body == b"ab" + parts[0] + b"cd" + parts[1] + parts[2] + b"ef"
        assert await client.read() == b"after"
    file.close()


async def test_draining_waits_for_answers_and_refuses_newcomers() -> None:
    async with edge() as running:
        client = await running.connect()
        client.send(b"wait")
        await running.has_started(b"wait")
        assert not await running.server.drain(0.05)
        with pytest.raises(ConnectionRefusedError):
            await running.connect()
        running.script.released.set()
        assert await running.server.drain(LONG_ENOUGH_S)
        assert await client.read() == b"wait"


@pytest.mark.parametrize(
    ("host", "port", "sentence"),
    [
        ("127.0.0.1", 70_000, "port 70000 is out of range"),
        ("127.0.0.1", -1, "port -1 is out of range"),
        ("192.0.2.77", 0, "this machine has no such address"),
        ("no.such.host.invalid", 0, "give an address of this machine"),
    ],
)
async def test_a_port_that_cannot_be_had_is_named(host: str, port: int, sentence: str) -> None:
    server = SocketServer(ConnectionLimits(), SystemClock())
    with pytest.raises(ConfigError, match=sentence):
        server.bind("TEST", host, port, 50)


async def test_a_busy_port_is_named() -> None:
    first = SocketServer(replace(ConnectionLimits(), idle_ms=1), SystemClock())
    port = first.bind("TEST", "127.0.0.1", 0, 50)
    second = SocketServer(ConnectionLimits(), SystemClock())
    with pytest.raises(ConfigError, match=f"127.0.0.1:{port}: another process uses that port"):
        second.bind("TEST", "127.0.0.1", port, 50)
    first.close()
