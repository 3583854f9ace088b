"""The visitor who asks for a page. Pure data."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from millstream.console.pages import Pages


class Role(StrEnum):
    """The rights of a visitor here. Those of its user at the cluster are asked about there, too."""

    READER = "reader"
    ADMIN = "admin"


@dataclass(frozen=True, slots=True)
class Visitor:
    """`user`: None where there is no login. `form_token` must come back with every form that changes something."""

    user: str | None
    role: Role
    pages: Pages
    form_token: str = ""

    @property
    def is_admin(self) -> bool:
        return self.role is Role.ADMIN
