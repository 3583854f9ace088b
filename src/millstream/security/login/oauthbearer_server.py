"""SASL OAUTHBEARER from the server's side (RFC 7628, KIP-255, KIP-768).

Owns the form of messages; who is to be believed is `validate`'s.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from millstream.security.login.mechanism import (
    SaslAccepted,
    SaslChallenge,
    SaslRefused,
    SaslStep,
    SaslWork,
)

_SEPARATOR: Final = "\x01"
_GIVE_UP: Final = b"\x01"
_REFUSAL: Final = '{"status":"invalid_token"}'
_MESSAGE_BYTES_MAX: Final = 64 * 1024
"""A token with thousands of claims; every byte of it is looked at before its signature is."""
_SASL_NAME: Final = r"(?:[\x01-\x2b\x2d-\x3c\x3e-\x7f]|=2C|=3D)+"
_HEADER: Final = re.compile(rf"n,(?:a=(?P<authzid>{_SASL_NAME}))?,")
_PAIR: Final = re.compile(r"(?P<key>[A-Za-z]+)=(?P<value>[\x21-\x7e \t\r\n]+)")
_AUTH: Final = re.compile(r"(?P<scheme>\w+) +(?P<token>[-_.a-zA-Z0-9]+)", re.ASCII)


@dataclass(frozen=True, slots=True)
class BearerIdentity:
    """Whom a token that was believed stands for."""

    name: str
    expires_at_ms: int


class BearerTokenRefused(Exception):
    """A token is not believed. The sentence is for the log and quotes no part of the token."""


@dataclass(frozen=True, slots=True)
class _FirstMessage:
    authorization_id: str
    token: str = field(repr=False)


class OAuthBearerServer:
    """One exchange: a token, and where it is refused the reason as JSON, to which the client answers with one byte."""

    def __init__(self, validate: Callable[[str], BearerIdentity]) -> None:
        """`validate` raises BearerTokenRefused. It is called where it holds up nobody, since it computes signatures."""
        self._validate = validate
        self._refused_because: str | None = None

    def answer(self, token: bytes) -> SaslStep:
        if self._refused_because is not None:
            told = _REFUSAL if token == _GIVE_UP else None
            return SaslRefused(self._refused_because, told)
        message = _parsed(token)
        if isinstance(message, str):
            return SaslRefused(message)
        first = message
        return SaslWork(lambda: self._judge(first))

    def _judge(self, message: _FirstMessage) -> SaslChallenge | SaslAccepted | SaslRefused:
        try:
            identity = self._validate(message.token)
        except BearerTokenRefused as refused:
            self._refused_because = f"the token is refused: {refused}"
            return SaslChallenge(_REFUSAL.encode())
        if message.authorization_id not in {"", identity.name}:
            return SaslRefused(
                f"the bearer of a token of {identity.name!r} asks to act as another one",
                f"Authentication failed: Client requested an authorization id ({message.authorization_id}) that is different from "
                f"the token's principal name ({identity.name})",
            )
        return SaslAccepted(identity.name, expires_at_ms=identity.expires_at_ms)


def _parsed(message: bytes) -> _FirstMessage | str:
    """Returns the parts of a first message, or in one sentence what is wrong with it."""
    if len(message) > _MESSAGE_BYTES_MAX:
        return f"an OAUTHBEARER message of {len(message)} bytes, which is more than {_MESSAGE_BYTES_MAX}"
    text = message.decode("ascii", "replace")
    header = _HEADER.match(text)
    if header is None or not text.startswith(_SEPARATOR, header.end()):
        return "the first OAUTHBEARER message is none"
    parts = text[header.end() + 1 :].split(_SEPARATOR)
    if parts[-2:] != ["", ""]:
        return "the first OAUTHBEARER message does not end"
    pairs = {}
    for part in parts[:-2]:
        pair = _PAIR.fullmatch(part)
        if pair is None:
            return "an extension of the OAUTHBEARER message is none"
        pairs[pair["key"]] = pair["value"]
    auth = _AUTH.fullmatch(pairs.get("auth", ""))
    if auth is None or auth["scheme"].lower() != "bearer":
        return "the OAUTHBEARER message has no bearer token"
    return _FirstMessage(header["authzid"] or "", auth["token"])
