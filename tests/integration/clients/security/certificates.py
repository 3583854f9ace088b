"""Certificates for the tests of TLS: an authority of our own and what it issues, as PEM files."""

from __future__ import annotations

import datetime as dt
import ipaddress
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

_LONG_AGO = dt.datetime(2020, 1, 1, tzinfo=dt.UTC)
_FAR_AWAY = dt.datetime(2090, 1, 1, tzinfo=dt.UTC)


class Authority:
    def __init__(self, directory: Path, name: str = "test authority") -> None:
        self._directory = directory
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _named(name)
        builder = _builder(self._name, self._name, self._key, _FAR_AWAY)
        builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), True)
        builder = builder.add_extension(
            x509.SubjectKeyIdentifier.from_public_key(self._key.public_key()), False
        )
        self._certificate = builder.sign(self._key, hashes.SHA256())
        self.path = directory / f"{name.replace(' ', '-')}.pem"
        self.path.write_bytes(self._certificate.public_bytes(serialization.Encoding.PEM))

    def issue(
        self, name: str, *, expired: bool = False, host: str = "127.0.0.1", password: str = ""
    ) -> Path:
        """A PEM file with key and certificate chain; `host` is an IP address or a name."""
        key = ec.generate_private_key(ec.SECP256R1())
        end = dt.datetime(2021, 1, 1, tzinfo=dt.UTC) if expired else _FAR_AWAY
        builder = _builder(_named(name), self._name, key, end)
        builder = builder.add_extension(x509.SubjectAlternativeName([_alternative(host)]), False)
        builder = builder.add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()), False
        )
        certificate = builder.sign(self._key, hashes.SHA256())
        encryption: serialization.KeySerializationEncryption = serialization.NoEncryption()
        if password:
            encryption = serialization.BestAvailableEncryption(password.encode())
        path = self._directory / f"{name}.pem"
        path.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, encryption
            )
            + certificate.public_bytes(serialization.Encoding.PEM)
        )
        return path


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    end: dt.datetime,
) -> x509.CertificateBuilder:
    builder = x509.CertificateBuilder(issuer, subject, key.public_key())
    builder = builder.serial_number(x509.random_serial_number())
    return builder.not_valid_before(_LONG_AGO).not_valid_after(end)


def _named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _alternative(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)
