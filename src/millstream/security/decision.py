"""The decisions of an authorizer: whether somebody may do something, and what says so."""

from __future__ import annotations

from typing import Final, NamedTuple

from millstream.errors import UnknownServerError
from millstream.security.acl import AccessControlRule


class Decision(NamedTuple):
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
