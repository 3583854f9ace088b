"""What a server stores of a SCRAM password (RFC 5802): keys that verify it and do not tell it."""

from __future__ import annotations

import hashlib
import hmac
from enum import IntEnum
from typing import Final, NamedTuple

_CLIENT_KEY: Final = b"Client Key"
_SERVER_KEY: Final = b"Server Key"


class ScramMechanism(IntEnum):
    """The numbers of the protocol."""

    SCRAM_SHA_256 = 1
    SCRAM_SHA_512 = 2

    @property
    def hash_name(self) -> str:
        return "sha256" if self is ScramMechanism.SCRAM_SHA_256 else "sha512"


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
