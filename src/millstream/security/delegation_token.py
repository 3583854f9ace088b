"""Delegation tokens (KIP-48): the secret that goes with a token id, and who may ask for what."""

from __future__ import annotations

import hmac
from collections.abc import Collection
from typing import Protocol


class IssuedToken(Protocol):
    @property
    def owner(self) -> str: ...
    @property
    def requester(self) -> str: ...
    @property
    def renewers(self) -> Collection[str]: ...


def token_hmac(secret_key: str, token_id: str) -> bytes:
    """Returns the token's password. Every node that has the cluster's secret key computes the same."""
    return hmac.digest(secret_key.encode(), token_id.encode(), "sha512")


def concerns(token: IssuedToken, principal: str) -> bool:
    """Whether it is this principal's, or was asked for by it, or may be renewed by it: such tokens are told of."""
    return principal == token.requester or may_change(token, principal)


def may_change(token: IssuedToken, principal: str) -> bool:
    """Whether the principal may renew the token, or have it expire: who asked for somebody else's may not."""
    return principal == token.owner or principal in token.renewers


def principal_text(principal_type: str, name: str) -> str:
    return f"{principal_type}:{name}"


def principal_parts(principal: str) -> tuple[str, str]:
    """Returns the type and the name of a principal; the name may hold colons of its own."""
    principal_type, _, name = principal.partition(":")
    return principal_type, name
