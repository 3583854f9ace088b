"""The interface of authorizers, which decide who may do what. An authorizer answers from memory, at once."""

from __future__ import annotations

from typing import Final, Protocol

from millstream.security.acl import Operation, ResourceType
from millstream.security.decision import Decision
from millstream.security.principal import KafkaPrincipal

INVENTED_NAME: Final = "hardcode"
"""Kafka's name of the resource with which it finds out who may do something with any."""


class Requester(Protocol):
    """Whoever a request comes from."""

    @property
    def principal(self) -> KafkaPrincipal: ...
    @property
    def client_host(self) -> str:
        """The address of the client as text."""
        ...


class Authorizer(Protocol):
    @property
    def rules_version(self) -> int:
        """Grows with each change of the rules: what was decided before may have changed."""
        ...

    def decide(
        self, requester: Requester, operation: Operation, resource_type: ResourceType, name: str
    ) -> Decision:
        """Returns the decision about one resource. Raises AuthorizerNotReady while rules are not known yet."""
        ...

    def decide_for_any(
        self, requester: Requester, operation: Operation, resource_type: ResourceType
    ) -> Decision:
        """Returns whether there is any resource of this type, existing or not, with which the requester may do it.

        Raises as `decide`.
        """
        ...
