"""Nodes log in at each other: a controller that is a broker too, and a broker, with SASL on every listener."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from millstream.cli.storage.command import storage
from millstream.clients import Admin, NewTopic, Producer
from millstream.clients.admin import AclBinding, Operation, ResourceType
from millstream.errors import RequestTimedOut, TopicAuthorizationFailed
from millstream.security.jaas import MODULES
from millstream.testing.node_runner import ThreadNode
from tests.patience import LONG_ENOUGH_MS, LONG_ENOUGH_S
from tests.support.sasl_node import free_ports

CLUSTER = "AAAAAAAAAAAAAAAAAAAAAw"
SESSION_MS = 1_200
USERS = 'user_node="sesame" user_alice="wonder"'
PLAIN = f'{MODULES["PLAIN"]} required username="node" password="sesame" {USERS};'


def settings(
    ports: dict[str, int], node_id: int, mechanism: str, directory: Path
) -> dict[str, str]:
    listeners = f"SASL_PLAINTEXT://127.0.0.1:{ports[f'broker {node_id}']}"
    if node_id == 1:
        listeners += f",CONTROLLER://127.0.0.1:{ports['controller']}"
    scram = f'{MODULES["SCRAM-SHA-256"]} required username="node" password="sesame";'
    return {
        "node.id": str(node_id),
        "process.roles": "broker,controller" if node_id == 1 else "broker",
        "controller.quorum.voters": f"1@127.0.0.1:{ports['controller']}",
        "listeners": listeners,
        "listener.security.protocol.map": "SASL_PLAINTEXT:SASL_PLAINTEXT,CONTROLLER:SASL_PLAINTEXT",
        "inter.broker.listener.name": "SASL_PLAINTEXT",
        "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256",
        "sasl.mechanism.inter.broker.protocol": mechanism,
        "sasl.mechanism.controller.protocol": "PLAIN",
        "listener.name.sasl_plaintext.plain.sasl.jaas.config": PLAIN,
        "listener.name.sasl_plaintext.scram-sha-256.sasl.jaas.config": scram,
        "listener.name.controller.plain.sasl.jaas.config": PLAIN,
        "offsets.topic.replication.factor": "1",
        "log.dirs": str(directory / str(node_id)),
    }  # fmt: skip


@contextmanager
def two_nodes(
    directory: Path, mechanism: str, more: dict[str, str] | None = None
) -> Iterator[dict[str, Any]]:
    """Yields the settings of a client."""
    ports = dict(free_ports("broker 1", "broker 2", "controller"))
    nodes = [
        formatted(directory, {**settings(ports, number, mechanism, directory), **(more or {})})
        for number in (1, 2)
    ]
    started: list[ThreadNode] = []
    try:
        first = nodes[0].start(LONG_ENOUGH_S)
        started.append(nodes[0])
        alice = {
            "bootstrap_servers": first.bootstrap,
            "security_protocol": "SASL_PLAINTEXT",
            "sasl_mechanism": "PLAIN",
            "sasl_username": "alice",
            "sasl_password": "wonder",
        }
        nodes[1].start(LONG_ENOUGH_S)
        started.append(nodes[1])
        yield alice
    finally:
        for node in reversed(started):
            node.stop()


def formatted(directory: Path, given: dict[str, str]) -> ThreadNode:
    """A node on a directory that was formatted with the user of nodes, as SCRAM between brokers wants it before the first one starts."""
    path = directory / f"{given['node.id']}.properties"
    path.write_text("".join(f"{key}={value}\n" for key, value in given.items()))
    user = "SCRAM-SHA-256=[name=node,password=sesame]"
    arguments = ["format", "-t", CLUSTER, "-c", str(path), "--add-scram", user]
    result = CliRunner().invoke(storage, arguments)
    assert result.exit_code == 0, result.output
    return ThreadNode(given)


RULES = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:node",
}


def test_access_rules_hold_for_who_has_logged_in(tmp_path: Path) -> None:
    """Nodes may do everything, under the name with which they log in at each other; nobody is anonymous."""
    with two_nodes(tmp_path, "SCRAM-SHA-256", RULES) as alice:
        node = {**alice, "sasl_username": "node", "sasl_password": "sesame"}

        async def main() -> None:
            rule = AclBinding(
                resource_type=ResourceType.TOPIC,
                resource_name="t",
                principal="User:alice",
                operation=Operation.DESCRIBE,
            )
            async with (
                Admin(**node, default_api_timeout_ms=LONG_ENOUGH_MS) as of_node,
                Admin(**alice) as of_alice,
            ):
                (await of_node.create_topics([NewTopic("t", 1, 2)])).raise_errors()
                assert not await of_alice.list_topics()
                (await of_node.create_acls([rule])).raise_errors()
                async with asyncio.timeout(LONG_ENOUGH_S):
                    while not await of_alice.list_topics():  # noqa: ASYNC110  # of the broker that asks second
                        await asyncio.sleep(0.02)
                with pytest.raises(TopicAuthorizationFailed):
                    (await of_alice.delete_topics(["t"])).raise_errors()
            async with Producer(**node, acks="all") as producer:
                await (await producer.send("t", b"value"))

        asyncio.run(main())


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256"])
def test_a_broker_registers_follows_and_forwards(
    tmp_path: Path, mechanism: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    with two_nodes(tmp_path, mechanism) as client:

        async def main() -> None:
            async with Admin(**client, default_api_timeout_ms=LONG_ENOUGH_MS) as admin:
                (await admin.create_topics([NewTopic("t", 1, 2)])).raise_errors()
            async with Producer(**client, acks="all") as producer:
                await (await producer.send("t", b"value"))
            async with Admin(**client) as admin:
                topic = (await admin.describe_topics(["t"]))["t"]
                assert len(topic.partitions[0].isr) == 2

        asyncio.run(main())
    logins = [each.getMessage() for each in caplog.records if "logged in" in each.getMessage()]
    assert any("on CONTROLLER logged in as User:node with PLAIN" in each for each in logins)
    assert any(
        f"on SASL_PLAINTEXT logged in as User:node with {mechanism}" in each for each in logins
    )


def test_a_broker_with_a_wrong_password_does_not_get_in(tmp_path: Path) -> None:
    ports = dict(free_ports("broker 1", "broker 2", "controller"))
    given = settings(ports, 2, "PLAIN", tmp_path)
    key = "listener.name.controller.plain.sasl.jaas.config"
    wrong = {
        **given,
        key: PLAIN.replace('password="sesame"', 'password="wrong"'),
        "initial.broker.registration.timeout.ms": "1000",
    }
    first = formatted(tmp_path, settings(ports, 1, "PLAIN", tmp_path))
    first.start(LONG_ENOUGH_S)
    try:
        with pytest.raises(RequestTimedOut):
            formatted(tmp_path, wrong).start(LONG_ENOUGH_S)
    finally:
        first.stop()


def three_nodes(directory: Path, ports: dict[str, int]) -> list[ThreadNode]:
    """Controllers and brokers at once, whose sessions end after little more than a second."""
    voters = ",".join(f"{number}@127.0.0.1:{ports[f'controller {number}']}" for number in (1, 2, 3))
    nodes = []
    for number in (1, 2, 3):
        given = settings(
            {**ports, "controller": ports[f"controller {number}"]}, number, "PLAIN", directory
        )
        listeners = f"SASL_PLAINTEXT://127.0.0.1:{ports[f'broker {number}']},CONTROLLER://127.0.0.1:{ports[f'controller {number}']}"
        more = {
            "process.roles": "broker,controller",
            "controller.quorum.voters": voters,
            "listeners": listeners,
            "connections.max.reauth.ms": str(SESSION_MS),
            "millstream.flush.on.ack": "never",
        }
        nodes.append(formatted(directory, {**given, **more}))
    return nodes


@pytest.mark.nodes
def test_a_cluster_goes_on_over_the_ends_of_sessions(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Votes, fetches of the metadata log, heartbeats, AlterPartition and replication: each of their connections logs in again (KIP-368)."""
    caplog.set_level(logging.INFO)
    names = [f"{role} {number}" for role in ("broker", "controller") for number in (1, 2, 3)]
    ports = dict(free_ports(*names))
    nodes = three_nodes(tmp_path, ports)
    for node in nodes:
        node.begin()
    try:
        bootstrap = [node.wait_until_ready(LONG_ENOUGH_S).bootstrap for node in nodes]
        asyncio.run(produce_over_sessions(bootstrap))
    finally:
        for node in nodes:
            node.ask(lambda process: process.request_stop())
        for node in nodes:
            node.wait_until_ended()
    told = [each.getMessage() for each in caplog.records]
    again = [each for each in told if "logged in again as User:node with PLAIN" in each]
    assert {each.partition(" on ")[2].split()[0] for each in again} == {
        "CONTROLLER",
        "SASL_PLAINTEXT",
    }


async def produce_over_sessions(bootstrap: list[str]) -> None:
    client = {
        "bootstrap_servers": ",".join(bootstrap),
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": "PLAIN",
        "sasl_username": "alice",
        "sasl_password": "wonder",
        "default_api_timeout_ms": LONG_ENOUGH_MS,
    }
    async with Admin(**client) as admin:
        (await admin.create_topics([NewTopic("t", 3, 3)])).raise_errors()
    del client["default_api_timeout_ms"]
    async with Producer(**client, acks="all") as producer:
        end = asyncio.get_running_loop().time() + 2.5 * SESSION_MS / 1000
        while asyncio.get_running_loop().time() < end:
            await (await producer.send("t", b"value"))
    async with Admin(**client) as admin:
        topic = (await admin.describe_topics(["t"]))["t"]
        assert [len(partition.isr) for partition in topic.partitions] == [3, 3, 3]
