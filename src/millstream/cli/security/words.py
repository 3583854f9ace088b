"""The words of access rules on the command line: operations, kinds of resources and patterns as `kafka-acls`
writes them, and principals.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from enum import IntEnum
from typing import TYPE_CHECKING, Final

import click

from millstream.cli.suggestions import or_near
from millstream.security.acl import (
    CLUSTER_NAME,
    AccessControlRule,
    Operation,
    PatternType,
    PermissionType,
    Resource,
    ResourceType,
    supported_operations,
)
from millstream.security.principal import USER_TYPE, KafkaPrincipal, parse_principal

if TYPE_CHECKING:
    _WordType = click.ParamType[IntEnum]
    _TextType = click.ParamType[str]
else:
    _WordType = _TextType = click.ParamType  # older releases of click have no generic type


def spelled(word: IntEnum) -> str:
    """Returns a word as Kafka's tools write it: `DescribeConfigs`."""
    return "".join(part.capitalize() for part in word.name.split("_"))


class _Words(_WordType):
    """One of some words, in any case of letters, with or without the lines between its parts."""

    def __init__(self, name: str, words: Collection[IntEnum]) -> None:
        self.name = name
        self._words = {_plain(each.name): each for each in words}

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> IntEnum:
        if isinstance(value, IntEnum):
            return value
        found = self._words.get(_plain(str(value)))
        if found is None:
            known = [spelled(each) for each in self._words.values()]
            near = or_near(str(value), known)
            self.fail(f"{value!r} is not one of {', '.join(known)}{near}", param, ctx)
        return found


def _plain(text: str) -> str:
    return text.replace("_", "").replace("-", "").lower()


def _but_unknown(words: type[IntEnum]) -> Sequence[IntEnum]:
    return [each for each in words if each.name not in {"UNKNOWN", "ANY"}]


OPERATION: Final = _Words("operation", _but_unknown(Operation))
PERMISSION: Final = _Words("permission", _but_unknown(PermissionType))
PATTERN_TO_ADD: Final = _Words("pattern", [PatternType.LITERAL, PatternType.PREFIXED])
PATTERN_TO_FIND: Final = _Words(
    "pattern", [PatternType.ANY, PatternType.MATCH, PatternType.LITERAL, PatternType.PREFIXED]
)


class _Principal(_TextType):
    """A principal as rules have it. A name alone is that of a user."""

    name = "principal"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        del param, ctx
        return principal_text(value)


PRINCIPAL: Final = _Principal()


def principal_text(text: str) -> str:
    """Returns `Type:name`; a name alone is that of a user."""
    return text if ":" in text else f"{USER_TYPE}:{text}"


def principal_of(text: str) -> KafkaPrincipal:
    """Returns the principal of `Type:name`, or of the name of a user."""
    return parse_principal(principal_text(text))


_RESOURCES: Final = {_plain(each.name): each for each in ResourceType if supported_operations(each)}


def parse_resource(text: str) -> Resource:
    """Returns the resource that `topic:orders`, `group:app`, `transactional-id:t` or `cluster` says.

    Raises BadParameter.
    """
    kind, colon, name = text.partition(":")
    found = _RESOURCES.get(_plain(kind))
    if found is ResourceType.CLUSTER and name in {"", CLUSTER_NAME}:
        return Resource(found, CLUSTER_NAME)
    if found is None or not colon or not name or found is ResourceType.CLUSTER:
        raise click.BadParameter(
            f"{text!r} is not a resource: write topic:NAME, group:NAME, transactional-id:NAME, delegation-token:ID, user:User:NAME or cluster",
            param_hint="RESOURCE",
        )
    return Resource(found, name)


def check_supported(operation: Operation, resource_type: ResourceType) -> None:
    """Raises UsageError for an operation that nobody asks for with such resources, as Kafka's tool does."""
    supported = supported_operations(resource_type)
    if operation is not Operation.ALL and operation not in supported:
        known = ", ".join(map(spelled, (*supported, Operation.ALL)))
        raise click.UsageError(
            f"{spelled(operation)} is no operation on a {spelled(resource_type)}: those are {known}"
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
