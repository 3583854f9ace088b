"""An authority of one's own, and what it issues: keys and certificates as PEM. Writes no file, and knows no clock."""

from __future__ import annotations

import datetime as dt
import ipaddress
from collections.abc import Sequence
from typing import Final, Self

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_LIFETIME: Final = dt.timedelta(days=365)
"""A stolen key is of use no longer; `certs` renews it in a second."""
_AUTHORITY_LIFETIME: Final = dt.timedelta(days=3_650)
"""Clients hold its certificate: a new one is work for everybody."""
_RENEWED_BEFORE_END: Final = dt.timedelta(days=60)
"""A node that is restarted twice a year, with some luck, never shows a certificate that has expired."""
_CLOCKS_DIFFER: Final = dt.timedelta(hours=1)
"""A certificate holds at once also on a machine whose clock is behind."""
_NODE_USES: Final = (ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH)
"""A node is a client of others too."""


class DevelopmentAuthority:
    """An authority whose key is P-256: its handshakes cost half of those with RSA."""

    def __init__(
        self, key: ec.EllipticCurvePrivateKey, certificate: x509.Certificate, now: dt.datetime
    ) -> None:
        self._key = key
        self._certificate = certificate
        self._now = now

    @classmethod
    def new(cls, name: str, now: dt.datetime) -> Self:
        """Returns an authority with a key that nobody has."""
        key = ec.generate_private_key(ec.SECP256R1())
        own = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        public = key.public_key()
        certificate = (
            _builder(own, own, public, now, _AUTHORITY_LIFETIME)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(_key_usage(signs_certificates=True), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
            .sign(key, hashes.SHA256())
        )
        return cls(key, certificate, now)

    @classmethod
    def read(cls, key_pem: str, certificate_pem: str, now: dt.datetime) -> Self:
        """Returns the authority of these texts. Raises ValueError where they are none."""
        key = serialization.load_pem_private_key(key_pem.encode(), password=None)
        if not isinstance(key, ec.EllipticCurvePrivateKey):
            raise ValueError("the key of the authority is not one that `millstream` has made")  # noqa: TRY004 - of a text, not of an argument
        return cls(key, x509.load_pem_x509_certificate(certificate_pem.encode()), now)

    @property
    def certificate_pem(self) -> str:
        return _certificate_pem(self._certificate)

    @property
    def key_pem(self) -> str:
        return _key_pem(self._key)

    def issue_node(self, name: str, hosts: Sequence[str]) -> str:
        """Returns key and chain for a node that is reached under `hosts`, names or IP addresses."""
        names = x509.SubjectAlternativeName([_alternative_name(host) for host in hosts])
        return self._issue(name, names, _NODE_USES)

    def issue_client(self, name: str) -> str:
        """Returns key and chain for a client."""
        return self._issue(name, None, (ExtendedKeyUsageOID.CLIENT_AUTH,))

    def _issue(
        self,
        name: str,
        names: x509.SubjectAlternativeName | None,
        uses: Sequence[x509.ObjectIdentifier],
    ) -> str:
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        builder = (
            _builder(subject, self._certificate.subject, key.public_key(), self._now, _LIFETIME)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_key_usage(signs_certificates=False), critical=True)
            .add_extension(x509.ExtendedKeyUsage(list(uses)), critical=False)
            .add_extension(issuer, critical=False)
        )
        if names is not None:
            builder = builder.add_extension(names, critical=False)
        return _key_pem(key) + _certificate_pem(builder.sign(self._key, hashes.SHA256()))


def is_good(
    pem: str, hosts: Sequence[str], now: dt.datetime, left: dt.timedelta = _RENEWED_BEFORE_END
) -> bool:
    """Whether a node can show the certificate of this text under `hosts` for a while yet."""
    certificate = x509.load_pem_x509_certificate(pem.encode())
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    is_for_all = all(_alternative_name(host) in names for host in hosts)
    return is_for_all and now + left < certificate.not_valid_after_utc


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    public: ec.EllipticCurvePublicKey,
    now: dt.datetime,
    lifetime: dt.timedelta,
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(public)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _CLOCKS_DIFFER)
        .not_valid_after(now + lifetime)
    )


def _key_usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _alternative_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _key_pem(key: ec.EllipticCurvePrivateKey) -> str:
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    ).decode()


def _certificate_pem(certificate: x509.Certificate) -> str:
    return certificate.public_bytes(serialization.Encoding.PEM).decode()
