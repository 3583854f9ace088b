"""The interface of every SASL mechanism on the server's side: tokens in, one of four steps out. No I/O.

A machine serves one exchange. Whatever bytes come, it answers with a step and raises nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol


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
