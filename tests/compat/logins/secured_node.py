"""A node of ours or of Apache Kafka with the same settings: users who log in, by every mechanism, over TLS and without, and access rules."""

from __future__ import annotations

import uuid
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from millstream.clients.admin import (
    AclBinding,
    NewTopic,
    Operation,
    PatternType,
    ResourceType,
    UpsertScramCredential,
)
from millstream.clients.blocking import Admin
from millstream.security.jaas import MODULES
from millstream.security.scram import ScramMechanism
from tests.integration.clients.security.certificates import Authority
from tests.oracle.cluster.nodes import Kind, Node, Nodes
from tests.patience import wait_until
from tests.support.sasl_node import MECHANISMS, PASSWORD, USER, TokenIssuer, free_ports, settings_of

SASL_LISTENERS: Final = ("SASL_PLAINTEXT", "SASL_SSL")
WRITER, STRANGER = "writer", "stranger"
"""A user who may write and not read, and one of whom no rule speaks."""
TOPICS: Final = "topic-"
"""With what the names of topics begin that users have rights to."""
ITS_CERTIFICATE: Final = "app-one"
OLD: Final = "OLD"
"""The listener with TLS whose own certificate has expired."""
_MAPPED: Final = "one"
"""Who shows that certificate."""


@dataclass(frozen=True)
class SecuredNode:
    open_bootstrap: str
    addresses: dict[str, str]
    """Of the listeners where users log in, and of SSL, where they show a certificate."""
    directory: Path
    issuer: TokenIssuer
    another_issuer: TokenIssuer

    def settings(self, listener: str, topic: str, **more: Any) -> dict[str, Any]:
        """Those of a client of another language."""
        protocol = "SSL" if listener == OLD else listener
        settings = {
            "servers": self.addresses[listener],
            "protocol": protocol,
            "topic": topic,
            **more,
        }
        if protocol.endswith("SSL"):
            settings = {"authority": self.path("test-authority"), **settings}
        return settings

    def path(self, certificate: str) -> str:
        return str(self.directory / f"{certificate}.pem")

    def new_topic(self) -> str:
        name = f"{TOPICS}{uuid.uuid4().hex[:8]}"
        with Admin(bootstrap_servers=self.open_bootstrap) as admin:
            admin.create_topics([NewTopic(name, 1)]).raise_errors()
            wait_until(lambda: name in admin.list_topics())
        return name

    def delegation_token(self, *, expired: bool = False) -> tuple[str, str]:
        """Returns the id and the HMAC of a new token of the user. One that is expired is gone."""
        login = {
            "security_protocol": "SASL_PLAINTEXT",
            "sasl_mechanism": "PLAIN",
            "sasl_username": USER,
            "sasl_password": PASSWORD,
        }
        with Admin(bootstrap_servers=self.addresses["SASL_PLAINTEXT"], **login) as admin:
            token = admin.create_delegation_token()

            def is_known() -> bool:
                return any(
                    each.token_id == token.token_id for each in admin.describe_delegation_token()
                )

            wait_until(is_known)
            if expired:
                admin.expire_delegation_token(token.hmac)
                wait_until(lambda: not is_known())
        return token.token_id, b64encode(token.hmac).decode()


@contextmanager
def secured_node(kind: Kind, directory: Path) -> Iterator[SecuredNode]:
    authority = Authority(directory)
    for name in ("broker", ITS_CERTIFICATE, "unmapped"):
        authority.issue(name)
    authority.issue("expired", expired=True)
    Authority(directory, "another authority").issue("of another authority")
    issuers = []
    for name in ("issuer", "another-issuer"):
        (directory / name).mkdir()
        issuers.append(TokenIssuer(directory / name))
    addresses = {
        name: f"127.0.0.1:{port}"
        for name, port in free_ports("SASL_PLAINTEXT", "SASL_SSL", "SSL", OLD)
    }
    keys = issuers[0].keys.as_uri()
    with pytest.MonkeyPatch.context() as patch:
        # what Kafka may read keys of tokens from (KIP-1139); read by its `java`
        patch.setenv("JDK_JAVA_OPTIONS", f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls={keys}")
        settings = _settings(directory, addresses, issuers[0])
        with Nodes(directory, [Node(1, kind)], settings=settings) as nodes:
            node = SecuredNode(nodes.bootstrap_servers, addresses, directory, *issuers)
            _let_in(node.open_bootstrap)
            yield node


def _settings(directory: Path, addresses: dict[str, str], issuer: TokenIssuer) -> dict[str, str]:
    protocols = {name: name for name in ("PLAINTEXT", *addresses)}
    protocols |= {"CONTROLLER": "PLAINTEXT", OLD: "SSL"}
    listeners = {"PLAINTEXT": "{client}", **addresses, "CONTROLLER": "{controller}"}
    settings = {
        "listeners": ",".join(f"{name}://{address}" for name, address in listeners.items()),
        "listener.security.protocol.map": ",".join(f"{n}:{p}" for n, p in protocols.items()),
        "inter.broker.listener.name": "PLAINTEXT",
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS",
        "delegation.token.secret.key": "master",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(directory / "broker.pem"),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(directory / "test-authority.pem"),
        "listener.name.old.ssl.keystore.location": str(directory / "expired.pem"),
        "listener.name.ssl.ssl.client.auth": "required",
        "listener.name.ssl.ssl.principal.mapping.rules": "RULE:^CN=app-(.*)$/$1/",
    }
    users = {USER: PASSWORD, WRITER: PASSWORD, STRANGER: PASSWORD}
    for listener in SASL_LISTENERS:
        settings |= settings_of(listener, issuer, **users)
        for mechanism in MECHANISMS[1:]:
            module = f"{MODULES[mechanism]} required;"
            prefix = f"listener.name.{listener.lower()}.{mechanism.lower()}"
            settings[f"{prefix}.sasl.jaas.config"] = module
    return settings


def _let_in(bootstrap: str) -> None:
    """Makes the users of SCRAM, and the rules. Returns when the node knows them."""
    with Admin(bootstrap_servers=bootstrap) as admin:
        for mechanism in ScramMechanism:
            credential = UpsertScramCredential(USER, mechanism, PASSWORD, 4096)
            admin.alter_user_scram_credentials([credential]).raise_errors()
        rules = {
            *(_rule(name, ResourceType.TOPIC, Operation.ALL) for name in (USER, _MAPPED)),
            *(_rule(name, ResourceType.GROUP, Operation.READ) for name in (USER, _MAPPED)),
            _rule(WRITER, ResourceType.TOPIC, Operation.WRITE),
            _rule(WRITER, ResourceType.GROUP, Operation.READ),
        }
        admin.create_acls(rules).raise_errors()
        wait_until(lambda: set(admin.describe_acls()) >= rules)
        wait_until(lambda: not admin.describe_user_scram_credentials([USER]).errors())
        admin.list_consumer_group_offsets(
            ["any"]
        )  # makes the topic of groups: kafkajs does not ask twice


def _rule(user: str, resource: ResourceType, operation: Operation) -> AclBinding:
    return AclBinding(
        resource_type=resource,
        resource_name=TOPICS,
        pattern_type=PatternType.PREFIXED,
        principal=f"User:{user}",
        operation=operation,
    )
