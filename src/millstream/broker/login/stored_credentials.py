"""The SCRAM credentials and delegation tokens of the cluster, as the newest image has them:
a login sees a change at once.

A token's keys are computed from its secret when somebody first logs in with it: milliseconds, in a
thread, and kept after that.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from millstream.broker.services import Metadata
from millstream.metadata.stored_security import ScramCredential, ScramUser, TokenInformation
from millstream.runtime import Clock
from millstream.security.delegation_token import token_hmac
from millstream.security.login.scram_server import ScramVerifier
from millstream.security.scram import (
    ITERATIONS_MIN,
    ScramKeys,
    ScramMechanism,
    salted_password,
    scram_keys,
)

_KEPT_MAX: Final = 10_000
"""Keys of tokens, some hundred bytes each; more are forgotten all at once, and computed again for who logs in again."""
_SALT_BYTES: Final = 26


class _TokenKeys(NamedTuple):
    salt: bytes
    keys: ScramKeys


class StoredCredentials:
    """Implements `security.login.scram_server.ScramVerifiers`."""

    def __init__(
        self,
        metadata: Metadata,
        token_secret_key: str | None,
        clock: Clock,
        random_bytes: Callable[[int], bytes],
    ) -> None:
        """`token_secret_key`: without it there are no tokens. `random_bytes` must be unpredictable."""
        self._metadata = metadata
        self._token_secret_key = token_secret_key
        self._clock = clock
        self._random_bytes = random_bytes
        self._sampled: Mapping[ScramUser, ScramCredential] = {}
        self._samples: dict[int, str] = {}
        """A user for each mechanism, out of those."""
        self._token_keys: dict[tuple[ScramMechanism, str], _TokenKeys] = {}

    def of_user(self, mechanism: ScramMechanism, name: str) -> ScramVerifier | None:
        credential = self._metadata.image.scram.get(ScramUser(name, mechanism))
        if credential is None or credential.iterations < ITERATIONS_MIN:
            return None
        return ScramVerifier(
            name,
            credential.salt,
            credential.stored_key,
            credential.server_key,
            credential.iterations,
        )

    def of_anybody(self, mechanism: ScramMechanism) -> ScramVerifier | None:
        users = self._metadata.image.scram
        if (
            users is not self._sampled
        ):  # a mapping that never changes: another one has another first user
            self._sampled = users
            self._samples = {}
            for user in users:
                self._samples.setdefault(user.mechanism, user.name)
                if len(self._samples) == len(ScramMechanism):
                    break
        name = self._samples.get(mechanism)
        return None if name is None else self.of_user(mechanism, name)

    def of_token(
        self, mechanism: ScramMechanism, token_id: str
    ) -> ScramVerifier | Callable[[], ScramVerifier] | None:
        """A token that has expired is none, also before it is swept; Kafka lets it in for a
        session that is over at once.
        """
        secret_key = self._token_secret_key
        token = self._metadata.image.delegation_tokens.get(token_id)
        if (
            secret_key is None
            or token is None
            or token.expiration_timestamp_ms <= self._clock.wall_ms()
        ):
            return None
        kept = self._token_keys.get((mechanism, token_id))
        if kept is not None:
            return _verifier(token, kept)
        key, salt = secret_key, self._random_bytes(_SALT_BYTES)
        return lambda: _verifier(token, self._derive(mechanism, token_id, key, salt))

    def _derive(
        self, mechanism: ScramMechanism, token_id: str, secret_key: str, salt: bytes
    ) -> _TokenKeys:
        """Runs in a thread.

        Two logins may compute the same at a time: each has its own salt and goes on with it; one is kept.
        """
        password = base64.b64encode(token_hmac(secret_key, token_id))
        salted = salted_password(mechanism, password, salt, ITERATIONS_MIN)
        computed = _TokenKeys(salt, scram_keys(mechanism, salted))
        if len(self._token_keys) >= _KEPT_MAX:
            self._token_keys.clear()
        self._token_keys[mechanism, token_id] = computed
        return computed


def _verifier(token: TokenInformation, derived: _TokenKeys) -> ScramVerifier:
    return ScramVerifier(
        token.owner.partition(":")[2],
        derived.salt,
        derived.keys.stored_key,
        derived.keys.server_key,
        ITERATIONS_MIN,
        token_authenticated=True,
        expires_at_ms=token.expiration_timestamp_ms,
    )
