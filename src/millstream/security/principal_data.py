"""A principal as bytes in an envelope, as Kafka's DefaultKafkaPrincipalBuilder writes and reads it."""

from __future__ import annotations

from typing import Final

from millstream.errors import (
    MalformedMessage,
    PrincipalDeserializationFailure,
    UnsupportedVersion,
)
from millstream.protocol.generated.other_records import DefaultPrincipalData
from millstream.protocol.record_frames import decode_versioned, encode_versioned
from millstream.security.principal import KafkaPrincipal

_VERSION: Final = 0


def encode_principal(principal: KafkaPrincipal) -> bytes:
    data = DefaultPrincipalData(
        type=principal.principal_type,
        name=principal.name,
        token_authenticated=principal.token_authenticated,
    )
    return encode_versioned(data, _VERSION)


def decode_principal(data: bytes | None) -> KafkaPrincipal:
    """Returns the principal. Raises PrincipalDeserializationFailure."""
    if data is None:
        raise PrincipalDeserializationFailure("the envelope has no principal")
    try:
        decoded = decode_versioned(DefaultPrincipalData, data)
    except (MalformedMessage, UnsupportedVersion) as error:
        raise PrincipalDeserializationFailure(f"the principal cannot be read: {error}") from error
    return KafkaPrincipal(decoded.type, decoded.name, decoded.token_authenticated)
