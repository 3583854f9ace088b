"""The interface of every SASL mechanism on the client's side: tokens out, challenges in. No I/O.

A machine serves one exchange; a client that authenticates again makes a new one.
"""

from __future__ import annotations

from typing import Protocol


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
