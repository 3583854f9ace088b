"""The words of access control, with Kafka's numbers: resources, operations, patterns, bindings.

Owns the data model only; who decides is an `Authorizer`. A number that this release does not know reads as UNKNOWN.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import IntEnum
from types import MappingProxyType
from typing import Final, NamedTuple, Protocol, Self

CLUSTER_NAME: Final = "kafka-cluster"
"""The name of the one resource of type CLUSTER."""


class _Code(IntEnum):
    """Numbers of the protocol, of which 0 stands for all that are not known."""

    @classmethod
    def _missing_(cls, value: object) -> Self:
        del value
        return cls(0)


class ResourceType(_Code):
    UNKNOWN = 0
    ANY = 1
    TOPIC = 2
    GROUP = 3
    CLUSTER = 4
    TRANSACTIONAL_ID = 5
    DELEGATION_TOKEN = 6
    USER = 7


class Operation(_Code):
    UNKNOWN = 0
    ANY = 1
    ALL = 2
    READ = 3
    WRITE = 4
    CREATE = 5
    DELETE = 6
    ALTER = 7
    DESCRIBE = 8
    CLUSTER_ACTION = 9
    DESCRIBE_CONFIGS = 10
    ALTER_CONFIGS = 11
    IDEMPOTENT_WRITE = 12
    CREATE_TOKENS = 13
    DESCRIBE_TOKENS = 14
    TWO_PHASE_COMMIT = 15


class PatternType(_Code):
    UNKNOWN = 0
    ANY = 1
    MATCH = 2
    LITERAL = 3
    PREFIXED = 4


class PermissionType(_Code):
    UNKNOWN = 0
    ANY = 1
    DENY = 2
    ALLOW = 3


class ResourcePattern(NamedTuple):
    """Resources by name: one (LITERAL, `*` for all) or all with a prefix (PREFIXED)."""

    type: ResourceType
    name: str
    pattern: PatternType = PatternType.LITERAL

    def covers(self, resource: Resource) -> bool:
        """Whether a rule on this pattern speaks of `resource`. Raises no error: a filter pattern covers nothing."""
        if self.type is not resource.type:
            return False
        if self.pattern is PatternType.LITERAL:
            return self.name in ("*", resource.name)
        return self.pattern is PatternType.PREFIXED and resource.name.startswith(self.name)


class Resource(NamedTuple):
    """One thing that is acted on."""

    type: ResourceType
    name: str


class AccessControlRule(Protocol):
    """Allows or denies a principal, from a host, an operation on resources.

    Numbers are those of the enumerations above.
    """

    @property
    def resource_type(self) -> int: ...
    @property
    def resource_name(self) -> str: ...
    @property
    def pattern_type(self) -> int: ...
    @property
    def principal(self) -> str:
        """The principal as text: `User:name`, or `User:*` for everybody."""
        ...

    @property
    def host(self) -> str:
        """An address, or `*`."""
        ...

    @property
    def operation(self) -> int: ...
    @property
    def permission_type(self) -> int: ...


_SUPPORTED: Final[Mapping[ResourceType, tuple[Operation, ...]]] = MappingProxyType(
    {
        ResourceType.TOPIC: (
            Operation.READ,
            Operation.WRITE,
            Operation.CREATE,
            Operation.DELETE,
            Operation.ALTER,
            Operation.DESCRIBE,
            Operation.DESCRIBE_CONFIGS,
            Operation.ALTER_CONFIGS,
        ),
        ResourceType.GROUP: (
            Operation.READ,
            Operation.DELETE,
            Operation.DESCRIBE,
            Operation.DESCRIBE_CONFIGS,
            Operation.ALTER_CONFIGS,
        ),
        ResourceType.CLUSTER: (
            Operation.CREATE,
            Operation.ALTER,
            Operation.DESCRIBE,
            Operation.CLUSTER_ACTION,
            Operation.DESCRIBE_CONFIGS,
            Operation.ALTER_CONFIGS,
            Operation.IDEMPOTENT_WRITE,
        ),
        ResourceType.TRANSACTIONAL_ID: (
            Operation.WRITE,
            Operation.DESCRIBE,
            Operation.TWO_PHASE_COMMIT,
        ),
        ResourceType.DELEGATION_TOKEN: (Operation.DESCRIBE,),
        ResourceType.USER: (Operation.CREATE_TOKENS, Operation.DESCRIBE_TOKENS),
    }
)


def supported_operations(resource_type: ResourceType) -> tuple[Operation, ...]:
    """Returns the operations on a resource of this type, ordered by number."""
    return _SUPPORTED.get(resource_type, ())


def operation_bits(operations: Iterable[Operation]) -> int:
    """Bit n stands for operation n (KIP-430)."""
    return sum(1 << operation for operation in set(operations))


GROUP_OPERATIONS: Final = operation_bits(supported_operations(ResourceType.GROUP))
