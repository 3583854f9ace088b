"""Delegation tokens (KIP-48): which secret goes with which token id, and who may ask for what."""

from __future__ import annotations

import hmac
from collections.abc import Collection, Mapping
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


class TokenIds:
    """Finds tokens by their secrets. A secret is computed once: for ten thousand tokens that takes 20 ms."""

    def __init__(self, secret_key: str) -> None:
        self._secret_key = secret_key
        self._ids: dict[bytes, str] = {}
        self._noted: Mapping[str, object] = {}

    def find(self, secret: bytes, tokens: Mapping[str, object]) -> str | None:
        """Returns the id of the one of `tokens` that `secret` goes with.

        How long that takes tells nothing of other secrets: a dict compares bytes behind a hash that nobody can aim at.
        """
        token_id = self._ids.get(secret)
        if token_id is None and tokens is not self._noted:
            self._take_note(tokens)
            token_id = self._ids.get(secret)
        return token_id if token_id is not None and token_id in tokens else None

    def _take_note(self, tokens: Mapping[str, object]) -> None:
        kept = {secret: token_id for secret, token_id in self._ids.items() if token_id in tokens}
        known = set(kept.values())
        for token_id in tokens:
            if token_id not in known:
                kept[token_hmac(self._secret_key, token_id)] = token_id
        self._ids, self._noted = kept, tokens


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
