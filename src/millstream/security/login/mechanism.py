"""The interface of every SASL mechanism on the server's side: tokens in, one of four steps out; and the simplest one,
PLAIN (RFC 4616): name and password as they are, compared with those of the listener's JAAS text. No I/O.

A machine serves one exchange. Whatever bytes come, it answers with a step and raises nothing.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol


@dataclass(frozen=True, slots=True)
class SaslChallenge:
    """The exchange goes on: the client must answer this message."""

    message: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class SaslAccepted:
    """The client has proved who it is."""

    name: str
    """Of a user; for a delegation token that of its owner."""
    message: bytes = field(default=b"", repr=False)
    """The last one, which the client still wants."""
    token_authenticated: bool = False
    """Whether it logged in with a delegation token (KIP-48)."""
    expires_at_ms: int | None = None
    """When the credential ends, in milliseconds since 1970; None for one that does not."""


@dataclass(frozen=True, slots=True)
class SaslRefused:
    """The exchange has failed."""

    reason: str
    """For the log. It may name the user, and quotes no secret."""
    told: str | None = None
    """For the client. None: the sentence that tells nothing about users."""


@dataclass(frozen=True, slots=True)
class SaslWork:
    """The next step takes milliseconds of arithmetic: `do` is called where it holds up nobody, and
    what it returns is the step.
    """

    do: Callable[[], SaslChallenge | SaslAccepted | SaslRefused] = field(repr=False)


SaslStep = SaslChallenge | SaslAccepted | SaslRefused | SaslWork


class SaslServer(Protocol):
    def answer(self, token: bytes) -> SaslStep:
        """Returns what follows the client's next token. Not called again after SaslAccepted or SaslRefused."""
        ...


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
