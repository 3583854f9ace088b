"""The stores of a listener, which are PEM (KIP-651): which settings go together, and what a text must have in it.

A key store is one private key and the chain of its certificate, the own one first; a trust store is the certificates of
authorities. Each is a file or a text. Every refusal says what to change; none quotes a secret.
"""

from __future__ import annotations

import binascii
import re
from base64 import b64decode
from dataclasses import dataclass, field
from typing import Final

from millstream.errors import ConfigError

PEM: Final = "PEM"
_BLOCK: Final = re.compile(
    r"-+BEGIN ([A-Z0-9 ]*?)-+\s+((?:[^\r\n]*:[^\r\n]*[\r\n]+)*)([a-zA-Z0-9/+=\s]*?)-+END \1-+"
)
_CERTIFICATE: Final = re.compile(r"(?:X509 |TRUSTED )?CERTIFICATE")
_KEY: Final = "PRIVATE KEY"
_LINE_LENGTH: Final = 64
_CONVERT: Final = (
    "this version reads PEM only: export key and certificates (keytool -importkeystore to PKCS12, then openssl pkcs12 -in STORE -out STORE.pem), "
    "and set {prefix}ssl.{store}.type=PEM and no {prefix}ssl.{store}.password"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreSettings:
    """The two stores as the settings name them.

    `prefix` stands before their keys in sentences, such as `listener.name.tls.`.
    """

    prefix: str = ""
    keystore_type: str = "JKS"
    keystore_location: str | None = None
    keystore_password: str | None = field(default=None, repr=False)
    keystore_key: str | None = field(default=None, repr=False)
    keystore_certificate_chain: str | None = field(default=None, repr=False)
    key_password: str | None = field(default=None, repr=False)
    truststore_type: str = "JKS"
    truststore_location: str | None = None
    truststore_password: str | None = field(default=None, repr=False)
    truststore_certificates: str | None = field(default=None, repr=False)

    @property
    def has_key(self) -> bool:
        return self.keystore_location is not None or self.keystore_key is not None

    @property
    def has_authorities(self) -> bool:
        return self.truststore_location is not None or self.truststore_certificates is not None


@dataclass(frozen=True, slots=True)
class KeyStore:
    """`pem`: key and chain as text, the key as it was given; `password` opens it.

    `chain`: the certificates in DER, the own one first.
    """

    pem: str = field(repr=False)
    password: str | None = field(repr=False)
    chain: tuple[bytes, ...] = field(repr=False)


def check_store_settings(settings: StoreSettings) -> None:
    """Raises ConfigError where the settings do not go together, before any file is read."""
    prefix = settings.prefix
    _check_store(
        prefix, "keystore", kind=settings.keystore_type, location=settings.keystore_location, password=settings.keystore_password,
        texts={"key": settings.keystore_key, "certificate.chain": settings.keystore_certificate_chain},
    )  # fmt: skip
    _check_store(
        prefix, "truststore", kind=settings.truststore_type, location=settings.truststore_location, password=settings.truststore_password,
        texts={"certificates": settings.truststore_certificates},
    )  # fmt: skip
    if (settings.keystore_key is None) != (settings.keystore_certificate_chain is None):
        raise ConfigError(
            f"{prefix}ssl.keystore.key and {prefix}ssl.keystore.certificate.chain belong together: give both"
        )


def read_key_store(what: str, key: str, chain: str, password: str | None) -> KeyStore:
    """Reads a key store of which `key` and `chain` are the texts, or the same text twice.

    `what` begins the sentences of refusals.

    Whether the password opens the key, and whether the key is that of the certificate, is seen when both are
    used. Raises ConfigError.
    """
    keys = [each for each in _BLOCK.finditer(key) if each[1].endswith(_KEY)]
    if len(keys) != 1:
        raise ConfigError(
            f"{what} has {len(keys) or 'no'} private keys in PEM form where one is needed"
        )
    is_encrypted = "ENCRYPTED" in keys[0][1] or "ENCRYPTED" in keys[0][2]
    if is_encrypted and not password:
        raise ConfigError(f"{what} has an encrypted private key: ssl.key.password must open it")
    certificates = _certificates(what, chain)
    blocks = [keys[0], *_certificate_blocks(chain)]
    return KeyStore("".join(map(_with_line_ends, blocks)), password, certificates)


def read_trust_store(what: str, text: str) -> str:
    """Returns the certificates of a trust store, as PEM without anything else. Raises ConfigError."""
    _certificates(what, text)
    return "".join(map(_with_line_ends, _certificate_blocks(text)))


def _check_store(
    prefix: str,
    store: str,
    *,
    kind: str,
    location: str | None,
    password: str | None,
    texts: dict[str, str | None],
) -> None:
    given = [f"{prefix}ssl.{store}.{key}" for key, value in texts.items() if value is not None]
    if location is None and not given:
        if password is not None:
            raise ConfigError(f"{prefix}ssl.{store}.password is given, and no {store}: remove it")
        return
    if kind.upper() != PEM:
        kind_key = f"{prefix}ssl.{store}.type"
        raise ConfigError(f"{kind_key} is {kind}: {_CONVERT.format(prefix=prefix, store=store)}")
    if location is not None and given:
        raise ConfigError(f"give {prefix}ssl.{store}.location or {given[0]}, not both")
    if password is not None:
        raise ConfigError(
            f"{prefix}ssl.{store}.password: a PEM store has none; a private key has ssl.key.password"
        )


def _with_line_ends(block: re.Match[str]) -> str:
    """As OpenSSL wants it: a text in a property file often has blanks in their place, which Kafka takes."""
    name, headers, content = block[1], block[2], "".join(block[3].split())
    lines = [content[at : at + _LINE_LENGTH] for at in range(0, len(content), _LINE_LENGTH)]
    inner = "".join(f"{line}\n" for line in lines)
    between = f"{headers.rstrip()}\n\n" if headers else ""
    return f"-----BEGIN {name}-----\n{between}{inner}-----END {name}-----\n"


def _certificate_blocks(text: str) -> list[re.Match[str]]:
    return [each for each in _BLOCK.finditer(text) if _CERTIFICATE.fullmatch(each[1])]


def _certificates(what: str, text: str) -> tuple[bytes, ...]:
    found = _certificate_blocks(text)
    if not found:
        raise ConfigError(f"{what} has no certificate in PEM form")
    try:
        return tuple(b64decode("".join(each[3].split()), validate=True) for each in found)
    except binascii.Error:
        raise ConfigError(f"{what} has a certificate that is damaged") from None
