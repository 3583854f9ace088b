"""Nodes of Apache Kafka and of ours that know each other by certificates: mutual TLS between brokers and between controllers.

Clients come in at a listener of their own, where nobody may do what nodes do.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from millstream.clients import Admin
from millstream.clients.admin import AclBinding, Operation, ResourceType
from tests.integration.clients.security.certificates import Authority
from tests.oracle.cluster.loads import Loads, everything
from tests.oracle.cluster.nodes import Kind, Node, Nodes
from tests.oracle.cluster.replicas import REPLICATED, equal, lead, replicated
from tests.oracle.cluster.work import led_by
from tests.patience import LONG_ENOUGH_S, eventually
from tests.support.kafka_node import NEEDS_KAFKA, free_port

pytestmark = [*NEEDS_KAFKA, pytest.mark.timeout(900)]
KINDS: Final = {1: Kind.OURS, 2: Kind.KAFKA, 3: Kind.OURS}
PARTITIONS: Final = 3
ROTATED: Final = ([1, 2, 3], [2, 3, 1], [3, 1, 2])
PROTOCOLS: Final = {"PLAINTEXT": "PLAINTEXT", "INTERNAL": "SSL", "CONTROLLER": "SSL"}
SETTINGS: Final = {
    **REPLICATED,
    "listener.security.protocol.map": ",".join(f"{n}:{p}" for n, p in PROTOCOLS.items()),
    "inter.broker.listener.name": "INTERNAL",
    "ssl.keystore.type": "PEM",
    "ssl.truststore.type": "PEM",
    "listener.name.internal.ssl.client.auth": "required",
    "listener.name.controller.ssl.client.auth": "required",
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": ";".join(f"User:CN=node-{number}" for number in KINDS),
}
OF_CLIENTS: Final = {
    ResourceType.TOPIC: ("*", [Operation.ALL]),
    ResourceType.GROUP: ("*", [Operation.ALL]),
    ResourceType.CLUSTER: ("kafka-cluster", [Operation.CREATE, Operation.ALTER]),
}
"""Not CLUSTER_ACTION, which is what nodes do with each other."""


@dataclass(frozen=True)
class TlsNodes:
    nodes: Nodes
    directory: Path
    internal_ports: dict[int, int]

    def certificate(self, number: int) -> str:
        return str(self.directory / f"node-{number}.pem")

    @property
    def authority(self) -> str:
        return str(self.directory / "test-authority.pem")

    def internal_client(self, number: int) -> dict[str, Any]:
        """The settings of a client that comes in as a node."""
        return {
            "bootstrap_servers": f"127.0.0.1:{self.internal_ports[number]}",
            "security_protocol": "SSL",
            "ssl_ca_location": self.authority,
            "ssl_keystore_location": self.certificate(number),
        }


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TlsNodes]:
    directory = tmp_path_factory.mktemp("nodes")
    authority = Authority(directory)
    ports = {number: free_port() for number in KINDS}
    members = []
    for number, kind in KINDS.items():
        own = {
            "listeners": f"PLAINTEXT://{{client}},INTERNAL://127.0.0.1:{ports[number]},CONTROLLER://{{controller}}",
            "ssl.keystore.location": str(authority.issue(f"node-{number}")),
            "ssl.truststore.location": str(authority.path),
        }
        members.append(Node(number, kind, settings=own))
    with Nodes(directory, members, settings=SETTINGS) as nodes:
        running = TlsNodes(nodes, directory, ports)
        asyncio.run(let_clients_in(running))
        yield running
        assert nodes.complaints() == []


async def let_clients_in(cluster: TlsNodes) -> None:
    """Whoever comes without a certificate may use topics and groups. Returns when all nodes know it."""
    rules = {
        AclBinding(
            resource_type=resource,
            resource_name=name,
            principal="User:ANONYMOUS",
            operation=operation,
        )
        for resource, (name, operations) in OF_CLIENTS.items()
        for operation in operations
    }
    async with Admin(**cluster.internal_client(1)) as admin:
        (await admin.create_acls(rules)).raise_errors()
    for number in KINDS:
        async with Admin(**cluster.internal_client(number)) as admin:

            async def are_known(admin: Admin = admin) -> bool:
                return set(await admin.describe_acls()) >= rules

            await eventually(are_known)


async def test_each_kind_leads_and_follows_the_other(cluster: TlsNodes, tmp_path: Path) -> None:
    """Partitions and the quorum; what is acknowledged is on all replicas, byte by byte."""
    nodes = cluster.nodes
    for kind in Kind:
        await led_by(nodes, kind)
        topic = await replicated(nodes, ROTATED)
        async with Loads(nodes, topic, PARTITIONS, tmp_path) as loads:
            for leading in Kind:
                await lead(nodes, topic, nodes.of_kind(leading)[0])
                await loads.go_on()
        loads.check(await everything(nodes, topic, PARTITIONS))
        await equal(nodes, topic)


def test_no_node_lets_anybody_in_without_a_certificate(cluster: TlsNodes) -> None:
    context = ssl.create_default_context(cafile=cluster.authority)
    for number, port in cluster.internal_ports.items():
        controller_port = int(cluster.nodes.controller_address(number).rpartition(":")[2])
        for each in (port, controller_port):
            with pytest.raises(ssl.SSLError, match=r"(?i)certificate"):
                read_something(each, context)


def read_something(port: int, context: ssl.SSLContext) -> None:
    """With TLS 1.3 a client hears with its first bytes that its certificate is missed."""
    with (
        socket.create_connection(("127.0.0.1", port), LONG_ENOUGH_S) as plain,
        context.wrap_socket(plain, server_hostname="127.0.0.1") as connection,
    ):
        connection.recv(1)
