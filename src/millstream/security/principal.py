"""Principals: who a client is, once it has proved it or has not been asked to."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

USER_TYPE: Final = "User"
"""The type of everybody who logs in. Kafka lets plug-ins make others; rules may name them."""


@dataclass(frozen=True, slots=True)
class KafkaPrincipal:
    """A principal as Kafka compares it: by type and name, in which case counts."""

    principal_type: str
    name: str
    token_authenticated: bool = field(default=False, compare=False)
    """It logged in with a delegation token (KIP-48), which opens no way to other tokens."""
    text: str = field(init=False, repr=False, compare=False)
    """`Type:name`, as rules and records have it."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", f"{self.principal_type}:{self.name}")

    def __str__(self) -> str:
        return self.text


ANONYMOUS: Final = KafkaPrincipal(USER_TYPE, "ANONYMOUS")
"""The principal of a client that has not proved who it is."""


def parse_principal(text: str) -> KafkaPrincipal:
    """Returns the principal that `Type:name` says. The name may hold colons of its own.

    Raises ValueError with a sentence.
    """
    principal_type, colon, name = text.partition(":")
    if not colon:
        raise ValueError(
            f"a principal is written as `Type:name`, such as `User:alice`, not `{text}`"
        )
    return KafkaPrincipal(principal_type, name)
