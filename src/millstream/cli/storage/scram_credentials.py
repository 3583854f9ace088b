"""Credentials on the command line, `SCRAM-SHA-256=[name=alice,password=alice-secret]`, as records of a new cluster.

The sentences are those of Kafka's tool.
"""

from __future__ import annotations

import base64
import binascii
from typing import Final

from millstream.cli.arguments import whole_number
from millstream.cli.storage.errors import FormatError
from millstream.protocol.generated.metadata_records import UserScramCredentialRecord
from millstream.runtime import Random
from millstream.security.scram import (
    ITERATIONS_MAX,
    ITERATIONS_MIN,
    ScramMechanism,
    salted_password,
    scram_keys,
)

_SALT_BYTES: Final = 32
"""Twice what NIST SP 800-132 asks for; a client is told it at each login."""
_MECHANISMS: Final = {mechanism.sasl_name: mechanism for mechanism in ScramMechanism}


def scram_record(text: str, random: Random) -> UserScramCredentialRecord:
    """Returns the record of one credential. Raises FormatError.

    Keys: `name`; `password`, or `saltedpassword` with `salt`; `salt` (random) and `iterations` (4096). Values
    may stand in double quotes.
    """
    mechanism, fields = _mechanism_and_fields(text.strip())
    name = fields.pop("name", None)
    if name is None:
        raise FormatError("You must supply 'name' to add-scram")
    salt = _decoded_field(fields, "salt", "salt")
    iterations = _iterations(fields.pop("iterations", str(ITERATIONS_MIN)))
    password, salted = _secret(fields, salt)
    if fields:
        raise FormatError(f"Unknown SCRAM configurations: {', '.join(sorted(fields))}")
    _check_iterations(iterations, mechanism)
    if salt is None:
        salt = random.randbytes(_SALT_BYTES)
    if salted is None:
        salted = salted_password(mechanism, password.encode(), salt, iterations)
    keys = scram_keys(mechanism, salted)
    return UserScramCredentialRecord(
        name=name,
        mechanism=mechanism,
        salt=salt,
        stored_key=keys.stored_key,
        server_key=keys.server_key,
        iterations=iterations,
    )


def _mechanism_and_fields(text: str) -> tuple[ScramMechanism, dict[str, str]]:
    name, equals, configuration = text.partition("=")
    if not equals:
        raise FormatError(f"Failed to find equals sign in SCRAM argument '{text}'")
    mechanism = _MECHANISMS.get(name)
    if mechanism is None:
        raise FormatError(f"The add-scram mechanism {name} is not supported.")
    if not configuration.startswith("["):
        raise FormatError("Expected configuration string to start with [")
    if not configuration.endswith("]"):
        raise FormatError("Expected configuration string to end with ]")
    return mechanism, dict(map(_field, configuration[1:-1].split(",")))


def _field(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise FormatError(f"No equals sign found in SCRAM component: {text}")
    is_quoted = len(value) > 1 and value[0] == value[-1] == '"'
    return name, value[1:-1] if is_quoted else value


def _secret(fields: dict[str, str], salt: bytes | None) -> tuple[str, bytes | None]:
    """Returns the password, or the salted one that is given in its place."""
    password = fields.pop("password", None)
    if password is not None:
        return password, None
    if "saltedpassword" not in fields:
        raise FormatError("You must supply one of 'password' or 'saltedpassword' to add-scram")
    if salt is None:
        raise FormatError("You must supply 'salt' with 'saltedpassword' to add-scram")
    return "", _decoded_field(fields, "saltedpassword", "saltedPassword")


def _decoded_field(fields: dict[str, str], key: str, told: str) -> bytes | None:
    text = fields.pop(key, None)
    try:
        return None if text is None else base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise FormatError(f"Failed to decode given {told}: {text}") from None


def _iterations(text: str) -> int:
    try:
        return whole_number(text)
    except ValueError:
        raise FormatError(f"Failed to parse iterations count: {text}") from None


def _check_iterations(iterations: int, mechanism: ScramMechanism) -> None:
    if ITERATIONS_MIN <= iterations <= ITERATIONS_MAX:
        return
    limit = f">= {ITERATIONS_MIN}" if iterations < ITERATIONS_MIN else f"<= {ITERATIONS_MAX}"
    raise FormatError(
        f"The 'iterations' value must be {limit} for add-scram using {mechanism.name}"
    )
