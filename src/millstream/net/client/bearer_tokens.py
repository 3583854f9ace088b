"""Bearer tokens of a client: from a function of the user's, from an OAuth endpoint, from a file, or unsecured.

Kept while they last; a file is read at each login, which costs less than to watch it.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable
from typing import cast

from millstream.errors import RequestTimedOut, SaslAuthenticationFailed
from millstream.net.client.config.connection import ConnectionConfig
from millstream.net.client.core.backoff import Backoff
from millstream.net.client.core.credentials import (
    ClientCredentials,
    FileToken,
    ProvidedToken,
    TokenSource,
    UnsecuredToken,
)
from millstream.runtime import Clock, Random
from millstream.security.sasl_oauthbearer import OAuthBearerToken, unsecured_token

_USED_FRACTION = 0.8
"""A token is fetched anew after four fifths of its life, as Java's clients do
(`sasl.login.refresh.window.factor`)."""


class BearerTokens:
    """`get` gives a token that is still good; many callers cost one fetch."""

    def __init__(
        self, source: TokenSource, config: ConnectionConfig, clock: Clock, random: Random
    ) -> None:
        self._source = source
        self._config = config
        self._clock = clock
        self._random = random
        self._token: OAuthBearerToken | None = None
        self._renew_at_ms = 0
        self._fetching = asyncio.Lock()

    async def get(self) -> OAuthBearerToken:
        """Returns a token.

        Raises SaslAuthenticationFailed when the token provider refuses, NetworkException when it cannot be asked.
        """
        if isinstance(self._source, FileToken):
            from millstream.net.client.token_file import read_token

            return await asyncio.to_thread(read_token, self._source)
        async with self._fetching:
            # Looked at behind the lock: who had it may have fetched one.
            now_ms = self._clock.now().wall_ms
            if self._token is None or now_ms >= self._renew_at_ms:
                self._token = await self._fetch(self._source, now_ms)
                life_ms = self._token.expires_at_ms - now_ms
                self._renew_at_ms = now_ms + int(life_ms * _USED_FRACTION)
            return self._token

    async def _fetch(
        self, source: ProvidedToken | ClientCredentials | UnsecuredToken, now_ms: int
    ) -> OAuthBearerToken:
        if isinstance(source, UnsecuredToken):
            claims = {**source.claims, "iat": now_ms // 1000}
            return unsecured_token(claims, now_ms + source.lifetime_ms, source.extensions)
        if isinstance(source, ProvidedToken):
            try:
                async with asyncio.timeout(self._config.request_timeout_ms / 1000):
                    token = await _provided(source)
            except TimeoutError as error:
                raise RequestTimedOut(
                    "sasl_oauthbearer_token_provider returned no token within request_timeout_ms"
                ) from error
            except Exception as error:
                raise SaslAuthenticationFailed(
                    f"sasl_oauthbearer_token_provider raised {error!r}"
                ) from error
            if not isinstance(token, OAuthBearerToken):
                raise SaslAuthenticationFailed(
                    f"sasl_oauthbearer_token_provider must return an OAuthBearerToken, got {token!r}"
                )
            return token
        from millstream.net.client.token_endpoint import fetch_token

        backoff = Backoff(
            self._config.sasl_login_retry_backoff_ms, self._config.sasl_login_retry_backoff_max_ms
        )
        return await fetch_token(source, self._config, self._clock, backoff, self._random)


async def _provided(source: ProvidedToken) -> object:
    if inspect.iscoroutinefunction(source.provider):
        return await source.provider()
    given = await asyncio.to_thread(source.provider)
    return await cast("Awaitable[object]", given) if inspect.isawaitable(given) else given
