"""Broken requests, a few thousand of the million that `make fuzz` throws: nothing falls over, and nobody else notices."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct

from millstream.broker.requests.registry import HANDLERS
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.api_versions import ApiVersionsRequest
from millstream.testing.broker import Broker
from tests.fuzz import logins, tls
from tests.fuzz.requests import Pools, RequestSource
from tests.fuzz.run import WITH_RULES, fuzz
from tests.support.clients.raw_client import RawClient


def test_the_dispatcher_survives_broken_requests() -> None:
    report = asyncio.run(fuzz(4000, seed=20))
    assert report.findings == []
    assert report.requests == 4000
    assert report.outcomes["answered"] > 500
    assert report.outcomes["closed"] > 500


def test_the_dispatcher_survives_them_while_it_asks_access_rules() -> None:
    report = asyncio.run(fuzz(2000, seed=21, settings=WITH_RULES))
    assert report.findings == []
    assert report.requests == 2000


def test_broken_logins_let_nobody_in() -> None:
    report = logins.throw(4000, seed=22)
    assert report.findings == []
    assert {"GoOn", "PassOn", "TurnAway"} == set(report.outcomes)


def test_a_password_that_was_guessed_would_be_noticed() -> None:
    assert "was let in" in logins.throw(200, seed=22, password=logins.GUESS).findings[0]


def test_broken_tls_gives_errors_of_a_socket_and_no_other_bytes() -> None:
    report = tls.throw(2000, seed=23)
    assert report.findings == []
    assert report.outcomes["received"] > 50
    assert report.outcomes["SSLError"] > 50


def test_the_same_seed_breaks_the_same_way() -> None:
    first, second = (RequestSource(7, HANDLERS, Pools()) for _ in range(2))
    assert [first.frame() for _ in range(300)] == [second.frame() for _ in range(300)]


def test_other_connections_are_served_while_sockets_are_flooded_with_broken_requests() -> None:
    source = RequestSource(8, HANDLERS, Pools())
    with Broker(settings={"auto.create.topics.enable": "false"}) as broker:
        host, _, port = broker.bootstrap_servers.rpartition(":")
        with RawClient(broker.bootstrap_servers) as bystander:
            for _ in range(60):
                with socket.create_connection((host, int(port)), 10) as flooding:
                    _flood(flooding, [bytes(source.frame()) for _ in range(20)])
                served = bystander.ask(ApiKey.API_VERSIONS, 3, ApiVersionsRequest("test", "1"))
                assert served.error_code == 0


def _flood(flooding: socket.socket, frames: list[bytes]) -> None:
    """The broker may close the connection in the middle of it."""
    with contextlib.suppress(ConnectionError):
        for frame in frames:
            flooding.sendall(struct.pack(">i", len(frame)) + frame)
