"""The arithmetic of SCRAM (RFC 5802), for both sides: keys that verify a password and do
not tell it, proofs, signatures.
"""

from __future__ import annotations

import hashlib
import hmac
from enum import IntEnum
from typing import Final, NamedTuple

_CLIENT_KEY: Final = b"Client Key"
_SERVER_KEY: Final = b"Server Key"


class ScramMechanism(IntEnum):
    """The mechanisms, with their numbers in the protocol."""

    SCRAM_SHA_256 = 1
    SCRAM_SHA_512 = 2

    @property
    def hash_name(self) -> str:
        """The name of the hash in `hashlib`."""
        return "sha256" if self is ScramMechanism.SCRAM_SHA_256 else "sha512"

    @property
    def sasl_name(self) -> str:
        """The name in SASL, like SCRAM-SHA-256."""
        return self.name.replace("_", "-")


ITERATIONS_MIN: Final = 4096
ITERATIONS_MAX: Final = 16_384


class ScramKeys(NamedTuple):
    stored_key: bytes
    server_key: bytes


def scram_keys(mechanism: ScramMechanism, salted_password: bytes) -> ScramKeys:
    name = mechanism.hash_name
    client_key = hmac.digest(salted_password, _CLIENT_KEY, name)
    return ScramKeys(
        hashlib.new(name, client_key).digest(), hmac.digest(salted_password, _SERVER_KEY, name)
    )


def salted_password(
    mechanism: ScramMechanism, password: bytes, salt: bytes, iterations: int
) -> bytes:
    return hashlib.pbkdf2_hmac(mechanism.hash_name, password, salt, iterations)


def client_proof(mechanism: ScramMechanism, salted: bytes, auth_message: bytes) -> bytes:
    """Returns a proof that the client knows the password, for a server that has the stored key."""
    client_key = hmac.digest(salted, _CLIENT_KEY, mechanism.hash_name)
    stored_key = hashlib.new(mechanism.hash_name, client_key).digest()
    signature = hmac.digest(stored_key, auth_message, mechanism.hash_name)
    return bytes(a ^ b for a, b in zip(client_key, signature, strict=True))


def server_signature(mechanism: ScramMechanism, server_key: bytes, auth_message: bytes) -> bytes:
    return hmac.digest(server_key, auth_message, mechanism.hash_name)
