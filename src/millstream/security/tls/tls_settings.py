"""The settings of the TLS of one listener, for its clients and for a node that connects to others
at such a listener; and how they may change while it serves (KIP-226, and Kafka's SslFactory).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from millstream.errors import ConfigError
from millstream.security.tls.certificate import read_certificate
from millstream.security.tls.der import NotDer
from millstream.security.tls.principal_mapping import MappingRule, PrincipalMapping
from millstream.security.tls.stores import KeyStore, StoreSettings


class ClientAuth(StrEnum):
    """The certificates that clients must show (`ssl.client.auth`)."""

    NONE = "none"
    REQUESTED = "requested"
    REQUIRED = "required"


@dataclass(frozen=True, slots=True, kw_only=True)
class TlsSettings:
    """One listener. `suites` are those of TLS 1.2, in OpenSSL's names; empty: OpenSSL's own choice."""

    listener: str
    stores: StoreSettings
    versions: tuple[str, ...] = ("TLSv1.2", "TLSv1.3")
    suites: tuple[str, ...] = ()
    client_auth: ClientAuth = ClientAuth.NONE
    rules: tuple[MappingRule, ...] = field(default=(MappingRule(None),))
    checks_host: bool = True
    """Whether this node, as a client, wants the certificate of another node to be for its host."""
    allows_other_name: bool = False
    """Whether a reloaded key store may be for another distinguished name."""
    allows_fewer_hosts: bool = False
    """Whether a reloaded key store may lack alternative names of the present one."""

    @property
    def demands_certificates(self) -> bool:
        """Whether nobody is served who shows none."""
        return self.client_auth is ClientAuth.REQUIRED

    @property
    def mapping(self) -> PrincipalMapping:
        return PrincipalMapping(self.rules)


def check_may_serve(settings: TlsSettings) -> None:
    """Raises ConfigError where a listener lacks the stores that its settings ask for."""
    prefix, name = settings.stores.prefix, settings.listener
    if not settings.stores.has_key:
        raise ConfigError(
            f"listener {name} has TLS and no key: give {prefix}ssl.keystore.location with {prefix}ssl.keystore.type=PEM, or "
            "ssl.keystore.key and ssl.keystore.certificate.chain (`millstream certs dev DIR` makes some to try it)"
        )
    if settings.client_auth is not ClientAuth.NONE and not settings.stores.has_authorities:
        raise ConfigError(
            f"listener {name} asks for certificates of clients (ssl.client.auth={settings.client_auth}) and has no "
            "ssl.truststore.location or ssl.truststore.certificates: say whose certificates count"
        )


def check_same_stores(before: StoreSettings, after: StoreSettings) -> None:
    """Raises ConfigError where a store appears or disappears."""
    if before.has_key and not after.has_key:
        raise ConfigError(f"{after.prefix}ssl.keystore cannot be removed while its listener serves")
    if after.has_authorities and not before.has_authorities:
        raise ConfigError(f"{after.prefix}ssl.truststore cannot be added while its listener serves")
    if before.has_authorities and not after.has_authorities:
        # Kafka lets it go, and believes the authorities of its machine from then on; here clients would be believed by nobody.
        raise ConfigError(
            f"{after.prefix}ssl.truststore cannot be removed while its listener serves"
        )


def check_key_store_change(settings: TlsSettings, before: KeyStore, after: KeyStore) -> None:
    """Raises ConfigError where the new certificate is for somebody else.

    As in Kafka only the own certificate counts, not its issuers.
    """
    try:
        old, new = read_certificate(before.chain[0]), read_certificate(after.chain[0])
    except NotDer as error:
        raise ConfigError(f"the new key store of listener {settings.listener}: {error}") from error
    if not settings.allows_other_name and old.subject.casefold() != new.subject.casefold():
        raise ConfigError(
            f"the new key store of listener {settings.listener} is for {new.subject or 'no name'} and not for {old.subject or 'no name'}: "
            "ssl.allow.dn.changes=true lets it through"
        )
    missing = old.alternative_names - new.alternative_names
    if missing and not settings.allows_fewer_hosts:
        raise ConfigError(
            f"the new key store of listener {settings.listener} lacks {len(missing)} of the {len(old.alternative_names)} alternative names of "
            "the present one: ssl.allow.san.changes=true lets it through"
        )
