"""Which connections a server lets in, when they come too fast or are too many, with real sockets.

Rates and times are those of tests/unit/net/server/test_admission.py; here a stand-in says how long a connection waits.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import resource
import struct
import sys
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import pytest

from millstream.net.network import Network, SystemNetwork
from millstream.net.server.client_connection import ClientConnection
from millstream.net.server.limits import ConnectionLimits
from millstream.net.server.request_handler import Response
from millstream.net.server.socket_server import SocketServer
from millstream.runtime.system import SystemClock
from tests.integration.net.test_socket_server import Client, Script
from tests.patience import until

CLIENTS, BROKERS = "CLIENTS", "BROKERS"
WAIT_MS, AN_HOUR_MS = 300, 3_600_000


@dataclass
class GivenRates:
    """Waits that a test gives to the next connections; then there are none."""

    waits_ms: list[int] = field(default_factory=list)
    expulsions_ms: list[int] = field(default_factory=list)

    def record(
        self, listener_name: str, of_all_max: float | None, of_listener_max: float, now_ms: int
    ) -> int:
        return self.waits_ms.pop(0) if self.waits_ms else 0

    def record_address(
        self, listener_name: str, host: str, now_ms: int, *, counts_for_all: bool
    ) -> int:
        return self.expulsions_ms.pop(0) if self.expulsions_ms else 0


@dataclass
class Door:
    server: SocketServer
    ports: dict[str, int]
    rates: GivenRates
    clients: list[Client] = field(default_factory=list)

    async def connect(self, listener: str = CLIENTS) -> Client:
        connection = await asyncio.open_connection("127.0.0.1", self.ports[listener])
        self.clients.append(Client(*connection))
        return self.clients[-1]

    async def served(self, listener: str = CLIENTS) -> Client:
        client = await self.connect(listener)
        client.send(b"here")
        assert await client.read() == b"here"
        return client


@contextlib.asynccontextmanager
async def door(
    limits: ConnectionLimits | None = None,
    network: Network | None = None,
    *,
    keeps_descriptors: bool = True,
) -> AsyncIterator[Door]:
    rates = GivenRates()
    server = SocketServer(
        limits or ConnectionLimits(),
        SystemClock(),
        network=network,
        rates=rates,
        keeps_descriptors=keeps_descriptors,
    )
    ports = {name: server.bind(name, "127.0.0.1", 0, 50) for name in (CLIENTS, BROKERS)}
    opened = Door(server, ports, rates)
    async with asyncio.TaskGroup() as tasks:
        serving = tasks.create_task(server.serve(Script()))
        yield opened
        serving.cancel()
    for client in opened.clients:
        client.writer.close()


async def test_a_connection_that_comes_too_fast_is_let_in_after_its_wait() -> None:
    async with door() as opened:
        opened.rates.waits_ms = [WAIT_MS]
        began = time.monotonic()
        late = await opened.connect()
        late.send(b"late")
        await opened.served(BROKERS)  # another listener goes on
        assert await late.read() == b"late"
        assert time.monotonic() - began >= WAIT_MS / 1_000
        await opened.served()


async def test_one_that_comes_too_fast_from_its_address_waits_and_is_closed(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with door() as opened:
        opened.rates.expulsions_ms = [WAIT_MS]
        began = time.monotonic()
        expelled = await opened.connect()
        expelled.send(b"never")
        await opened.served()  # nobody waits for it
        assert await expelled.at_end()
        assert time.monotonic() - began >= WAIT_MS / 1_000
        assert opened.server.connection_count == 1


async def test_the_stop_waits_for_no_connection_that_waits() -> None:
    async with door() as opened:
        opened.rates.waits_ms = [AN_HOUR_MS]
        waiting = await opened.connect()
        opened.rates.expulsions_ms = [AN_HOUR_MS]
        expelled = await opened.connect(BROKERS)
        await until(lambda: len(opened.server._held) == 2)
        opened.server.stop_accepting()
        assert await waiting.at_end()
        assert await expelled.at_end()


async def test_so_many_wait_to_be_closed_that_the_oldest_goes_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """They are counted for nobody, and cost a descriptor each."""
    monkeypatch.setattr("millstream.net.server.socket_server._EXPELLED_MAX", 2)
    async with door() as opened:
        opened.rates.expulsions_ms = [AN_HOUR_MS] * 3
        oldest, *_others = [await opened.connect() for _ in range(3)]
        assert await oldest.at_end()
        assert len(opened.server._expelled) == 2


async def test_brokers_are_let_in_among_too_many_clients_and_the_most_silent_one_goes() -> None:
    limits = ConnectionLimits(connections_max=2, protected_listener=BROKERS)
    async with door(limits) as opened:
        silent, busy = await opened.served(), await opened.served()
        await opened.connect()  # a third client waits in the backlog
        await opened.served(BROKERS)
        assert await silent.at_end()
        busy.send(b"still here")
        assert await busy.read() == b"still here"
        assert opened.server.connection_count == 2


async def its_wait_is_over(opened: Door) -> None:
    """Has the one connection that waits ask for room now."""
    await until(lambda: len(opened.server._held) == 1)
    (wait,) = opened.server._held.values()
    wait._run()


async def test_a_connection_whose_wait_is_over_waits_for_room_that_others_have_taken() -> None:
    """Nobody is closed for it, however silent: only brokers have others make room."""
    async with door(ConnectionLimits(connections_max=1)) as opened:
        opened.rates.waits_ms = [AN_HOUR_MS]
        late = await opened.connect()
        late.send(b"late")
        await until(lambda: len(opened.server._held) == 1)
        silent = await opened.served(BROKERS)
        await its_wait_is_over(opened)
        silent.send(b"still here")
        assert await silent.read() == b"still here"
        assert opened.server.connection_count == 1
        silent.writer.close()
        assert await late.read() == b"late"
        late.writer.close()
        await opened.served()


async def test_the_stop_closes_one_that_waits_for_room() -> None:
    async with door(ConnectionLimits(connections_max=1)) as opened:
        opened.rates.waits_ms = [AN_HOUR_MS]
        late = await opened.connect()
        await until(lambda: len(opened.server._held) == 1)
        await opened.served(BROKERS)
        await its_wait_is_over(opened)
        opened.server.stop_accepting()
        assert await late.at_end()


async def test_one_that_cannot_be_let_in_does_not_make_its_listener_deaf(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(*_: object) -> None:
        raise OSError("no such connection")

    async with door() as opened:
        opened.rates.waits_ms = [AN_HOUR_MS]
        refused = await opened.connect()
        await until(lambda: len(opened.server._held) == 1)
        with monkeypatch.context() as patched:
            patched.setattr(opened.server, "_admit", broken)
            await its_wait_is_over(opened)
        assert await refused.at_end()
        await opened.served()


class NoDescriptorsLeft(SystemNetwork):
    def descriptor_max(self) -> int:
        return -1


async def test_the_last_descriptors_are_for_files_and_for_brokers(
    caplog: pytest.LogCaptureFixture,
) -> None:
    limits = ConnectionLimits(protected_listener=BROKERS)
    async with door(limits, NoDescriptorsLeft()) as opened:
        refused = await opened.connect()
        assert await refused.at_end()
        await opened.served(BROKERS)
    assert "nearly as many files and connections as it may" in caplog.text


async def test_controllers_may_take_the_last_descriptors() -> None:
    async with door(network=NoDescriptorsLeft(), keeps_descriptors=False) as opened:
        await opened.served()


def test_a_tenth_of_all_descriptors_is_kept_for_files(monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for allowed in (1_024, 20_000, resource.RLIM_INFINITY):
        limits = (allowed, allowed)
        monkeypatch.setattr("resource.getrlimit", lambda _, limits=limits: limits)
        found.append(SystemNetwork().descriptor_max())
    assert found == [922, 19_000, sys.maxsize]


async def test_that_connections_wait_is_said_once_in_a_while(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.WARNING, "millstream.net"):
        async with door() as opened:
            opened.rates.waits_ms = [1, 1, 1]
            for _ in range(3):
                await opened.served()
    assert caplog.messages == [
        "listener CLIENTS lets connections wait: they come too fast (max.connection.creation.rate)"
    ]


async def test_a_client_of_version_4_is_one_at_a_listener_of_version_6_too() -> None:
    """So that rules and limits about its address hold at each listener, as in Java."""
    seen: list[str] = []

    class Hosts(Script):
        def handle(self, frame: memoryview, connection: ClientConnection) -> Response:
            seen.append(connection.client_host)
            return [struct.pack(">i", len(frame)), bytes(frame)]

    server = SocketServer(ConnectionLimits(), SystemClock())
    port = server.bind(CLIENTS, "::", 0, 10)
    serving = asyncio.get_running_loop().create_task(server.serve(Hosts()))
    try:
        for host in ("127.0.0.1", "::1"):
            client = Client(*await asyncio.open_connection(host, port))
            client.send(b"here")
            assert await client.read() == b"here"
            client.writer.close()
    finally:
        serving.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await serving
    assert seen == ["127.0.0.1", "0:0:0:0:0:0:0:1"]
