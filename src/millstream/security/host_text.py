"""The text of a client's address, as Kafka has it: in access rules, in the audit log and in what is told of members.

Java writes an address of version 6 with all its groups, and one of version 4 that a socket of version 6 has accepted
as one of version 4. A rule that denies 10.0.0.9 holds for that client at each listener.
"""

from __future__ import annotations

import ipaddress
from functools import lru_cache
from typing import Final

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
