"""Bearer tokens from an OAuth endpoint for a client's id and secret (RFC 6749, section 4.4; KIP-768).

Blocking HTTP, in a thread.
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
from millstream.net.client.core.backoff import Backoff
from millstream.net.client.core.credentials import ClientCredentials
from millstream.net.client.tls import load_authorities
from millstream.runtime import Clock, Random
from millstream.security.sasl_oauthbearer import OAuthBearerToken, expiry_ms

_ANSWER_BYTES_MAX = 1024 * 1024
"""Ours: a token has some kilobytes, and an address that was mistyped may have a film."""
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

    Raises SaslAuthenticationFailed when the endpoint refuses, NetworkException when it cannot be had after retries.
    """
    failure = ""
    cause: Exception | None = None
    for attempt in range(1, _ATTEMPTS_MAX + 1):
        try:
            status, body = await asyncio.to_thread(_post, source, config)
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


def _post(source: ClientCredentials, config: SecurityConfig) -> tuple[int, bytes]:
    url = urllib.parse.urlsplit(source.url)
    connection = _connection(url, config)
    try:
        connection.connect()
        connection.sock.settimeout(config.sasl_login_read_timeout_ms / 1000)
        form = {"grant_type": "client_credentials"}
        if source.scope is not None:
            form["scope"] = source.scope
        target = urllib.parse.urlunsplit(("", "", url.path or "/", url.query, ""))
        headers = {
            "Authorization": _basic(source, escape=config.sasl_oauthbearer_header_urlencode),
            "Content-Type": "application/x-www-form-urlencoded",
            "Accept": "application/json",
        }
        connection.request("POST", target, urllib.parse.urlencode(form), headers)
        response = connection.getresponse()
        return response.status, response.read(_ANSWER_BYTES_MAX)
    finally:
        connection.close()


def _connection(
    url: urllib.parse.SplitResult, config: SecurityConfig
) -> http.client.HTTPConnection:
    timeout_s = config.sasl_login_connect_timeout_ms / 1000
    if url.scheme == "http":
        return http.client.HTTPConnection(url.hostname or "", url.port, timeout=timeout_s)
    if url.scheme != "https":
        raise ConfigError(
            f"sasl_oauthbearer_token_endpoint_url must begin with https:// or file:///, got {url.geturl()!r}"
        )
    context = ssl.create_default_context()
    load_authorities(context, config)
    return http.client.HTTPSConnection(
        url.hostname or "", url.port, timeout=timeout_s, context=context
    )


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
