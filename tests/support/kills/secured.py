"""A node with TLS, logins and access rules, on which an application that is killed has the rights of the guide and no others.

Two listeners: clients of the application log in at one of them, over TLS; at the other the test prepares and checks, and may do everything.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final
from unittest import mock

import orjson

from millstream.broker.config.security_table import STANDARD_AUTHORIZER
from millstream.clients import Admin
from millstream.clients.admin import AclFilter, ScramMechanism, UpsertScramCredential
from millstream.streams.topology import Topology
from millstream.testing.broker import TEST_SETTINGS
from millstream.testing.node_runner import SubprocessNode
from tests.integration.clients.security.certificates import Authority
from tests.patience import WAITS_FOR_CLUSTER, eventually
from tests.support.rights import of_application, rights
from tests.support.sasl_node import free_ports

_USER: Final = "counter"
_PASSWORD: Final = "sesame"
_VARIABLE: Final = "MILLSTREAM_TEST_KILL_LOGIN"
_START_S: Final = 60.0


def login(*, is_secure: bool) -> dict[str, Any]:
    """The settings with which clients of the application log in; none where the node is open to everybody."""
    return dict(orjson.loads(os.environ[_VARIABLE])) if is_secure else {}


class SecuredBroker:
    """It keeps its ports and its data when it is killed."""

    def __init__(self, directory: Path, settings: Mapping[str, str]) -> None:
        self._addresses = {
            name: f"127.0.0.1:{port}" for name, port in free_ports("OPEN", "SECURED")
        }
        authority = Authority(directory)
        self._authority = authority.path
        key = authority.issue("node")
        self._settings = {
            **TEST_SETTINGS,
            **settings,
            "listeners": ",".join(f"{name}://{at}" for name, at in self._addresses.items()),
            "listener.security.protocol.map": "OPEN:PLAINTEXT,SECURED:SASL_SSL,CONTROLLER:PLAINTEXT",
            "inter.broker.listener.name": "OPEN",
            "listener.name.secured.sasl.enabled.mechanisms": "SCRAM-SHA-512",
            "listener.name.secured.ssl.keystore.type": "PEM",
            "listener.name.secured.ssl.keystore.location": str(key),
            "authorizer.class.name": STANDARD_AUTHORIZER,
            "super.users": "User:ANONYMOUS",
            "log.dirs": str(directory / "data"),
        }
        self._node = SubprocessNode(self._settings)
        self._node.start(_START_S)

    @property
    def bootstrap_servers(self) -> str:
        """Where everybody may do everything."""
        return self._addresses["OPEN"]

    @property
    def pid(self) -> int:
        assert self._node.pid is not None, "it was started"
        return self._node.pid

    @property
    def login(self) -> dict[str, Any]:
        return {
            "bootstrap_servers": self._addresses["SECURED"],
            "security_protocol": "SASL_SSL",
            "sasl_mechanism": "SCRAM-SHA-512",
            "sasl_username": _USER,
            "sasl_password": _PASSWORD,
            "ssl_truststore_location": str(self._authority),
        }

    def kill(self) -> None:
        self._node.kill()

    def restart(self) -> None:
        """Starts a node over what is left of the one that was killed."""
        self._node = SubprocessNode(self._settings)
        self._node.start(_START_S)


@contextmanager
def secured_broker(settings: Mapping[str, str]) -> Iterator[SecuredBroker]:
    """Processes that are started meanwhile find the login in their environment."""
    with tempfile.TemporaryDirectory(prefix="secured-") as directory:
        broker = SecuredBroker(Path(directory), settings)
        with mock.patch.dict(os.environ, {_VARIABLE: orjson.dumps(broker.login).decode()}):
            try:
                yield broker
            finally:
                broker.kill()


async def allow(servers: str, application: str, topology: Topology) -> None:
    """Makes the user, who may do what the guide says for this application exactly once, and nothing else."""
    topics = [topology.topics_of(group, application) for group in topology.sub_topologies]
    sources = _of_users(application, {topic for each in topics for topic in each.sources})
    sinks = _of_users(application, {topic for each in topics for topic in each.sinks})
    table = of_application(rights("Exactly once"), application, sources, sinks)
    rules = {right.rule(_USER) for right in table}
    async with Admin(**WAITS_FOR_CLUSTER, bootstrap_servers=servers) as admin:
        user = UpsertScramCredential(_USER, ScramMechanism.SCRAM_SHA_512, _PASSWORD, 4096)
        (await admin.alter_user_scram_credentials([user])).raise_errors()
        (await admin.create_acls(rules)).raise_errors()

        async def are_known() -> bool:
            return set(await admin.describe_acls(AclFilter())) == rules

        await eventually(are_known)


def _of_users(application: str, topics: Collection[str]) -> list[str]:
    """Those that are not the application's own."""
    return sorted(name for name in topics if not name.startswith(f"{application}-"))
