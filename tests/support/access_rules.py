"""Rules and authorizers for tests of who may do what."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from millstream.broker.requests.access import Access
from millstream.metadata.stored_security import AccessControlEntry
from millstream.net.server.client_connection import ClientConnection
from millstream.security.acl import Operation, PatternType, PermissionType, ResourceType
from millstream.security.authorizer import DEFAULT_ALLOW, DEFAULT_DENY, Decision, Requester
from millstream.security.authorizer_settings import AuthorizerSettings
from millstream.security.principal import KafkaPrincipal
from millstream.security.standard_authorizer import StandardAuthorizer

ALICE: Final = KafkaPrincipal("User", "alice")


def client(name: str = "alice", host: str = "10.0.0.9") -> ClientConnection:
    return ClientConnection(1, host, 4711, "SASL_PLAINTEXT", KafkaPrincipal("User", name))


def rule(
    operation: Operation,
    resource_type: ResourceType,
    name: str,
    *,
    principal: str = "User:alice",
    host: str = "*",
    deny: bool = False,
    prefixed: bool = False,
) -> AccessControlEntry:
    return AccessControlEntry(
        resource_type=resource_type,
        resource_name=name,
        pattern_type=PatternType.PREFIXED if prefixed else PatternType.LITERAL,
        principal=principal,
        host=host,
        operation=operation,
        permission_type=PermissionType.DENY if deny else PermissionType.ALLOW,
    )


def authorizer(
    *rules: AccessControlEntry, super_users: tuple[str, ...] = (), allows_uncovered: bool = False
) -> StandardAuthorizer:
    made = StandardAuthorizer(AuthorizerSettings(frozenset(super_users), allows_uncovered))
    made.change(removed=(), added=rules)
    return made


def access(*rules: AccessControlEntry) -> Access:
    return Access(authorizer(*rules))


Asked = tuple[Operation, ResourceType, str]


@dataclass
class ScriptedAuthorizer:
    """Allows all but what a test says, and notes what it is asked."""

    refused: frozenset[tuple[Operation, ResourceType]] | None = frozenset()
    """None: everything."""
    rules_version: int = 0

    def __post_init__(self) -> None:
        self.asked: list[Asked] = []
        self.requesters: list[Requester] = []

    def decide(
        self, requester: Requester, operation: Operation, resource_type: ResourceType, name: str
    ) -> Decision:
        self.asked.append((operation, resource_type, name))
        self.requesters.append(requester)
        if self.refused is None or (operation, resource_type) in self.refused:
            return DEFAULT_DENY
        return DEFAULT_ALLOW

    def decide_for_any(
        self, requester: Requester, operation: Operation, resource_type: ResourceType
    ) -> Decision:
        return self.decide(requester, operation, resource_type, "any")
