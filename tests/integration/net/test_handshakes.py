"""Handshakes as a server has them: their deadline, their bound, and what becomes of those that fail. Over pairs of sockets, with a clock that a test moves."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import ssl
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import pytest

from millstream.metadata.broker_registration import SecurityProtocol
from millstream.net.server.client_connection import ClientConnection
from millstream.net.server.closings import Closings
from millstream.net.server.handshakes import (
    AGE_MS,
    HANDSHAKE_MS,
    SILENCE_MS,
    UNHEARD_MS,
    Handshakes,
)
from millstream.net.server.limits import ConnectionLimits, ListenerLimits
from millstream.net.server.request_handler import RequestHandler
from millstream.net.server.socket_server import SocketServer
from millstream.net.server.tls_socket import TlsSocket
from millstream.runtime.system import SystemClock
from millstream.security.principal import USER_TYPE, KafkaPrincipal
from tests.floods.half_handshakes import client_hello
from tests.integration.clients.security.certificates import Authority
from tests.integration.net.test_socket_server import Client, HandClock, Script
from tests.patience import until

ALICE = KafkaPrincipal(USER_TYPE, "alice")


@dataclass
class Listener:
    """A listener where everybody is Alice, or nobody."""

    context: ssl.SSLContext
    principal: KafkaPrincipal | None = ALICE

    def principal_of(self, certificate: bytes | None) -> KafkaPrincipal | None:
        del certificate
        return self.principal


@dataclass
class Server:
    """Who is told of the ends of handshakes, and the time."""

    listener: Listener
    now_ms: int = 1_000
    ended: list[tuple[int, TlsSocket | None]] = field(default_factory=list)
    clients: list[socket.socket] = field(default_factory=list)

    def on_handshake_ended(self, peer: ClientConnection, tls: TlsSocket | None) -> None:
        self.ended.append((peer.connection_id, tls))

    def handshakes(self) -> Handshakes:
        closings = Closings(lambda: self.now_ms)
        return Handshakes(self, lambda: self.now_ms / 1000, lambda: self.now_ms, closings)

    def begin(self, handshakes: Handshakes) -> socket.socket:
        """Returns the client's end."""
        here, there = socket.socketpair()
        for each in (here, there):
            each.setblocking(False)
        self.clients.append(there)
        peer = ClientConnection(len(self.clients), "10.0.0.1", 1, "SSL")
        handshakes.begin(TlsSocket(here, self.listener.context), peer, self.listener)
        return there


@pytest.fixture(scope="module")
def identity(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Authority(tmp_path_factory.mktemp("certificates")).issue("broker")


@pytest.fixture
def server(identity: Path) -> Iterator[Server]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(identity)
    server = Server(Listener(context))
    yield server
    for _, tls in server.ended:
        if tls is not None:
            tls.close()
    for client in server.clients:
        client.close()


def is_closed(client: socket.socket) -> bool:
    """Whether the end has come; an alert may stand before it."""
    try:
        while client.recv(4096):
            pass
    except BlockingIOError:
        return False
    except ConnectionResetError:
        return True
    return True


async def shake_hands(client: socket.socket) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    with context.wrap_socket(client, do_handshake_on_connect=False) as connected:
        while True:
            try:
                connected.do_handshake()
                break
            except ssl.SSLWantReadError:
                await asyncio.sleep(0.001)
        connected.detach()


async def test_a_client_that_finishes_is_handed_on_with_its_principal(
    server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    handshakes = server.handshakes()
    client = server.begin(handshakes)
    await shake_hands(client)
    await until(lambda: len(server.ended) == 1)
    assert server.ended[0][1] is not None
    assert len(handshakes) == 0
    assert handshakes.next_deadline_ms() is None
    ((told, audit),) = [(each.getMessage(), each.audit) for each in caplog.records]
    assert told.endswith(f"is {ALICE} by its certificate")
    assert (audit["login"], audit["principal"], audit["mechanism"]) == (
        "accepted", ALICE.text, "TLS",
    )  # fmt: skip


async def test_a_client_without_a_name_is_closed(server: Server) -> None:
    server.listener.principal = None
    client = server.begin(server.handshakes())
    with contextlib.suppress(OSError):
        await shake_hands(client)
    await until(lambda: server.ended == [(1, None)])


async def test_a_client_that_stands_still_is_dropped_at_its_deadline(server: Server) -> None:
    handshakes = server.handshakes()
    silent = server.begin(handshakes)
    server.now_ms += 1
    later = server.begin(handshakes)
    assert handshakes.next_deadline_ms() == 1_000 + HANDSHAKE_MS
    handshakes.close_expired(1_000 + HANDSHAKE_MS)
    assert server.ended == [(1, None)]
    assert is_closed(silent)
    assert not is_closed(later)
    handshakes.close()
    assert is_closed(later)


async def test_a_client_that_drips_bytes_has_no_more_time(server: Server) -> None:
    handshakes = server.handshakes()
    dripping = server.begin(handshakes)
    for _ in range(3):
        server.now_ms += HANDSHAKE_MS // 4
        dripping.send(b"\x16")
        await asyncio.sleep(0.01)
        if server.ended:
            return  # OpenSSL has seen that this becomes no handshake
        handshakes.close_expired(server.now_ms)
    server.now_ms += HANDSHAKE_MS // 4
    handshakes.close_expired(server.now_ms)
    assert server.ended == [(1, None)]


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> int:
    """How many may be open: a test has two descriptors for each."""
    monkeypatch.setattr("millstream.net.server.handshakes.OPEN_MAX", 40)
    return 40


def begin_all(server: Server, handshakes: Handshakes, few: int) -> None:
    for _ in range(few):
        assert handshakes.has_room()
        server.begin(handshakes)
    assert not handshakes.has_room(), "all are young: the next one waits in the backlog"


async def all_are_heard(server: Server, handshakes: Handshakes, part: bytes, few: int) -> None:
    """Each client sends the next part of its hello."""

    def are_heard() -> bool:
        silent = handshakes._silent.values()
        return len(silent) == few and set(silent) == {server.now_ms}

    for client in server.clients:
        client.send(part)
    await until(are_heard)


async def test_who_has_said_nothing_for_the_longest_time_makes_room(
    server: Server, few: int
) -> None:
    handshakes = server.handshakes()
    begin_all(server, handshakes, few)
    server.now_ms += UNHEARD_MS
    assert handshakes.has_room()
    assert server.ended == [(1, None)]
    assert is_closed(server.clients[0])
    handshakes.close()


async def test_who_falls_silent_makes_room(server: Server, few: int) -> None:
    handshakes = server.handshakes()
    begin_all(server, handshakes, few)
    await all_are_heard(server, handshakes, client_hello()[:10], few)
    server.now_ms += SILENCE_MS - 1
    assert not handshakes.has_room()
    server.now_ms += 1
    assert handshakes.has_room()
    assert server.ended == [(1, None)]
    handshakes.close()


async def test_who_goes_on_is_not_pushed_out_until_it_is_old(server: Server, few: int) -> None:
    handshakes, hello = server.handshakes(), client_hello()
    begin_all(server, handshakes, few)
    await all_are_heard(server, handshakes, hello[:10], few)
    for part in range(1, AGE_MS // SILENCE_MS + 1):
        server.now_ms += SILENCE_MS - 1
        await all_are_heard(server, handshakes, hello[10 * part : 10 * (part + 1)], few)
        assert not handshakes.has_room()
    server.now_ms = 1_000 + AGE_MS
    assert handshakes.has_room()
    assert server.ended == [(1, None)]
    handshakes.close()


async def test_who_was_not_heard_since_the_loop_stood_still_goes_on(
    server: Server, few: int
) -> None:
    handshakes = server.handshakes()
    begin_all(server, handshakes, few)
    server.clients[0].send(client_hello()[:10])
    server.now_ms += UNHEARD_MS
    assert handshakes.has_room()
    assert server.ended == [(2, None)]
    await until(lambda: len(handshakes._silent) == 1)
    handshakes.close()


async def test_so_many_who_were_not_heard_are_looked_at_for_one_place(
    server: Server, few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("millstream.net.server.handshakes._HEARD_AT_ONCE_MAX", 10)
    handshakes = server.handshakes()
    begin_all(server, handshakes, few)
    for client in server.clients:
        client.send(client_hello()[:10])
    server.now_ms += UNHEARD_MS
    assert not handshakes.has_room()
    assert len(handshakes._unheard) == few - 10
    await until(lambda: len(handshakes._silent) == few)
    assert server.ended == []
    handshakes.close()


async def test_as_many_a_second_as_are_given_their_time_keep_nobody_out(
    server: Server, few: int
) -> None:
    handshakes = server.handshakes()
    for number in range(3 * few):
        server.now_ms = 1_000 + number * UNHEARD_MS // few
        assert handshakes.has_room(), f"{number} were let in, and the next one waits"
        server.begin(handshakes)
    handshakes.close()


async def test_a_shutdown_takes_no_line_from_what_is_told(server: Server) -> None:
    handshakes = server.handshakes()
    server.begin(handshakes)
    handshakes.close()
    assert handshakes.closings.note("10.0.0.1", "the node is shutting down") == ""


async def test_what_is_no_tls_is_refused(server: Server) -> None:
    client = server.begin(server.handshakes())
    client.send(b"\x00\x00\x00\x10" + bytes(16))
    await until(lambda: server.ended == [(1, None)])
    assert is_closed(client)


async def test_a_client_that_hangs_up_is_forgotten(server: Server) -> None:
    client = server.begin(server.handshakes())
    client.close()
    await until(lambda: server.ended == [(1, None)])


async def test_a_client_that_is_gone_before_the_first_byte() -> None:
    here, there = socket.socketpair()
    there.close()
    here.close()
    with pytest.raises(OSError, match="gone"):
        TlsSocket(here, ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER))


async def test_handshakes_that_stand_still_make_room_among_all_connections(server: Server) -> None:
    """Those of a listener whose connections count: one less at SAFE is no room at FULL."""
    clock = HandClock()
    limits = ConnectionLimits(connections_max=3, of_listeners={"FULL": ListenerLimits(1)})
    node = SocketServer(limits, clock)
    secure = node.bind("SAFE", "127.0.0.1", 0, 10, SecurityProtocol.SSL)
    plain, full = (node.bind(name, "127.0.0.1", 0, 10) for name in ("OPEN", "FULL"))
    node.require_tls("SAFE", server.listener)
    async with asyncio.TaskGroup() as tasks, contextlib.AsyncExitStack() as clients:
        serving = tasks.create_task(node.serve(Script()))

        async def connect(port: int) -> Client:
            client = Client(*await asyncio.open_connection("127.0.0.1", port))
            clients.callback(client.writer.close)
            return client

        first = await connect(full)
        silent = [await connect(secure) for _ in range(2)]
        await until(lambda: node._handshakes is not None and len(node._handshakes) == 2)
        await until(lambda: node.connection_count == 1)
        shut_out, newcomer = await connect(full), await connect(plain)
        clock.monotonic_ms += UNHEARD_MS
        newcomer.send(b"here")
        assert await newcomer.read() == b"here"
        assert await silent[0].at_end()
        assert node._handshakes is not None
        assert len(node._handshakes) == 1, "and none for who comes where it is no room"
        first.writer.close()
        shut_out.send(b"here")
        assert await shut_out.read() == b"here"
        serving.cancel()


async def test_a_listener_that_should_have_tls_is_not_served_without() -> None:
    for protocol in (SecurityProtocol.SSL, SecurityProtocol.SASL_SSL):
        server = SocketServer(ConnectionLimits(), SystemClock())
        server.bind("SAFE", "127.0.0.1", 0, 10, protocol)
        try:
            with pytest.raises(AssertionError, match=f"less protected than {protocol.name}"):
                await server.serve(cast("RequestHandler", None))
        finally:
            server.close()
