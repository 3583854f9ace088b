"""SASL over a connection: handshake, exchange, and when to do it again (KIP-152, KIP-368).

What the tokens say is `security.sasl_*`; where bearer tokens come from is `bearer_tokens`.
"""

from __future__ import annotations

import secrets

from millstream.errors import (
    IllegalSaslState,
    KafkaError,
    SaslAuthenticationFailed,
    UnsupportedSaslMechanism,
    error_for,
)
from millstream.net.client.bearer_tokens import BearerTokens
from millstream.net.client.connection import Connection
from millstream.net.client.core.credentials import Credentials, FileToken, Password
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.sasl_authenticate import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
)
from millstream.protocol.generated.sasl_handshake import (
    SaslHandshakeRequest,
    SaslHandshakeResponse,
)
from millstream.runtime import Random
from millstream.security.sasl_client import OAuthBearerClient, PlainClient, SaslClient
from millstream.security.sasl_scram import ScramClient

_NONCE_BYTES = 24
"""Ours: 32 printable characters of chance, with more than the 128 bits that nobody guesses (RFC 5802 names no size)."""
_EARLIEST, _SPREAD = 0.85, 0.10
"""Authenticate again after 85 to 95 % of the session, so that clients do not move in step: Java's window
(`SaslClientAuthenticator`)."""


class SaslAuthenticator:
    """One for all connections of a client."""

    def __init__(
        self, credentials: Credentials, tokens: BearerTokens | None, random: Random
    ) -> None:
        """`tokens` are needed by all credentials but passwords."""
        self._credentials = credentials
        self._tokens = tokens
        self._random = random

    async def authenticate(self, connection: Connection) -> int | None:
        """Authenticates the connection. Returns the milliseconds until it must be done again; None for never.

        Raises SaslAuthenticationFailed, UnsupportedSaslMechanism or IllegalSaslState, which a retry does not change.
        """
        client = await self._client()
        await _handshake(connection, client.mechanism)
        try:
            lifetime_ms = await self._exchange(connection, client)
        except SaslAuthenticationFailed as error:
            raise SaslAuthenticationFailed(
                f"{connection.address} refused the login of {self._who} ({client.mechanism}): {error}"
            ) from error
        if lifetime_ms <= 0:
            return None
        return int(lifetime_ms * (_EARLIEST + _SPREAD * self._random.random()))

    @property
    def _who(self) -> str:
        if isinstance(self._credentials, Password):
            return f"user {self._credentials.username!r}"
        if isinstance(self._credentials, FileToken):
            return f"the bearer of the token in {self._credentials.path}"
        return "the bearer of our token"

    async def _client(self) -> SaslClient:
        if not isinstance(self._credentials, Password):
            assert self._tokens is not None, "whoever has no password has tokens"
            return OAuthBearerClient(await self._tokens.get())
        name, password = self._credentials.username, self._credentials.password
        if self._credentials.scram is None:
            return PlainClient(name, password)
        return ScramClient(
            self._credentials.scram,
            name,
            password,
            secrets.token_urlsafe(_NONCE_BYTES),
            token_auth=self._credentials.token_auth,
        )

    async def _exchange(self, connection: Connection, client: SaslClient) -> int:
        token: bytes | None = client.first()
        lifetime_ms = 0
        while token is not None:
            response = await connection.exchange(
                ApiKey.SASL_AUTHENTICATE, SaslAuthenticateRequest(token), SaslAuthenticateResponse
            )
            if response.error_code:
                raise error_for(response.error_code, response.error_message)
            lifetime_ms = response.session_lifetime_ms
            token = client.answer(bytes(response.auth_bytes))
        return lifetime_ms


async def _handshake(connection: Connection, mechanism: str) -> None:
    response = await connection.exchange(
        ApiKey.SASL_HANDSHAKE, SaslHandshakeRequest(mechanism), SaslHandshakeResponse
    )
    if response.error_code:
        raise _refusal(response, connection, mechanism)


def _refusal(response: SaslHandshakeResponse, connection: Connection, mechanism: str) -> KafkaError:
    if response.error_code == UnsupportedSaslMechanism.code:
        offered = ", ".join(response.mechanisms) or "none"
        return UnsupportedSaslMechanism(
            f"{connection.address} does not offer {mechanism}; set sasl_mechanism to one of: {offered}"
        )
    if response.error_code == IllegalSaslState.code:
        return IllegalSaslState(
            f"{connection.address} is a listener without SASL; set security_protocol to PLAINTEXT or SSL"
        )
    return error_for(response.error_code)
