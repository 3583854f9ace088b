"""Bearer tokens of a client: from a function of the user's, from an OAuth endpoint, from a file, or unsecured.

Kept while they last; a file is read at each login, which costs less than to watch it.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Awaitable
from typing import Final, cast

from millstream.errors import KafkaError, RequestTimedOut, SaslAuthenticationFailed
from millstream.net.client.config.connection import ConnectionConfig
from millstream.net.client.core.credentials import (
    ClientCredentials,
    FileToken,
    ProvidedToken,
    TokenSource,
    UnsecuredToken,
)
from millstream.net.client.core.outages import Backoff
from millstream.runtime import Clock, Random
from millstream.security.sasl_client import OAuthBearerToken, unsecured_token

_USED_FRACTION = 0.8
"""A token is fetched anew after four fifths of its life, as Java's clients do
(`sasl.login.refresh.window.factor`)."""
_AGAIN_MS: Final = 10_000
"""After a failure, while the token of before is good: Java's
(`DELAY_SECONDS_BEFORE_NEXT_RETRY_WHEN_RELOGIN_FAILS`)."""
_LOGGER = logging.getLogger(__name__)


class BearerTokens:
    """`get` gives a token that is still good; many callers cost one fetch, and share its failure."""

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
        self._failure: KafkaError | None = None
        """The last one."""

    async def get(self) -> OAuthBearerToken:
        """Returns a token.

        Raises SaslAuthenticationFailed when the token provider refuses, NetworkException when it cannot be asked.
        """
        if isinstance(self._source, FileToken):
            from millstream.net.client.token_file import read_token

            return await asyncio.to_thread(read_token, self._source)
        before = self._failure
        async with self._fetching:
            # Looked at behind the lock: who had it may have fetched one, or have found that there is none to be had.
            now_ms = self._clock.now().wall_ms
            if self._token is not None and now_ms < self._renew_at_ms:
                return self._token
            failure = self._failure
            if failure is not None and failure is not before:
                raise type(failure)(str(failure)) from failure
            return await self._renewed(self._source, now_ms)

    async def _renewed(
        self, source: ProvidedToken | ClientCredentials | UnsecuredToken, now_ms: int
    ) -> OAuthBearerToken:
        """Returns a new token, or the one of before while that is good and no other can be had."""
        try:
            token = await self._fetch(source, now_ms)
        except KafkaError as error:
            self._failure = error
            kept, now_ms = self._token, self._clock.now().wall_ms
            if kept is None or now_ms >= kept.expires_at_ms:
                raise
            _LOGGER.warning("no new bearer token, the one of before is used: %s", error)
            self._renew_at_ms = min(now_ms + _AGAIN_MS, kept.expires_at_ms)
            return kept
        self._token = token
        self._renew_at_ms = now_ms + int((token.expires_at_ms - now_ms) * _USED_FRACTION)
        return token

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
