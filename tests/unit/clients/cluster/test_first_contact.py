"""How long a client waits for a cluster that refuses: `bootstrap_wait_ms` before it was ever connected, no limit after.

And that nobody waits in silence for what the cluster does not have.
"""

from __future__ import annotations

import asyncio
import socket
import sys
from typing import Any

import pytest

from millstream.clients.cluster import metadata_refresh
from millstream.clients.cluster.cluster import Cluster
from millstream.clients.cluster.metadata_refresh import MetadataRefresh
from millstream.clients.config import ClientConfig
from millstream.clients.config.settings import parse_settings
from millstream.errors import (
    BrokerNotAvailable,
    RebootstrapRequired,
    RequestTimedOut,
    RetriableError,
)
from millstream.net.client.connections import AllRefused
from millstream.net.client.tasks import TaskScope
from millstream.net.network import Environment, ResolvedAddress, SocketBuffers
from millstream.protocol.generated.metadata import MetadataRequest, MetadataResponse
from millstream.runtime import Instant
from millstream.runtime.system import SystemRandom


class World:
    """A network where nothing listens, and a clock that a test sets. `unknown` names are not known."""

    def __init__(self) -> None:
        self.now_ms = 5_000
        self.unknown: set[str] = set()
        self.silent: set[str] = set()

    def now(self) -> Instant:
        return Instant(self.now_ms, self.now_ms)

    def wall_ms(self) -> int:
        return self.now_ms

    async def resolve(self, host: str, port: int) -> list[ResolvedAddress]:
        if host in self.unknown:
            raise socket.gaierror("Name or service not known")
        return [ResolvedAddress(socket.AF_INET, (host, port))]

    async def canonical_name(self, endpoint: ResolvedAddress) -> str:
        return str(endpoint.address[0])

    async def connect(self, endpoint: ResolvedAddress, buffers: SocketBuffers) -> socket.socket:
        del buffers
        if endpoint.address[0] in self.silent:
            raise TimeoutError
        raise ConnectionRefusedError

    def descriptor_max(self) -> int:
        return sys.maxsize

    def listen(self, host: str, port: int, backlog: int) -> socket.socket:
        raise AssertionError("clients do not listen")


def cluster_in(world: World, **settings: Any) -> Cluster:
    waits: dict[str, Any] = {"reconnect_backoff_ms": 0, "reconnect_backoff_max_ms": 0}
    config = parse_settings(ClientConfig, {"bootstrap_servers": "a:1,b:2"} | waits | settings)
    environment = Environment(world, SystemRandom(), world)
    return Cluster(config, TaskScope("test"), environment)


async def test_a_cluster_that_refuses_is_tried_for_bootstrap_wait_ms() -> None:
    """From the first refusal on. Until then the error is one that calls follow by another try."""
    world = World()
    cluster = cluster_in(world, bootstrap_wait_ms=1_000)
    for now_ms in (5_000, 5_999):
        world.now_ms = now_ms
        with pytest.raises(AllRefused) as early:
            await cluster.any_connection()
        assert isinstance(early.value, RetriableError)
    world.now_ms = 6_000
    with pytest.raises(BrokerNotAvailable, match="a:1: refused; nothing listens there") as late:
        await cluster.any_connection()
    assert not isinstance(late.value, RetriableError)
    assert "tried for 1000 ms: set bootstrap_wait_ms to wait longer" in str(late.value)


async def test_without_a_wait_the_first_try_decides() -> None:
    cluster = cluster_in(World(), bootstrap_wait_ms=0)
    with pytest.raises(BrokerNotAvailable) as failed:
        await cluster.any_connection()
    assert "bootstrap_wait_ms" not in str(failed.value)


async def test_a_name_that_is_not_known_counts_as_a_refusal() -> None:
    world = World()
    world.unknown = {"a", "b"}
    cluster = cluster_in(world, bootstrap_wait_ms=0)
    with pytest.raises(BrokerNotAvailable, match="its name cannot be resolved"):
        await cluster.any_connection()


async def test_one_address_that_is_silent_is_waited_for() -> None:
    """It may be slow, or the way to it: that is no certainty."""
    world = World()
    world.silent = {"b"}
    cluster = cluster_in(world, bootstrap_wait_ms=0)
    with pytest.raises(RetriableError):
        await cluster.any_connection()


async def test_a_client_that_has_been_connected_waits_for_a_cluster_that_refuses() -> None:
    """It restarts: calls try again until their own time limit."""
    world = World()
    cluster = cluster_in(world, bootstrap_wait_ms=0)
    cluster._connections.has_connected = True
    world.now_ms += 600_000
    with pytest.raises(AllRefused):
        await cluster.any_connection()


async def test_a_caller_that_waits_for_metadata_hears_of_it_before_its_time_limit() -> None:
    """The limit is an hour: only the refusal can end the wait."""
    world = World()
    cluster = cluster_in(world, bootstrap_wait_ms=0)
    async with asyncio.timeout(60):
        with pytest.raises(BrokerNotAvailable, match="nothing listens there"):
            await cluster.topic("orders", world.now_ms + 3_600_000)
    await cluster._scope.close()


async def test_a_caller_that_waits_for_metadata_is_told_so_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Here at once, instead of after a second; the same wait is not told again within a minute."""
    monkeypatch.setattr(metadata_refresh, "SILENT_MS", 0)
    world = World()
    cluster = cluster_in(world)
    monkeypatch.setattr(cluster._refresh, "_ensure_task", lambda: None)
    for _ in range(2):
        waiting = asyncio.ensure_future(cluster.topic("orders", world.now_ms + 3_600_000))
        await asyncio.sleep(0)
        waiting.cancel()
    told = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert told == ["topic 'orders' is not in the cluster's metadata; still waiting"]
    await cluster._scope.close()


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (MetadataResponse(), "the broker that answered knows of none in service"),
        (
            MetadataResponse(error_code=RebootstrapRequired.code),
            "the broker asked to begin again with the bootstrap servers",
        ),
    ],
)
async def test_an_answer_that_is_of_no_use_is_told_to_who_waits(
    answer: MetadataResponse, told: str
) -> None:
    """A broker that is fenced answers, and names no broker."""
    world = World()
    cluster = cluster_in(world)

    async def ask(_request: MetadataRequest) -> tuple[MetadataResponse, int]:
        world.now_ms += 1_000
        return answer, 13

    refresh = MetadataRefresh(
        cluster.metadata,
        cluster._scope,
        cluster.now_ms,
        cluster._connections,
        ask=ask,
        observer=lambda: None,
    )
    with pytest.raises(RequestTimedOut, match=f"no metadata; the last attempt to fetch it: {told}"):
        await refresh.until(lambda: None, world.now_ms + 500, "no metadata")
    await cluster._scope.close()
