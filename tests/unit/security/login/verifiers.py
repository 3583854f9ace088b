"""Credentials of a cluster that never change."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from millstream.security.login.scram_server import ScramVerifier
from millstream.security.scram import ScramMechanism, salted_password, scram_keys

TOKEN_ENDS_MS = 5_000
_SALT = b"salt of everybody"


class FixedVerifiers:
    """Users by name with their passwords; tokens by id with their owners, whose names are the passwords."""

    def __init__(self, passwords: Mapping[str, str], owners: Mapping[str, str]) -> None:
        self._passwords = passwords
        self._owners = owners
        self.users: dict[str, ScramVerifier] = {}

    def of_user(self, mechanism: ScramMechanism, name: str) -> ScramVerifier | None:
        password = self._passwords.get(name)
        if password is None:
            return self.users.get(name)
        return _verifier(mechanism, name, password)

    def of_anybody(self, mechanism: ScramMechanism) -> ScramVerifier | None:
        return next((self.of_user(mechanism, name) for name in self._passwords), None)

    def of_token(
        self, mechanism: ScramMechanism, token_id: str
    ) -> ScramVerifier | Callable[[], ScramVerifier] | None:
        owner = self._owners.get(token_id)
        if owner is None:
            return None
        return lambda: _verifier(
            mechanism, owner, owner, token_authenticated=True, expires_at_ms=TOKEN_ENDS_MS
        )


def _verifier(
    mechanism: ScramMechanism,
    name: str,
    password: str,
    *,
    token_authenticated: bool = False,
    expires_at_ms: int | None = None,
) -> ScramVerifier:
    keys = scram_keys(mechanism, salted_password(mechanism, password.encode(), _SALT, 4096))
    return ScramVerifier(
        name,
        _SALT,
        keys.stored_key,
        keys.server_key,
        4096,
        token_authenticated=token_authenticated,
        expires_at_ms=expires_at_ms,
    )
