"""SCRAM from the client's side (RFC 5802, 7677; KIP-84): both ends prove that they know the password, none says it.

The arithmetic is in `scram`. Kafka does not normalize names and passwords (no SASLprep), so neither is done here.
"""

from __future__ import annotations

import base64
import binascii
import hmac
from typing import Final

from millstream.errors import SaslAuthenticationFailed
from millstream.security.scram import (
    ITERATIONS_MIN,
    ScramMechanism,
    client_proof,
    salted_password,
    scram_keys,
    server_signature,
)

_NO_CHANNEL_BINDING: Final = "n,,"
_ITERATIONS_ACCEPTED_MAX: Final = 1_000_000
"""A second of hashing: a server that wants more wants to keep us busy."""


class ScramClient:
    """The client's side of SCRAM. `nonce` is printable, has no comma, and must be unpredictable."""

    def __init__(
        self,
        mechanism: ScramMechanism,
        username: str,
        password: str,
        nonce: str,
        *,
        token_auth: bool = False,
    ) -> None:
        """`token_auth`: name and password are the id and the HMAC of a delegation token (KIP-48)."""
        self._mechanism = mechanism
        self._password = password.encode()
        self._nonce = nonce
        extensions = ",tokenauth=true" if token_auth else ""
        self._first_bare = f"n={_escaped(username)},r={nonce}{extensions}"
        self._expected_signature: bytes | None = None

    @property
    def mechanism(self) -> str:
        return self._mechanism.sasl_name

    def first(self) -> bytes:
        return (_NO_CHANNEL_BINDING + self._first_bare).encode()

    def answer(self, challenge: bytes) -> bytes | None:
        attributes = _attributes(challenge)
        if self._expected_signature is None:
            return self._client_final_message(challenge.decode(), attributes)
        if "e" in attributes:
            raise SaslAuthenticationFailed(f"the broker refused the proof: {attributes['e']}")
        signature = _decoded(attributes.get("v", ""))
        if not hmac.compare_digest(signature, self._expected_signature):
            raise SaslAuthenticationFailed(
                "the broker could not prove that it knows the password; it may not be the one you mean"
            )
        return None

    def _client_final_message(self, server_first: str, attributes: dict[str, str]) -> bytes:
        if "e" in attributes:
            raise SaslAuthenticationFailed(f"the broker refused: {attributes['e']}")
        nonce, iterations_text = attributes.get("r", ""), attributes.get("i", "")
        if not nonce.startswith(self._nonce) or nonce == self._nonce:
            raise SaslAuthenticationFailed("the broker's nonce does not continue ours")
        iterations = int(iterations_text) if iterations_text.isdecimal() else 0
        if not ITERATIONS_MIN <= iterations <= _ITERATIONS_ACCEPTED_MAX:
            raise SaslAuthenticationFailed(
                f"the broker asks for {iterations_text or 'no'} iterations;"
                f" {ITERATIONS_MIN} to {_ITERATIONS_ACCEPTED_MAX} are accepted"
            )
        salted = salted_password(
            self._mechanism, self._password, _decoded(attributes.get("s", "")), iterations
        )
        binding = base64.b64encode(_NO_CHANNEL_BINDING.encode()).decode()
        without_proof = f"c={binding},r={nonce}"
        auth_message = f"{self._first_bare},{server_first},{without_proof}".encode()
        server_key = scram_keys(self._mechanism, salted).server_key
        self._expected_signature = server_signature(self._mechanism, server_key, auth_message)
        proof = base64.b64encode(client_proof(self._mechanism, salted, auth_message)).decode()
        return f"{without_proof},p={proof}".encode()


def _escaped(name: str) -> str:
    return name.replace("=", "=3D").replace(",", "=2C")


def _attributes(message: bytes) -> dict[str, str]:
    try:
        parts = message.decode().split(",")
    except UnicodeDecodeError as error:
        raise SaslAuthenticationFailed("the broker's SCRAM message is not text") from error
    return {part[0]: part[2:] for part in parts if part[1:2] == "="}


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise SaslAuthenticationFailed("the broker's SCRAM message is not base64") from error
