"""Principals: who a client is, once it has proved it or has not been asked to; and the text of its address, as Kafka
has it in access rules, in the audit log and in what is told of members.
"""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field
from functools import lru_cache
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


_REMEMBERED_MAX: Final = 1024
_GROUP_BYTES: Final = 2


@lru_cache(_REMEMBERED_MAX)
def host_text(address: str) -> str:
    """Returns one text for an address, however it is written: 0:0:0:0:0:0:0:1 for ::1, 10.0.0.1 for ::ffff:10.0.0.1.

    What is no address, such as the host `*` of rules, stays as it is.
    """
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(parsed, ipaddress.IPv4Address):
        return str(parsed)
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    packed = parsed.packed
    groups = (packed[at : at + _GROUP_BYTES] for at in range(0, len(packed), _GROUP_BYTES))
    text = ":".join(f"{int.from_bytes(group, 'big'):x}" for group in groups)
    return text if parsed.scope_id is None else f"{text}%{parsed.scope_id}"
