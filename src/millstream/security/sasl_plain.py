"""SASL PLAIN (RFC 4616): name and password as they are, so only TLS keeps them secret."""

from __future__ import annotations

from typing import Final


class PlainClient:
    mechanism: Final = "PLAIN"

    def __init__(self, username: str, password: str) -> None:
        self._username = username
        self._password = password

    def first(self) -> bytes:
        return f"\0{self._username}\0{self._password}".encode()

    def answer(self, challenge: bytes) -> None:
        """The server's only message is empty; a refusal is an error code, not a token."""
        del challenge
