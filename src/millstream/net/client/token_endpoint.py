"""Bearer tokens from an OAuth endpoint for a client's id and secret (RFC 6749, section 4.4; KIP-768).

Each attempt has `sasl_login_connect_timeout_ms` and `sasl_login_read_timeout_ms` for the whole answer.
"""

from __future__ import annotations

import asyncio
import base64
import http.client
import json
import ssl
import urllib.parse

from millstream.errors import ConfigError, NetworkException, SaslAuthenticationFailed
from millstream.net.client.config.security import SecurityConfig
from millstream.net.client.core.credentials import ClientCredentials
from millstream.net.client.core.outages import Backoff
from millstream.net.client.tls import load_authorities
from millstream.net.client.web_request import WebRequest, ask
from millstream.runtime import Clock, Random
from millstream.security.sasl_client import OAuthBearerToken, expiry_ms

_ATTEMPTS_MAX = 5
"""Ours: with pauses that double from `sasl_login_retry_backoff_ms`, 1.5 s in all. (Java's tries until
`sasl.login.retry.backoff.max.ms` has passed in all, 10 s.)"""
_TRY_AGAIN = frozenset({408, 429, *range(500, 600)})
"""What RFC 9110 and 6585 say may pass by itself."""


async def fetch_token(
    source: ClientCredentials,
    config: SecurityConfig,
    clock: Clock,
    backoff: Backoff,
    random: Random,
) -> OAuthBearerToken:
    """Fetches a token.

    Raises ConfigError where the URL cannot be asked, SaslAuthenticationFailed when the endpoint refuses,
    NetworkException when it cannot be had after retries.
    """
    request = _request(source, config)
    failure = ""
    cause: Exception | None = None
    for attempt in range(1, _ATTEMPTS_MAX + 1):
        try:
            status, body = await ask(
                request, config.sasl_login_connect_timeout_ms, config.sasl_login_read_timeout_ms
            )
        except ValueError as error:
            raise ConfigError(
                f"sasl_oauthbearer_token_endpoint_url: {source.url!r} cannot be asked: {error}"
            ) from error
        except (OSError, http.client.HTTPException) as error:
            failure, cause = str(error) or type(error).__name__, error
        else:
            if status == http.client.OK:
                return _token(source, body, clock.now().wall_ms)
            said = body[:500].decode(errors="replace")
            if status not in _TRY_AGAIN:
                raise SaslAuthenticationFailed(
                    f"{source.url} gave no token to {source.client_id!r}: status {status}, {said}"
                )
            failure, cause = f"status {status}, {said}", None
        if attempt < _ATTEMPTS_MAX:
            await asyncio.sleep(backoff.delay_ms(attempt, random) / 1000)
    raise NetworkException(
        f"no token from {source.url} in {_ATTEMPTS_MAX} attempts: {failure}"
    ) from cause


def _request(source: ClientCredentials, config: SecurityConfig) -> WebRequest:
    """Raises ConfigError where the URL cannot be asked."""
    url = urllib.parse.urlsplit(source.url)
    if url.scheme not in {"http", "https"}:
        raise ConfigError(
            f"sasl_oauthbearer_token_endpoint_url must begin with https:// or file:///, got {url.geturl()!r}"
        )
    tls = None
    if url.scheme == "https":
        tls = ssl.create_default_context()
        load_authorities(tls, config)
    form = {"grant_type": "client_credentials"}
    if source.scope is not None:
        form["scope"] = source.scope
    headers = {
        "Authorization": _basic(source, escape=config.sasl_oauthbearer_header_urlencode),
        "Content-Type": "application/x-www-form-urlencoded",
        "Accept": "application/json",
    }
    return WebRequest("POST", url, headers, urllib.parse.urlencode(form), tls)


def _basic(source: ClientCredentials, *, escape: bool) -> str:
    pair = [source.client_id, source.client_secret]
    if escape:
        pair = [urllib.parse.quote_plus(part) for part in pair]
    return "Basic " + base64.b64encode(":".join(pair).encode()).decode()


def _token(source: ClientCredentials, body: bytes, now_ms: int) -> OAuthBearerToken:
    try:
        answer = json.loads(body)
        value = answer["access_token"]
        lifetime_s = answer.get("expires_in")
        expires_at_ms = now_ms + int(lifetime_s * 1000) if lifetime_s else expiry_ms(value)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise SaslAuthenticationFailed(
            f"{source.url} answered without an access_token as RFC 6749 describes it"
        ) from error
    if expires_at_ms is None:
        raise SaslAuthenticationFailed(f"{source.url}: the token does not say when it expires")
    return OAuthBearerToken(value, expires_at_ms, source.extensions)
