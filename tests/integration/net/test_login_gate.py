"""Logins at the edge with real sockets: deadlines, frame sizes, threads that fail, and what is left of the gate after a login."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TypeVar

import pytest

from millstream.metadata.broker_registration import SecurityProtocol
from millstream.net.server.client_connection import ClientConnection
from millstream.net.server.connection import ServerConnection
from millstream.net.server.limits import ConnectionLimits, ListenerLimits
from millstream.net.server.login_gate import LoginCounts, LoginGate, LoginRules
from millstream.net.server.request_handler import Response
from millstream.net.server.socket_server import SocketServer
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.sasl_authenticate import SaslAuthenticateRequest
from millstream.protocol.generated.sasl_handshake import SaslHandshakeRequest
from millstream.runtime import Clock
from millstream.runtime.system import SystemClock
from millstream.security.login.login import Mechanism
from millstream.security.login.mechanism import SaslAccepted, SaslRefused, SaslStep, SaslWork
from millstream.security.principal import KafkaPrincipal
from tests.integration.net.test_socket_server import HandClock
from tests.patience import LONG_ENOUGH_S, until
from tests.support.clients.raw_client import request_frame
from tests.support.freed_objects import Living

ResultT = TypeVar("ResultT")
FRAME_BYTES_MAX = 1000


class Threads:
    async def verify(self, work: Callable[[], ResultT]) -> ResultT:
        return await asyncio.to_thread(work)


class Script:
    """A mechanism: `in` lets in, `slow` in a thread, `bug` fails there; anything else is refused."""

    def answer(self, token: bytes) -> SaslStep:
        if token == b"in":
            return SaslAccepted("alice")
        if token == b"slow":
            return SaslWork(lambda: SaslAccepted("alice"))
        if token == b"bug":
            return SaslWork(lambda: SaslAccepted(str(1 // 0)))
        return SaslRefused("it says so")


@dataclass
class Echo:
    """Answers `w+...` when released; others of that kind may begin meanwhile."""

    principals: list[KafkaPrincipal] = field(default_factory=list)
    released: asyncio.Event = field(default_factory=asyncio.Event)

    def may_overlap(self, frame: memoryview) -> bool:
        return frame[:2] == b"w+"

    def handle(
        self, frame: memoryview, connection: ClientConnection
    ) -> Response | Awaitable[Response | None] | None:
        self.principals.append(connection.principal)
        answer: list[bytes | memoryview] = [struct.pack(">i", len(frame)), bytes(frame)]
        return self._later(answer) if self.may_overlap(frame) else answer

    async def _later(self, answer: Response) -> Response:
        await self.released.wait()
        return answer


@dataclass
class Edge:
    port: int
    other_port: int
    server: SocketServer
    handler: Echo

    @property
    def counts(self) -> LoginCounts:
        return self.server.login_counts["GATE"]


@dataclass
class Client:
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    def send(self, body: bytes) -> None:
        self.writer.write(struct.pack(">i", len(body)) + body)

    async def read(self) -> bytes:
        async with asyncio.timeout(LONG_ENOUGH_S):
            (size,) = struct.unpack(">i", await self.reader.readexactly(4))
            return await self.reader.readexactly(size)

    async def at_end(self) -> bool:
        async with asyncio.timeout(LONG_ENOUGH_S):
            return await self.reader.read(1) == b""

    async def begin(self) -> None:
        self.writer.write(request_frame(ApiKey.SASL_HANDSHAKE, 1, SaslHandshakeRequest("SCRIPT")))
        await self.read()

    async def token(self, token: bytes) -> bytes:
        self.writer.write(
            request_frame(ApiKey.SASL_AUTHENTICATE, 1, SaslAuthenticateRequest(token))
        )
        return await self.read()


@asynccontextmanager
async def edge(
    limits: ConnectionLimits | None = None, session_ms_max: int = 0, clock: Clock | None = None
) -> AsyncIterator[Edge]:
    server = SocketServer(limits or ConnectionLimits(), clock or SystemClock())
    port = server.bind("GATE", "127.0.0.1", 0, 10, SecurityProtocol.SASL_PLAINTEXT)
    other_port = server.bind("OTHER", "127.0.0.1", 0, 10, SecurityProtocol.SASL_PLAINTEXT)
    mechanisms = {"SCRIPT": Mechanism(Script, session_ms_max)}
    for name in ("GATE", "OTHER"):
        server.require_login(name, LoginRules(mechanisms, Threads(), FRAME_BYTES_MAX, 50))
    handler = Echo()
    serving = asyncio.get_running_loop().create_task(server.serve(handler))
    try:
        yield Edge(port, other_port, server, handler)
    finally:
        serving.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await serving


@asynccontextmanager
async def client(running: Edge, port: int | None = None) -> AsyncIterator[Client]:
    connected = Client(*await asyncio.open_connection("127.0.0.1", port or running.port))
    try:
        yield connected
    finally:
        connected.writer.close()


async def test_a_login_must_be_over_in_time(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    async with edge(ConnectionLimits(login_ms=200)) as running, client(running) as slow:
        await slow.begin()
        assert await slow.at_end()
    assert "no login within 200 ms" in caplog.text


@pytest.mark.parametrize("sent", [b"", b"GET / HTTP/1.1\r\n\r\n", b"\0\0\0\4"])
async def test_nothing_is_left_of_who_goes_before_it_has_logged_in(sent: bytes) -> None:
    """A cycle of objects that the garbage collector has frozen would stay for good."""
    connections = Living(ServerConnection)
    async with edge() as running:
        gc.disable()
        try:
            for _ in range(5):
                async with client(running) as stranger:
                    stranger.writer.write(sent)
                    await until(lambda: running.server.connection_count >= 1)
            await until(lambda: running.server.connection_count == 0)
            await until(lambda: connections.count() == 0)
        finally:
            gc.enable()


async def test_who_does_not_log_in_makes_room_for_others_and_who_has_does_not() -> None:
    """Else a flood of silent sockets would keep everybody out for as long as it lasts."""
    clock = HandClock()
    async with (
        edge(ConnectionLimits(connections_max=2), clock=clock) as running,
        client(running) as known,
        client(running) as silent,
    ):
        await known.begin()
        await known.token(b"in")
        async with client(running) as newcomer:
            await until(lambda: running.server.connection_count == 2)
            clock.monotonic_ms += 3_000
            await newcomer.begin()
            await newcomer.token(b"in")
            assert await silent.at_end()
            known.send(b"still here")
            assert await known.read() == b"still here"


async def test_one_of_a_full_listener_makes_room_there_however_old_those_of_others_are() -> None:
    clock = HandClock()
    limits = ConnectionLimits(of_listeners={"GATE": ListenerLimits(connections_max=1)})
    async with edge(limits, clock=clock) as running, client(running, running.other_port) as other:
        await other.begin()
        clock.monotonic_ms += 2_000
        async with client(running) as silent, client(running) as newcomer:
            await silent.begin()
            clock.monotonic_ms += 2_999
            await asyncio.sleep(0.1)
            assert running.server.connection_count == 2, (
                "its own time counts, not that of the other"
            )
            clock.monotonic_ms += 1
            await newcomer.begin()
            assert await silent.at_end()
            assert await other.token(b"in")


async def test_who_has_logged_in_has_no_deadline() -> None:
    async with edge(ConnectionLimits(login_ms=200)) as running, client(running) as quick:
        await quick.begin()
        await quick.token(b"in")
        await asyncio.sleep(0.3)
        quick.send(b"request")
        assert await quick.read() == b"request"


@pytest.mark.parametrize("session_ms_max", [0, 60_000])
@pytest.mark.parametrize("token", [b"in", b"slow"])
async def test_frames_may_be_large_after_the_login_and_not_before(
    token: bytes, session_ms_max: int
) -> None:
    large = b"x" * (FRAME_BYTES_MAX + 1)
    async with edge(session_ms_max=session_ms_max) as running:
        async with client(running) as early:
            early.send(large)
            assert await early.at_end()
        async with client(running) as late:
            await late.begin()
            await late.token(token)
            late.send(large)
            assert await late.read() == large
        assert running.handler.principals == [KafkaPrincipal("User", "alice")]
        assert (running.counts.successful, running.counts.failed) == (1, 0)


async def test_what_is_sent_behind_the_last_token_is_handled_as_who_logged_in() -> None:
    """In one write: the requests are in the buffer while a thread still judges."""
    async with edge() as running, client(running) as eager:
        await eager.begin()
        eager.writer.write(
            request_frame(ApiKey.SASL_AUTHENTICATE, 1, SaslAuthenticateRequest(b"slow"))
            + struct.pack(">i", FRAME_BYTES_MAX * 2)
            + b"x" * FRAME_BYTES_MAX * 2
        )
        await eager.read()
        assert await eager.read() == b"x" * FRAME_BYTES_MAX * 2
        assert running.handler.principals == [KafkaPrincipal("User", "alice")]


async def test_a_fault_in_a_thread_costs_one_connection(caplog: pytest.LogCaptureFixture) -> None:
    async with edge() as running:
        async with client(running) as unlucky:
            await unlucky.begin()
            with pytest.raises(asyncio.IncompleteReadError):
                await unlucky.token(b"bug")
        async with client(running) as other:
            await other.begin()
            await other.token(b"in")
    assert "a login of connection 1 failed" in caplog.text


async def test_who_hangs_up_while_it_waits_is_counted_and_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    async with edge() as running, client(running) as guessing:
        await guessing.begin()
        guessing.writer.write(
            request_frame(ApiKey.SASL_AUTHENTICATE, 1, SaslAuthenticateRequest(b"guess"))
        )
        await guessing.writer.drain()
        async with asyncio.timeout(LONG_ENOUGH_S):
            while not running.counts.failed:  # noqa: ASYNC110  # no event tells of it
                await asyncio.sleep(0)
    assert "may not log in: it says so" in caplog.text


async def test_the_log_has_logins_as_fields_for_programs(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    async with edge() as running:
        for token in (b"in", b"guess"):
            async with client(running) as each:
                await each.begin()
                with contextlib.suppress(asyncio.IncompleteReadError):
                    await each.token(token)
    accepted, refused = [r.audit for r in caplog.records if hasattr(r, "audit")]
    where = {"host": "127.0.0.1", "listener": "GATE"}
    assert accepted == {
        "login": "accepted", "allowed": True, "principal": "User:alice", "mechanism": "SCRIPT", "again": False, "connection": 1, **where,
    }  # fmt: skip
    assert refused == {
        "login": "refused", "allowed": False, "reason": "it says so", "again": False, "connection": 2, **where,
    }  # fmt: skip


async def test_nobody_guesses_more_often_by_closing_one_side(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A client that hangs up has what it sent before handled to the end; not after a wrong password."""
    caplog.set_level(logging.INFO)
    async with edge() as running, client(running) as guessing:
        await guessing.begin()
        tokens = (b"guess", b"guess", b"in")
        guesses = [
            request_frame(ApiKey.SASL_AUTHENTICATE, 1, SaslAuthenticateRequest(token))
            for token in tokens
        ]
        guessing.writer.write(b"".join(guesses) + struct.pack(">i", 7) + b"request")
        guessing.writer.write_eof()
        await guessing.at_end()
        await asyncio.sleep(0.1)
        assert (running.counts.successful, running.counts.failed) == (0, 1)
        assert not running.handler.principals
    assert "logged in" not in caplog.text


async def test_a_connection_without_an_end_of_its_session_leaves_the_gate() -> None:
    """So that its requests cost what they cost at a listener without logins."""
    async with edge() as running, client(running) as served:
        await served.begin()
        await served.token(b"in")
        (connection,) = running.server._connections
        assert connection._handler is running.handler
    async with edge(session_ms_max=60_000) as running, client(running) as served:
        await served.begin()
        await served.token(b"in")
        (connection,) = running.server._connections
        assert isinstance(connection._handler, LoginGate)


async def test_what_was_begun_in_a_session_is_answered_before_what_comes_after_its_end() -> None:
    """Else a producer that sends ahead would not learn that its records were written, and write them again."""
    clock = HandClock()
    async with edge(session_ms_max=60_000, clock=clock) as running, client(running) as late:
        await late.begin()
        await late.token(b"in")
        late.send(b"w+ in time")
        await until(lambda: len(running.handler.principals) == 1)
        clock.monotonic_ms += 60_001
        late.send(b"w+ too late")
        await asyncio.sleep(0.05)
        running.handler.released.set()
        assert await late.read() == b"w+ in time"
        assert await late.at_end()
        assert (len(running.handler.principals), running.counts.ended) == (1, 1)


async def test_a_listener_that_should_have_logins_is_not_served_without() -> None:
    server = SocketServer(ConnectionLimits(), SystemClock())
    server.bind("GATE", "127.0.0.1", 0, 10, SecurityProtocol.SASL_PLAINTEXT)
    try:
        with pytest.raises(
            AssertionError, match="listener GATE would be less protected than SASL_PLAINTEXT"
        ):
            await server.serve(Echo())
    finally:
        server.close()
