"""The interface of authorizers, which decide who may do what, and their decisions.

An authorizer answers from memory, at once.
"""

from __future__ import annotations

from typing import Final, NamedTuple, Protocol

from millstream.errors import UnknownServerError
from millstream.security.acl import AccessControlRule, Operation, ResourceType
from millstream.security.principal import KafkaPrincipal


class Decision(NamedTuple):
    """A yes or a no, and the rule that says so."""

    is_allowed: bool
    by: AccessControlRule | str
    """The rule that decides, or where none does, the name of what decides instead."""


SUPER_USER: Final = Decision(is_allowed=True, by="SuperUser")
DEFAULT_ALLOW: Final = Decision(is_allowed=True, by="DefaultAllow")
DEFAULT_DENY: Final = Decision(is_allowed=False, by="DefaultDeny")


class AuthorizerNotReady(UnknownServerError):
    """Raised while the rules are not known yet.

    Kafka has no code for it either: its clients read of an unknown error and ask again.
    """

    def __init__(self) -> None:
        super().__init__("The access rules of this node are not loaded yet; retry")


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
