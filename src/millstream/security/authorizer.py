"""The interface of authorizers, which decide who may do what, and the only implementation, which allows everything.

It is asked in two places: by dispatch, before a request that Kafka allows or refuses as a whole by an operation on the cluster
(`Permission.refuses_request` of its API); and by Metadata, DescribeCluster and DescribeTopicPartitions, for the operations that
clients are told they may perform (KIP-430). It is not asked about the topics, groups, transactional ids, users and tokens that a
request names, nor where a permission on the cluster is one of several that would do: those are declared by each API
(`ApiSpec.permissions`) and not asked yet. Access rules are stored and told; no authorizer enforces them so far.
An authorizer answers from memory, at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from millstream.security.acl import Operation, Resource, operation_bits, supported_operations

ANONYMOUS: Final = "User:ANONYMOUS"
"""The principal of a client that has not proved who it is."""


@dataclass(frozen=True, slots=True)
class Requester:
    """The principal and the address that a request comes from."""

    principal: str
    host: str


@dataclass(frozen=True, slots=True)
class Action:
    operation: Operation
    resource: Resource


class Authorizer(Protocol):
    def authorize(self, requester: Requester, actions: Sequence[Action]) -> list[bool]:
        """Returns one answer for each action, in order."""
        ...


class AllowAll:
    """Allows everything, as Kafka does by default, without an authorizer. It ignores stored rules."""

    def authorize(self, requester: Requester, actions: Sequence[Action]) -> list[bool]:
        del requester
        return [True] * len(actions)


ALLOW_ALL: Final = AllowAll()


def authorized_operations(authorizer: Authorizer, requester: Requester, resource: Resource) -> int:
    """Returns the operations the requester may perform on `resource`, as the bits clients are told (KIP-430)."""
    operations = supported_operations(resource.type)
    answers = authorizer.authorize(
        requester, [Action(operation, resource) for operation in operations]
    )
    allowed = [operation for operation, may in zip(operations, answers, strict=True) if may]
    return operation_bits(allowed)
