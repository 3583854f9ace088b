"""The rules that `millstream acls add` makes of its options, and the filters of `list` and `remove`; decided
as by `kafka-acls`. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Final

from millstream.cli.security.words import check_supported
from millstream.errors import ConfigError
from millstream.security.access_rules import WILDCARD
from millstream.security.acl import (
    CLUSTER_NAME,
    AccessControlRule,
    Operation,
    PatternType,
    PermissionType,
    Resource,
    ResourceType,
)
from millstream.security.acl_filter import AclFilter

if TYPE_CHECKING:
    from millstream.clients.admin import AclBinding

_PRODUCER: Final[Mapping[ResourceType, tuple[Operation, ...]]] = {
    ResourceType.TOPIC: (Operation.WRITE, Operation.DESCRIBE, Operation.CREATE),
    ResourceType.TRANSACTIONAL_ID: (Operation.WRITE, Operation.DESCRIBE),
}
_CONSUMER: Final[Mapping[ResourceType, tuple[Operation, ...]]] = {
    ResourceType.TOPIC: (Operation.READ, Operation.DESCRIBE),
    ResourceType.GROUP: (Operation.READ,),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Whom:
    """Principals and addresses that a rule allows or denies something."""

    permission: PermissionType
    principals: Sequence[str]
    hosts: Sequence[str]
    """None given: all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class What:
    """Operations on resources; or what a producer or consumer does with them."""

    resources: Sequence[Resource]
    pattern: PatternType = PatternType.LITERAL
    operations: Sequence[Operation] = ()
    """None given, and no role: all."""
    producer: bool = False
    consumer: bool = False
    idempotent: bool = False


def planned_rules(whoms: Sequence[Whom], what: What) -> list[AclBinding]:
    """Returns the rules to add. Raises ConfigError and UsageError for what makes no rule."""
    from millstream.clients.admin import AclBinding

    if not any(whom.principals for whom in whoms):
        raise ConfigError("say who: --allow-principal NAME, or --deny-principal NAME")
    for whom in whoms:
        if whom.hosts and not whom.principals:
            word = whom.permission.name.lower()
            raise ConfigError(f"--{word}-host needs --{word}-principal")
    rules = [
        AclBinding(
            resource_type=resource.type,
            resource_name=resource.name,
            pattern_type=pattern,
            principal=principal,
            host=host,
            operation=operation,
            permission_type=whom.permission,
        )
        for resource, pattern, operation in _done(what)
        for whom in whoms
        for principal, host in product(whom.principals, whom.hosts or (WILDCARD,))
    ]
    return list(dict.fromkeys(rules))


def _done(what: What) -> Iterator[tuple[Resource, PatternType, Operation]]:
    """Yields each resource, how its name is meant, and an operation on it."""
    if not (what.producer or what.consumer):
        yield from _operations(what)
        return
    _check_role(what)
    roles = [role for role, is_wanted in ((_PRODUCER, what.producer), (_CONSUMER, what.consumer)) if is_wanted]  # fmt: skip
    for role in roles:
        for resource in what.resources:
            for operation in role.get(resource.type, ()):
                yield resource, what.pattern, operation
    if what.idempotent:
        cluster = Resource(ResourceType.CLUSTER, CLUSTER_NAME)
        yield cluster, PatternType.LITERAL, Operation.IDEMPOTENT_WRITE


def _operations(what: What) -> Iterator[tuple[Resource, PatternType, Operation]]:
    if what.idempotent:
        raise ConfigError("--idempotent goes with --producer")
    if not what.resources:
        raise ConfigError("say on what: --topic NAME, --group NAME, --cluster, ...")
    for resource in what.resources:
        for operation in what.operations or (Operation.ALL,):
            check_supported(operation, resource.type)
            of_one = resource.type is ResourceType.CLUSTER
            yield resource, PatternType.LITERAL if of_one else what.pattern, operation


def _check_role(what: What) -> None:
    if what.operations:
        raise ConfigError("--producer and --consumer say the operations: leave --operation out")
    types = {resource.type for resource in what.resources}
    if ResourceType.TOPIC not in types:
        raise ConfigError("--producer and --consumer need --topic")
    if what.consumer and ResourceType.GROUP not in types:
        raise ConfigError("--consumer needs --group")
    if what.idempotent and not what.producer:
        raise ConfigError("--idempotent goes with --producer")
    of_roles = (_PRODUCER.keys() if what.producer else set()) | (
        _CONSUMER.keys() if what.consumer else set()
    )
    for unused in sorted(types - of_roles):
        raise ConfigError(
            f"a {'producer' if what.producer else 'consumer'} needs nothing of a {unused.name.lower()}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedRules:
    """The rules to list or remove, by what they have; what is empty or None does not matter."""

    principals: Sequence[str] = ()
    hosts: Sequence[str] = ()
    operations: Sequence[Operation] = ()
    permission: PermissionType | None = None
    resources: Sequence[Resource] = ()

    def __bool__(self) -> bool:
        return bool(
            self.principals or self.hosts or self.operations or self.permission or self.resources
        )

    def filters(self, pattern: PatternType) -> list[AclFilter]:
        """Returns the filters that find those rules."""
        return [
            AclFilter(
                resource_type=ResourceType.ANY if resource is None else resource.type,
                resource_name=None if resource is None else resource.name,
                pattern_type=pattern,
                principal=principal,
                host=host,
                operation=Operation.ANY if operation is None else operation,
                permission_type=PermissionType.ANY if self.permission is None else self.permission,
            )
            for resource, principal, host, operation in product(
                self.resources or (None,),
                self.principals or (None,),
                self.hosts or (None,),
                self.operations or (None,),
            )
        ]


def filter_of(rule: AccessControlRule) -> AclFilter:
    """Returns the filter that finds one rule alone."""
    return AclFilter(
        resource_type=ResourceType(rule.resource_type),
        resource_name=rule.resource_name,
        pattern_type=PatternType(rule.pattern_type),
        principal=rule.principal,
        host=rule.host,
        operation=Operation(rule.operation),
        permission_type=PermissionType(rule.permission_type),
    )
