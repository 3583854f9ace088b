"""Nodes speak TLS among themselves: brokers, controllers and their quorum, with certificates on both sides, and new ones while they run."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from millstream.broker.config.security_table import STANDARD_AUTHORIZER
from millstream.cli.storage.command import storage
from millstream.clients import Admin, NewTopic, Producer
from millstream.clients.admin import (
    AclBinding,
    AlterConfig,
    ConfigResource,
    ConfigResourceType,
    Operation,
    ResourceType,
)
from millstream.errors import ConfigError, InvalidRequest, RequestTimedOut
from millstream.testing.node_runner import ThreadNode
from tests.integration.clients.security.certificates import Authority
from tests.patience import LONG_ENOUGH_MS, LONG_ENOUGH_S
from tests.support.sasl_node import free_ports

CLUSTER = "AAAAAAAAAAAAAAAAAAAAAw"


def settings(ports: dict[str, int], node_id: int, directory: Path) -> dict[str, str]:
    """Two nodes: a controller that is a broker too, and a broker. Both listeners want certificates."""
    listeners = f"SSL://127.0.0.1:{ports[f'broker {node_id}']}"
    if node_id == 1:
        listeners += f",CONTROLLER://127.0.0.1:{ports['controller']}"
    return {
        "node.id": str(node_id),
        "process.roles": "broker,controller" if node_id == 1 else "broker",
        "controller.quorum.voters": f"1@127.0.0.1:{ports['controller']}",
        "listeners": listeners,
        "listener.security.protocol.map": "SSL:SSL,CONTROLLER:SSL",
        "inter.broker.listener.name": "SSL",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(directory / f"node{node_id}.pem"),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(directory / "test-authority.pem"),
        "ssl.client.auth": "required",
        "offsets.topic.replication.factor": "1",
        "log.dirs": str(directory / f"data{node_id}"),
    }  # fmt: skip


def formatted(directory: Path, given: dict[str, str]) -> ThreadNode:
    path = directory / f"{given['node.id']}.properties"
    path.write_text("".join(f"{key}={value}\n" for key, value in given.items()))
    result = CliRunner().invoke(storage, ["format", "-t", CLUSTER, "-c", str(path)])
    assert result.exit_code == 0, result.output
    return ThreadNode(given)


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    authority = Authority(tmp_path)
    for name in ("node1", "node2", "client"):
        authority.issue(name)
    return authority


@contextlib.contextmanager
def two_nodes(
    directory: Path, ports: dict[str, int], more: Mapping[str, str] | None = None
) -> Iterator[dict[str, Any]]:
    """Yields the settings of a client. `more` settings of both nodes."""
    nodes = [
        formatted(directory, settings(ports, number, directory) | dict(more or {}))
        for number in (1, 2)
    ]
    started: list[ThreadNode] = []
    try:
        first = nodes[0].start(LONG_ENOUGH_S)
        started.append(nodes[0])
        nodes[1].start(LONG_ENOUGH_S)
        started.append(nodes[1])
        yield {
            "bootstrap_servers": first.bootstrap,
            "security_protocol": "SSL",
            "ssl_ca_location": str(directory / "test-authority.pem"),
            "ssl_keystore_location": str(directory / "client.pem"),
        }
    finally:
        for node in reversed(started):
            node.stop()


async def is_replicated(client: dict[str, Any], topic: str) -> None:
    async with Admin(**client, default_api_timeout_ms=LONG_ENOUGH_MS) as admin:
        (await admin.create_topics([NewTopic(topic, 2, 2)])).raise_errors()
    async with Producer(**client, acks="all") as producer:
        for n in range(20):
            await (await producer.send(topic, b"value" * 10_000, key=str(n).encode()))
    async with Admin(**client) as admin:
        described = (await admin.describe_topics([topic]))[topic]
        assert [len(each.isr) for each in described.partitions] == [2, 2]


def test_a_broker_registers_follows_and_forwards(tmp_path: Path, authority: Authority) -> None:
    del authority
    ports = dict(free_ports("broker 1", "broker 2", "controller"))
    with two_nodes(tmp_path, ports) as client:
        asyncio.run(is_replicated(client, "t"))
        for name, port in ports.items():
            context = ssl.create_default_context(cafile=tmp_path / "test-authority.pem")
            context.load_cert_chain(tmp_path / "client.pem")
            assert speaks_tls(port, context), name


def test_access_rules_hold_for_the_names_in_certificates(
    tmp_path: Path, authority: Authority
) -> None:
    """Nodes may do everything under the names in theirs; of clients that the same authority knows the one that a rule names."""
    authority.issue("admin")
    authority.issue("stranger")
    ports = dict(free_ports("broker 1", "broker 2", "controller"))
    rules = {
        "authorizer.class.name": STANDARD_AUTHORIZER,
        "super.users": "User:CN=node1;User:CN=node2;User:CN=admin",
    }
    with two_nodes(tmp_path, ports, rules) as client:

        def named(name: str) -> dict[str, Any]:
            return client | {"ssl_keystore_location": str(tmp_path / f"{name}.pem")}

        async def main() -> None:
            rule = AclBinding(
                resource_type=ResourceType.TOPIC,
                resource_name="t",
                principal="User:CN=client",
                operation=Operation.DESCRIBE,
            )
            async with Admin(**named("admin"), default_api_timeout_ms=LONG_ENOUGH_MS) as admin:
                (await admin.create_topics([NewTopic("t", 1, 2)])).raise_errors()
                (await admin.create_acls([rule])).raise_errors()
            async with Admin(**client) as known, Admin(**named("stranger")) as stranger:
                async with asyncio.timeout(LONG_ENOUGH_S):
                    while not await known.list_topics():  # noqa: ASYNC110  # a broker tells nobody when it has learned
                        await asyncio.sleep(0.02)
                assert not await stranger.list_topics()

        asyncio.run(main())


def speaks_tls(port: int, context: ssl.SSLContext) -> bool:
    with (
        socket.create_connection(("127.0.0.1", port), timeout=LONG_ENOUGH_S) as plain,
        context.wrap_socket(plain, server_hostname="127.0.0.1") as connected,
    ):
        return connected.version() == "TLSv1.3"


def test_new_certificates_while_nodes_work_together(tmp_path: Path, authority: Authority) -> None:
    """The listener of brokers takes a new key that others believe, and refuses one that they would not."""
    ports = dict(free_ports("broker 1", "broker 2", "controller"))
    stranger = Authority(tmp_path, "another authority")
    stranger.issue("node1-strange")
    with two_nodes(tmp_path, ports) as client:

        async def set_store(name: str) -> None:
            resource = ConfigResource(ConfigResourceType.BROKER, "1")
            key = "listener.name.ssl.ssl.keystore.location"
            async with Admin(**client) as admin:
                changes = {resource: [AlterConfig(key, str(tmp_path / f"{name}.pem"))]}
                (await admin.incremental_alter_configs(changes)).raise_errors()

        authority.issue("node1")
        asyncio.run(set_store("node1"))
        asyncio.run(is_replicated(client, "t"))
        with pytest.raises(InvalidRequest, match="is for CN=node1-strange"):
            asyncio.run(set_store("node1-strange"))
        (tmp_path / "strange.pem").write_bytes(stranger.issue("node1").read_bytes())
        authority.issue("node1")
        with pytest.raises(InvalidRequest, match="other nodes could not connect at listener SSL"):
            asyncio.run(set_store("strange"))
        asyncio.run(is_replicated(client, "u"))


def test_what_was_set_while_a_node_ran_counts_after_its_restart(
    tmp_path: Path, authority: Authority
) -> None:
    """Also where it would not have been let through while it ran: the file has changed since."""
    given = {
        "listeners": "SSL://127.0.0.1:0",
        "inter.broker.listener.name": "SSL",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(tmp_path / "node1.pem"),
        "log.dirs": str(tmp_path / "data"),
    }
    later = authority.issue("later")
    later.write_bytes(authority.issue("node1").read_bytes())
    node = ThreadNode(given)
    client = {
        "bootstrap_servers": node.start(LONG_ENOUGH_S).bootstrap,
        "security_protocol": "SSL",
        "ssl_ca_location": str(tmp_path / "test-authority.pem"),
    }

    async def set_store() -> None:
        resource = ConfigResource(ConfigResourceType.BROKER, "1")
        change = AlterConfig("listener.name.ssl.ssl.keystore.location", str(later))
        async with Admin(**client) as admin:
            (await admin.incremental_alter_configs({resource: [change]})).raise_errors()

    asyncio.run(set_store())
    node.stop()
    later.write_bytes(authority.issue("node2").read_bytes())
    again = ThreadNode(given)
    port = int(again.start(LONG_ENOUGH_S).bootstrap.rpartition(":")[2])
    try:
        context = ssl.create_default_context(cafile=tmp_path / "test-authority.pem")
        with (
            socket.create_connection(("127.0.0.1", port), timeout=LONG_ENOUGH_S) as plain,
            context.wrap_socket(plain, server_hostname="127.0.0.1") as connected,
        ):
            shown = connected.getpeercert()
            assert shown is not None
            assert shown["subject"] == ((("commonName", "node2"),),)
    finally:
        again.stop()


def test_a_broker_that_nobody_believes_does_not_get_in(
    tmp_path: Path, authority: Authority
) -> None:
    del authority
    Authority(tmp_path, "another authority").issue("stranger")
    ports = dict(free_ports("broker 1", "broker 2", "controller"))
    strange = {
        **settings(ports, 2, tmp_path),
        "listener.name.controller.ssl.keystore.location": str(tmp_path / "stranger.pem"),
        "initial.broker.registration.timeout.ms": "1000",
    }
    first = formatted(tmp_path, settings(ports, 1, tmp_path))
    first.start(LONG_ENOUGH_S)
    try:
        with pytest.raises(RequestTimedOut):
            formatted(tmp_path, strange).start(LONG_ENOUGH_S)
    finally:
        first.stop()


def test_stores_that_do_not_fit_each_other_are_refused_at_the_start(
    tmp_path: Path, authority: Authority
) -> None:
    """As in Kafka: nodes connect to each other with the stores of their listener."""
    del authority
    Authority(tmp_path, "another authority")
    ports = dict(free_ports("broker 1", "broker 2", "controller"))
    alone = settings(ports, 1, tmp_path) | {
        "ssl.truststore.location": str(tmp_path / "another-authority.pem")
    }
    with pytest.raises(ConfigError, match="other nodes could not connect at listener"):
        formatted(tmp_path, alone).start(LONG_ENOUGH_S)


@pytest.mark.nodes
def test_three_controllers_elect_one_and_three_brokers_replicate(
    tmp_path: Path, authority: Authority
) -> None:
    """Votes, fetches of the metadata log, heartbeats and replication, all over TLS with certificates on both sides."""
    authority.issue("node3")
    names = [f"{role} {number}" for role in ("broker", "controller") for number in (1, 2, 3)]
    ports = dict(free_ports(*names))
    voters = ",".join(f"{number}@127.0.0.1:{ports[f'controller {number}']}" for number in (1, 2, 3))
    nodes = []
    for number in (1, 2, 3):
        own = {**ports, "controller": ports[f"controller {number}"]}
        given = settings(own, number, tmp_path) | {
            "process.roles": "broker,controller",
            "controller.quorum.voters": voters,
            "listeners": f"SSL://127.0.0.1:{ports[f'broker {number}']},CONTROLLER://127.0.0.1:{ports[f'controller {number}']}",
            "millstream.flush.on.ack": "never",
        }
        nodes.append(formatted(tmp_path, given))
    for node in nodes:
        node.begin()
    try:
        bootstrap = [node.wait_until_ready(LONG_ENOUGH_S).bootstrap for node in nodes]
        client = {
            "bootstrap_servers": ",".join(bootstrap),
            "security_protocol": "SSL",
            "ssl_ca_location": str(tmp_path / "test-authority.pem"),
            "ssl_keystore_location": str(tmp_path / "client.pem"),
        }
        asyncio.run(is_replicated(client, "t"))
    finally:
        for node in nodes:
            node.ask(lambda process: process.request_stop())
        for node in nodes:
            node.wait_until_ended()
