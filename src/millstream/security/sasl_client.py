"""The interface of every SASL mechanism on the client's side, tokens out, challenges in, and the simplest one. No I/O.

A machine serves one exchange; a client that authenticates again makes a new one.
"""

from __future__ import annotations

from typing import Final, Protocol


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
