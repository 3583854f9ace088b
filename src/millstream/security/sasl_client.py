"""SASL on the client's side, tokens out, challenges in: the interface of every mechanism, PLAIN and OAUTHBEARER. No
I/O.

A machine serves one exchange; a client that authenticates again makes a new one. OAUTHBEARER is RFC 7628 and KIP-255,
with unsigned tokens, for tests: here is the form of messages and what a token says of itself; where tokens come from is
the caller's.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol

from millstream.errors import ConfigError


class SaslClient(Protocol):
    @property
    def mechanism(self) -> str:
        """The name that SaslHandshake carries."""
        ...

    def first(self) -> bytes:
        """Returns the token that opens the exchange."""
        ...

    def answer(self, challenge: bytes) -> bytes | None:
        """Returns the token after `challenge`; None when the exchange is complete.

        Raises SaslAuthenticationFailed when the server's words cannot be trusted.
        """
        ...


class PlainClient:
    """SASL PLAIN (RFC 4616): name and password as they are, so only TLS keeps them secret."""

    mechanism: Final = "PLAIN"

    def __init__(self, username: str, password: str) -> None:
        self._username = username
        self._password = password

    def first(self) -> bytes:
        return f"\0{self._username}\0{self._password}".encode()

    def answer(self, challenge: bytes) -> None:
        """The server's only message is empty; a refusal is an error code, not a token."""
        del challenge


_SEPARATOR: Final = "\x01"
_GIVE_UP: Final = b"\x01"
_EXTENSION_NAME: Final = re.compile(r"[A-Za-z]+")
_EXTENSION_VALUE: Final = re.compile(r"[\x21-\x7e \t\r\n]+")


@dataclass(frozen=True, slots=True)
class OAuthBearerToken:
    """A token.

    `expires_at_ms` is wall-clock time, milliseconds since 1970. Extensions go to the broker with the token (KIP-342).
    """

    value: str = field(repr=False)
    expires_at_ms: int
    extensions: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, value in self.extensions.items():
            if name == "auth" or not _EXTENSION_NAME.fullmatch(name):
                raise ConfigError(f"{name!r} cannot name a SASL extension; use letters, not auth")
            if not _EXTENSION_VALUE.fullmatch(value):
                raise ConfigError(f"the SASL extension {name} has characters that cannot be sent")


class OAuthBearerClient:
    mechanism: Final = "OAUTHBEARER"

    def __init__(self, token: OAuthBearerToken) -> None:
        self._token = token

    def first(self) -> bytes:
        pairs = [("auth", f"Bearer {self._token.value}"), *self._token.extensions.items()]
        parts = [f"{name}={value}" for name, value in pairs]
        return _SEPARATOR.join(["n,,", *parts, _SEPARATOR]).encode()

    def answer(self, challenge: bytes) -> bytes | None:
        """A challenge is the server's complaint as JSON; after our answer to it the refusal comes as an error code."""
        return _GIVE_UP if challenge else None


def unsecured_token(
    claims: Mapping[str, object], expires_at_ms: int, extensions: Mapping[str, str] | None = None
) -> OAuthBearerToken:
    """Returns a token without a signature (RFC 7515, appendix A.5): brokers take it in tests only."""
    parts = [{"alg": "none"}, {**claims, "exp": expires_at_ms // 1000}]
    text = ".".join(_base64url(json.dumps(part, separators=(",", ":"))) for part in parts)
    return OAuthBearerToken(f"{text}.", expires_at_ms, extensions or {})


def expiry_ms(token: str) -> int | None:
    """Returns the time at which a JSON Web Token expires by its own `exp`, in ms since 1970; None
    when it does not say.
    """
    try:
        payload = token.split(".")[1]
        claims = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
        return int(claims["exp"] * 1000)
    except (IndexError, KeyError, TypeError, ValueError, binascii.Error):
        return None


def _base64url(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).rstrip(b"=").decode()
