"""A query server with mutual TLS: instances with a certificate of its authority are answered, nobody else is."""

from __future__ import annotations

import asyncio
import ssl
from dataclasses import replace
from pathlib import Path

import pytest

from millstream.streams.host_info import HostInfo
from millstream.streams.query_server import QueryServer, QueryTls, serving
from millstream.streams.query_server.forwarding import HttpForwarder
from millstream.streams.query_server.problems import HostUnavailable
from tests.integration.clients.security.certificates import Authority
from tests.integration.streams.application.test_interactive_queries import free_port
from tests.unit.streams.query_server.two_instances import Instances

TOKEN = "the-token-of-these-instances"


def tls_of(authority: Authority, name: str) -> QueryTls:
    location = str(authority.issue(name))
    return QueryTls(keystore_location=location, truststore_location=str(authority.path))


async def test_instances_with_certificates_are_answered_and_nobody_else(tmp_path: Path) -> None:
    authority, other = Authority(tmp_path), Authority(tmp_path, "another authority")
    own = tls_of(authority, "one")
    instances = Instances()
    instance = instances.each[0]
    host = HostInfo("127.0.0.1", free_port())
    instance.config = replace(instance.config, application_server=str(host))
    async with QueryServer(instance, tls=own, token=TOKEN):
        ours = HttpForwarder(token=TOKEN, tls=tls_of(authority, "two").contexts()[1])
        assert (await ours.ask(host, "/stores/rows/rows")).status == 200
        without_token = HttpForwarder(tls=own.contexts()[1])
        assert (await without_token.ask(host, "/stores/rows/rows")).status == 401
        stranger = HttpForwarder(token=TOKEN, tls=tls_of(other, "stranger").contexts()[1])
        nobody = HttpForwarder(token=TOKEN, tls=ssl.create_default_context(cafile=authority.path))
        for each in (stranger, nobody, HttpForwarder(token=TOKEN)):
            with pytest.raises(HostUnavailable):
                await each.ask(host, "/stores/rows/rows")
    instances.close()


def test_a_connection_is_checked_to_be_for_its_host(tmp_path: Path) -> None:
    _, ours = tls_of(Authority(tmp_path), "one").contexts()
    assert ours.check_hostname


async def test_clients_that_never_shake_hands_take_no_place_of_instances(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serving._Connection, "connections_max", 4)
    own = tls_of(Authority(tmp_path), "one")
    instances = Instances()
    instance = instances.each[0]
    host = HostInfo("127.0.0.1", free_port())
    instance.config = replace(instance.config, application_server=str(host))
    async with QueryServer(instance, tls=own) as server:
        silent = [await asyncio.open_connection(host.host, host.port) for _ in range(40)]
        answer = await HttpForwarder(tls=own.contexts()[1]).ask(host, "/stores/rows/rows")
        assert answer.status == 200
        assert server._server is not None
        assert len(server._server._opening) <= 4
        ended = [reader for reader, _ in silent if reader.at_eof()]
        assert len(ended) >= 40 - 4 - 1
        for _, writer in silent:
            writer.transport.abort()
    instances.close()
