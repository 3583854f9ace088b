"""The question every handler asks before it acts, and the answer of a cluster without rules: everybody may do everything.

Owns the `Authorizer` interface. An authorizer answers from memory, at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from millstream.security.acl import Operation, Resource, operation_bits, supported_operations


@dataclass(frozen=True, slots=True)
class Requester:
    """Who asks, and from where."""

    principal: str
    host: str


@dataclass(frozen=True, slots=True)
class Action:
    operation: Operation
    resource: Resource


class Authorizer(Protocol):
    def authorize(self, requester: Requester, actions: Sequence[Action]) -> list[bool]:
        """One answer for each action, in order."""
        ...


class AllowAll:
    """For clusters without an authorizer, which is Kafka's default too. Protects nothing, and does not look as if it did."""

    def authorize(self, requester: Requester, actions: Sequence[Action]) -> list[bool]:
        del requester
        return [True] * len(actions)


ALLOW_ALL: Final = AllowAll()


def authorized_operations(authorizer: Authorizer, requester: Requester, resource: Resource) -> int:
    """The operations the requester may perform on `resource`, as the bits clients are told (KIP-430)."""
    operations = supported_operations(resource.type)
    answers = authorizer.authorize(
        requester, [Action(operation, resource) for operation in operations]
    )
    allowed = [operation for operation, may in zip(operations, answers, strict=True) if may]
    return operation_bits(allowed)
