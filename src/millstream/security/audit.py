"""The audit of decisions: Kafka's line about each, and the same as values for programs."""

from __future__ import annotations

from dataclasses import dataclass

from millstream.security.acl import (
    AccessControlRule,
    Operation,
    PatternType,
    PermissionType,
    ResourceType,
)
from millstream.security.authorizer import Decision, Requester


@dataclass(frozen=True, slots=True)
class AuditedDecision:
    """One decision, and what was asked. `str` is the line of Kafka's StandardAuthorizer."""

    requester: Requester
    request: str
    """The API, as Kafka names it: `CreateTopics`."""
    operation: Operation
    resource_type: ResourceType
    name: str
    mentions: int
    """How often the request names the resource."""
    decision: Decision

    def __str__(self) -> str:
        return (
            f"Principal = {self.requester.principal} is {'Allowed' if self.decision.is_allowed else 'Denied'}"
            f" operation = {self.operation.name} from host = {self.requester.client_host}"
            f" on resource = {_type_name(self.resource_type)}:LITERAL:{self.name}"
            f" for request = {self.request} with resourceRefCount = {self.mentions}"
            f" based on rule {_basis(self.decision.by)}"
        )

    def fields(self) -> dict[str, str | int | bool]:
        return {
            "principal": self.requester.principal.text,
            "allowed": self.decision.is_allowed,
            "operation": self.operation.name,
            "host": self.requester.client_host,
            "resourceType": self.resource_type.name,
            "resource": self.name,
            "request": self.request,
            "resourceRefCount": self.mentions,
            "rule": _basis(self.decision.by),
        }


def _type_name(resource_type: ResourceType) -> str:
    return "".join(word.capitalize() for word in resource_type.name.split("_"))


def _basis(by: AccessControlRule | str) -> str:
    return by if isinstance(by, str) else f"MatchingAcl(acl={_rule(by)})"


def _rule(rule: AccessControlRule) -> str:
    """Returns the rule as Java prints the record StandardAcl."""
    return (
        f"StandardAcl[resourceType={ResourceType(rule.resource_type).name}, resourceName={rule.resource_name},"
        f" patternType={PatternType(rule.pattern_type).name}, principal={rule.principal}, host={rule.host},"
        f" operation={Operation(rule.operation).name}, permissionType={PermissionType(rule.permission_type).name}]"
    )
