"""SASL PLAIN from the server's side (RFC 4616): name and password as they are, compared with those
of the listener's JAAS text.
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from typing import Final

from millstream.security.login.mechanism import SaslAccepted, SaslRefused, SaslStep

_NAME_TOLD_MAX: Final = 64
"""Of a name that nobody has checked so much is logged."""
_PARTS: Final = 3
_WRONG: Final = "Authentication failed: Invalid username or password"
_NOBODY: Final = b"\0"
"""The password of names that do not exist: no client can send it, since NUL ends the password."""


class PlainServer:
    """One exchange, which has one message. The texts for clients are Kafka's."""

    def __init__(self, passwords: Mapping[str, str]) -> None:
        self._passwords = passwords

    def answer(self, token: bytes) -> SaslStep:
        parts = token.decode("utf-8", "replace").split("\0", _PARTS)
        if len(parts) != _PARTS:
            told = f"Invalid SASL/PLAIN response: expected 3 tokens, got {len(parts)}"
            return SaslRefused("the PLAIN message is none", told)
        authorization_id, name, password = parts
        if not name:
            return SaslRefused("no user name", "Authentication failed: username not specified")
        if not password:
            return SaslRefused("no password", "Authentication failed: password not specified")
        known = self._passwords.get(name)
        expected = _NOBODY if known is None else known.encode()
        if not hmac.compare_digest(expected, password.encode()) or known is None:
            return SaslRefused(f"wrong user name or password for {name[:_NAME_TOLD_MAX]!r}", _WRONG)
        if authorization_id not in {"", name}:
            return SaslRefused(
                f"user {name!r} asks to act as another one",
                "Authentication failed: Client requested an authorization id that is different from username",
            )
        return SaslAccepted(name)
