"""Access rules as rows of a table or of JSON, and as words in a sentence."""

from __future__ import annotations

from typing import Final

from millstream.cli.security.words import spelled
from millstream.security.acl import (
    AccessControlRule,
    Operation,
    PatternType,
    PermissionType,
    ResourceType,
)

RULE_COLUMNS: Final = (
    "principal", "permission", "operation", "resource_type", "resource", "pattern", "host",
)  # fmt: skip


def rule_row(rule: AccessControlRule) -> dict[str, object]:
    """Returns the fields of a rule, in Kafka's words."""
    return {
        "principal": rule.principal,
        "permission": PermissionType(rule.permission_type).name,
        "operation": Operation(rule.operation).name,
        "resource_type": ResourceType(rule.resource_type).name,
        "resource": rule.resource_name,
        "pattern": PatternType(rule.pattern_type).name,
        "host": rule.host,
    }


def rule_words(rule: AccessControlRule) -> str:
    """Returns a rule as words: `ALLOW User:alice Read on Topic names that begin with orders, host *`."""
    permission = PermissionType(rule.permission_type).name
    operation, resource_type = spelled(Operation(rule.operation)), spelled(ResourceType(rule.resource_type))  # fmt: skip
    name = rule.resource_name
    resource = (
        f"names that begin with {name}" if rule.pattern_type == PatternType.PREFIXED else name
    )
    return (
        f"{permission} {rule.principal} {operation} on {resource_type} {resource}, host {rule.host}"
    )
