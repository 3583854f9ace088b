"""The settings of the StandardAuthorizer.

Apart from it, since its module runs compiled and config classes are read by their fields.
"""

from __future__ import annotations

from dataclasses import dataclass

from millstream.config_fields import from_keys


def _super_users(text: str) -> frozenset[str]:
    return frozenset(filter(None, map(str.strip, text.split(";"))))


@dataclass(frozen=True, slots=True)
class AuthorizerSettings:
    super_users: frozenset[str] = from_keys(
        "super.users", default=frozenset(), convert=_super_users
    )
    """Principals as text, which may do everything, whatever rules there are."""
    allows_uncovered: bool = from_keys(
        "allow.everyone.if.no.acl.found",
        default=False,
        convert=lambda text: str(text).strip().lower() == "true",
    )
    """Whether what no rule covers is open to everybody."""
