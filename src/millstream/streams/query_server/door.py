"""The door of a query server, open to holders of its token, processes with a certificate, or
whoever reaches the address.

State is data. A server that other machines reach begins with one of the first two, or is told in so
many words to do without.
"""

from __future__ import annotations

import hmac
import ssl
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from starlette.datastructures import Headers

from millstream.errors import ConfigError
from millstream.net.loopback import is_loopback
from millstream.net.tls_contexts import client_context, load_stores, server_context
from millstream.security.tls.stores import PEM, StoreSettings
from millstream.security.tls.tls_settings import ClientAuth, TlsSettings

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

TOKEN_CHARACTERS_MIN: Final = 16
"""Shorter ones can be guessed."""
_BEARER: Final = "bearer"


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryTls:
    """The TLS of a query server, and of its questions to other instances. Files are PEM."""

    keystore_location: str
    """A private key and its certificates, for the host of `application_server`; shown to
    clients and to other instances."""
    truststore_location: str | None = None
    """The authorities whose certificates clients must show, and instances have. None: no certificate is asked for, and
    instances are believed that the authorities of this machine vouch for."""

    @property
    def asks_for_certificates(self) -> bool:
        return self.truststore_location is not None

    def contexts(self) -> tuple[ssl.SSLContext, ssl.SSLContext]:
        """Returns that of the server, and that for questions to others.

        Raises ConfigError for files that cannot be used.
        """
        trusts = self.truststore_location is not None
        settings = TlsSettings(
            listener="of the query server",
            stores=StoreSettings(
                keystore_type=PEM,
                keystore_location=self.keystore_location,
                truststore_type=PEM,
                truststore_location=self.truststore_location,
            ),
            client_auth=ClientAuth.REQUIRED if trusts else ClientAuth.NONE,
        )
        stores = load_stores(settings.stores)
        return server_context(settings, stores), client_context(settings, stores)


def check_door(host: str, *, token: str | None, tls: QueryTls | None, open_to_all: bool) -> None:
    """Raises ConfigError for a server that would let everybody in without having been told to."""
    if token is not None:
        check_token(token)
    is_guarded = token is not None or (tls is not None and tls.asks_for_certificates)
    if not (is_guarded or open_to_all or is_loopback(host)):
        raise ConfigError(
            f"the query server at {host or '*'} could be asked by whoever reaches it: give all instances the same token=…, or "
            "tls=QueryTls(…) with a truststore_location, or open_to_all=True if the stores are no secret on that network"
        )


def check_token(token: str) -> None:
    """Raises ConfigError for a token that can be guessed, or that no header carries as it is: nobody could show it."""
    is_sayable = token.isascii() and token.isprintable() and " " not in token
    if len(token) < TOKEN_CHARACTERS_MIN or not is_sayable:
        raise ConfigError(
            f"the token of a query server has at least {TOKEN_CHARACTERS_MIN} characters, all of them printable ASCII and none a blank "
            "or a line end: secrets.token_urlsafe() makes one"
        )


class TokenGuard:
    """Lets requests through that bring the token (`Authorization: Bearer TOKEN`).

    Of others nothing but headers is read.
    """

    def __init__(self, application: ASGIApp, token: str, refusal: ASGIApp) -> None:
        self._application = application
        self._token = token.encode()
        self._refusal = refusal

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_let_in = scope["type"] == "lifespan" or self._is_shown(Headers(scope=scope))
        await (self._application if is_let_in else self._refusal)(scope, receive, send)

    def _is_shown(self, headers: Headers) -> bool:
        scheme, _, shown = headers.get("authorization", "").partition(" ")
        is_same = hmac.compare_digest(self._token, shown.strip().encode())
        return scheme.lower() == _BEARER and is_same
